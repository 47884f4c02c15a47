// Copyright (C) 2026 The cache-chroniclemap authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.io.IOException;
import java.time.Instant;
import java.time.ZoneOffset;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.TagBuilder;
import org.eclipse.jgit.lib.TreeFormatter;

/** A little history for refs to point to, the same in each repository. */
public final class RefObjects {
  /** B follows A, and C follows B. */
  static final ObjectId A;

  static final ObjectId B;
  static final ObjectId C;

  /** No relative of those. */
  static final ObjectId D;

  /** An annotated tag of A, and one of that tag. */
  static final ObjectId TAG;

  static final ObjectId TAG_OF_TAG;

  /** An id of no object. */
  static final ObjectId MISSING = ObjectId.fromString("deadbeef".repeat(5));

  static final ObjectId ZERO = ObjectId.zeroId();

  static {
    try (ObjectInserter names = new ObjectInserter.Formatter()) {
      ObjectId tree = names.idFor(new TreeFormatter());
      A = names.idFor(Constants.OBJ_COMMIT, commit(tree, 1).build());
      B = names.idFor(Constants.OBJ_COMMIT, commit(tree, 2, A).build());
      C = names.idFor(Constants.OBJ_COMMIT, commit(tree, 3, B).build());
      D = names.idFor(Constants.OBJ_COMMIT, commit(tree, 4).build());
      TAG = names.idFor(Constants.OBJ_TAG, tag(A, Constants.OBJ_COMMIT, "tag").build());
      TAG_OF_TAG = names.idFor(Constants.OBJ_TAG, tag(TAG, Constants.OBJ_TAG, "outer").build());
    } catch (IOException e) {
      throw new AssertionError(e); // it builds in memory
    }
  }

  private RefObjects() {}

  /** Puts them in. */
  public static void insert(FileRepository repository) throws IOException {
    try (ObjectInserter inserter = repository.getObjectDatabase().newPackInserter()) {
      ObjectId tree = inserter.insert(new TreeFormatter());
      inserter.insert(commit(tree, 1));
      inserter.insert(commit(tree, 2, A));
      inserter.insert(commit(tree, 3, B));
      inserter.insert(commit(tree, 4));
      inserter.insert(tag(A, Constants.OBJ_COMMIT, "tag"));
      inserter.insert(tag(TAG, Constants.OBJ_TAG, "outer"));
      inserter.flush();
    }
  }

  /** Somebody at a time of the past. */
  static PersonIdent person(int second) {
    return new PersonIdent("n", "n@example.com", Instant.ofEpochSecond(second), ZoneOffset.UTC);
  }

  /** One that is the same in each repository. */
  public static CommitBuilder commit(ObjectId tree, int second, ObjectId... parents) {
    CommitBuilder commit = new CommitBuilder();
    commit.setTreeId(tree);
    commit.setParentIds(parents);
    commit.setAuthor(person(second));
    commit.setCommitter(person(second));
    commit.setMessage("commit " + second);
    return commit;
  }

  static TagBuilder tag(ObjectId of, int type, String name) {
    TagBuilder tag = new TagBuilder();
    tag.setObjectId(of, type);
    tag.setTag(name);
    tag.setTagger(person(5));
    tag.setMessage(name);
    return tag;
  }
}
