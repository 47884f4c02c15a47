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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.PackInserter;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.TreeFormatter;

/**
 * Fills a repository that Gerrit has made with as many packed refs as a busy project has; they
 * point to some hundred commits. No daemon may run meanwhile.
 */
final class ManyRefs {
  private static final int COMMITS = 997;

  private final ImmutableList<Branch> branches;
  private final long bytes;

  /** A branch and where it points to. */
  record Branch(String name, String revision) {}

  private ManyRefs(List<Branch> branches, long bytes) {
    this.branches = ImmutableList.copyOf(branches);
    this.bytes = bytes;
  }

  /**
   * Fills the repository.
   *
   * @param trustStat value of {@code core.trustStat}; null to leave it out
   */
  static ManyRefs fill(Path folder, int count, @Nullable String trustStat) throws IOException {
    List<ObjectId> commits;
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      commits = commits(repository);
      if (trustStat != null) {
        repository
            .getConfig()
            .setString(ConfigConstants.CONFIG_CORE_SECTION, null, "trustStat", trustStat);
        repository.getConfig().save();
      }
    }
    Path packed = folder.resolve(Constants.PACKED_REFS);
    List<Branch> branches = new ArrayList<>();
    Random random = new Random(count);
    try (BufferedWriter out = Files.newBufferedWriter(packed, US_ASCII)) {
      out.write("# pack-refs with: peeled fully-peeled sorted \n");
      for (String name : RefsFile.names(count)) {
        String id = commits.get(random.nextInt(COMMITS)).name();
        out.write(id + " " + name + "\n");
        if (name.startsWith(Constants.R_HEADS)) {
          branches.add(new Branch(name, id));
        }
      }
    }
    return new ManyRefs(branches, Files.size(packed));
  }

  /** The same ones in each repository. */
  private static List<ObjectId> commits(FileRepository repository) throws IOException {
    List<ObjectId> commits = new ArrayList<>();
    try (PackInserter objects = repository.getObjectDatabase().newPackInserter()) {
      PersonIdent person = new PersonIdent("A", "a@example.com", Instant.EPOCH, ZoneOffset.UTC);
      ObjectId tree = objects.insert(new TreeFormatter());
      for (int i = 0; i < COMMITS; i++) {
        CommitBuilder commit = new CommitBuilder();
        commit.setTreeId(tree);
        commit.setAuthor(person);
        commit.setCommitter(person);
        commit.setMessage("commit " + i);
        commits.add(objects.insert(commit));
      }
      objects.flush();
    }
    return commits;
  }

  /** Some of the refs. */
  ImmutableList<Branch> branches() {
    return branches;
  }

  /** Size of {@code packed-refs}. */
  long bytes() {
    return bytes;
  }
}
