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

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.PackInserter;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.TagBuilder;
import org.eclipse.jgit.lib.TreeFormatter;

/**
 * Commits and as many annotated tags, the same ones in each repository, for the refs of {@link
 * RefsFile} to point to.
 */
public final class RefsObjects {
  private static final int LEAST = 997;

  /** JGit can't make a reftable of which so many more refs point to one object. */
  private static final int MAX_REFS_OF_ONE = 500;

  private final List<ObjectId> commits = new ArrayList<>();
  private final List<ObjectId> tags = new ArrayList<>();

  private RefsObjects() {}

  /**
   * Adds them to a repository, in a pack.
   *
   * @param refs how many refs are to point to them
   */
  public static RefsObjects insert(FileRepository repository, int refs) throws IOException {
    return insert(repository, refs, 0);
  }

  /**
   * Adds them to a repository, in a pack.
   *
   * @param refs how many refs are to point to them
   * @param more so many commits without a tag, with the numbers from {@link #count} on
   */
  public static RefsObjects insert(FileRepository repository, int refs, int more)
      throws IOException {
    RefsObjects all = new RefsObjects();
    try (PackInserter objects = repository.getObjectDatabase().newPackInserter()) {
      PersonIdent who = new PersonIdent("A", "a@example.com", Instant.EPOCH, ZoneOffset.UTC);
      ObjectId tree = objects.insert(new TreeFormatter());
      int count = Math.max(LEAST, refs / MAX_REFS_OF_ONE);
      for (int i = 0; i < count + more; i++) {
        CommitBuilder commit = new CommitBuilder();
        commit.setTreeId(tree);
        commit.setAuthor(who);
        commit.setCommitter(who);
        commit.setMessage("commit " + i);
        ObjectId id = objects.insert(commit);
        all.commits.add(id);
        if (i >= count) {
          continue;
        }
        TagBuilder tag = new TagBuilder();
        tag.setObjectId(id, Constants.OBJ_COMMIT);
        tag.setTag("tag" + i);
        tag.setTagger(who);
        tag.setMessage("tag " + i);
        all.tags.add(objects.insert(tag));
      }
      objects.flush();
    }
    return all;
  }

  /** Number of tags, and of commits that have one. */
  public int count() {
    return tags.size();
  }

  /** Where a ref with that name points to. */
  public ObjectId of(String name, int number) {
    return (name.startsWith(Constants.R_TAGS) ? tags : commits).get(number);
  }

  /**
   * Writes a packed-refs file.
   *
   * @param names in order
   * @param numbers by position of the name, the number of the object it points to
   */
  public void writePackedRefs(Path file, String[] names, IntUnaryOperator numbers)
      throws IOException {
    try (BufferedWriter out = Files.newBufferedWriter(file, US_ASCII)) {
      out.write("# pack-refs with: peeled fully-peeled sorted \n");
      for (int i = 0; i < names.length; i++) {
        int number = numbers.applyAsInt(i);
        out.write(of(names[i], number).name() + " " + names[i] + "\n");
        if (names[i].startsWith(Constants.R_TAGS)) {
          out.write("^" + commits.get(number).name() + "\n");
        }
      }
    }
  }
}
