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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.PackInserter;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.ConfigConstants;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.TagBuilder;
import org.eclipse.jgit.lib.TreeFormatter;

/**
 * Two repositories with the same refs as a busy Gerrit project has them ({@link RefsFile}), all
 * packed: in files, and in a reftable. The refs point to some hundred objects, which are in a pack.
 */
final class RefsRepositories {
  static final String FILES = "files.git";
  static final String REFTABLE = "reftable.git";

  /** Like {@code packed-refs}, but for one line. */
  static final String EDITED = "packed-refs-edited";

  private static final int OBJECTS = 997;

  private final List<ObjectId> commits = new ArrayList<>();
  private final List<ObjectId> tags = new ArrayList<>();

  private RefsRepositories() {}

  /** Makes both, and a second {@code packed-refs}. */
  static void make(Path folder, int refs) throws IOException {
    new RefsRepositories().write(folder, refs);
  }

  /** A time that no clock's precision puts in doubt, later for a higher number. */
  static FileTime time(int number) {
    return FileTime.from(Instant.parse("2020-01-01T00:00:00Z").plusSeconds(number));
  }

  private void write(Path folder, int refs) throws IOException {
    String[] names = RefsFile.names(refs);
    Path files = folder.resolve(FILES);
    Path packed = files.resolve(Constants.PACKED_REFS);
    makeRepository(files);
    write(packed, names, 0);
    Files.setLastModifiedTime(packed, time(0));
    write(folder.resolve(EDITED), names, 1);

    Path reftable = folder.resolve(REFTABLE);
    makeRepository(reftable);
    Files.copy(packed, reftable.resolve(Constants.PACKED_REFS));
    try (FileRepository repository = new FileRepository(reftable.toFile())) {
      repository.convertRefStorage(ConfigConstants.CONFIG_REF_STORAGE_REFTABLE, false, false);
    }
  }

  private void makeRepository(Path folder) throws IOException {
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      repository.create(true);
      commits.clear();
      tags.clear();
      try (PackInserter objects = repository.getObjectDatabase().newPackInserter()) {
        PersonIdent who =
            new PersonIdent("A", "a@example.com", Instant.EPOCH, java.time.ZoneOffset.UTC);
        ObjectId tree = objects.insert(new TreeFormatter());
        for (int i = 0; i < OBJECTS; i++) {
          CommitBuilder commit = new CommitBuilder();
          commit.setTreeId(tree);
          commit.setAuthor(who);
          commit.setCommitter(who);
          commit.setMessage("commit " + i);
          commits.add(objects.insert(commit));
          TagBuilder tag = new TagBuilder();
          tag.setObjectId(commits.get(i), Constants.OBJ_COMMIT);
          tag.setTag("tag" + i);
          tag.setTagger(who);
          tag.setMessage("tag " + i);
          tags.add(objects.insert(tag));
        }
        objects.flush();
      }
    }
  }

  /**
   * Writes the refs.
   *
   * @param edition to whose commit the ref in the middle points
   */
  private void write(Path file, String[] names, int edition) throws IOException {
    Random random = new Random(names.length);
    try (BufferedWriter out = Files.newBufferedWriter(file, US_ASCII)) {
      out.write("# pack-refs with: peeled fully-peeled sorted \n");
      for (int i = 0; i < names.length; i++) {
        int object = i == names.length / 2 ? edition : random.nextInt(OBJECTS);
        boolean tag = names[i].startsWith(Constants.R_TAGS);
        out.write((tag ? tags : commits).get(object).name() + " " + names[i] + "\n");
        if (tag) {
          out.write("^" + commits.get(object).name() + "\n");
        }
      }
    }
  }

  /** Sets whether attributes of files are trusted. */
  static void trust(Path repository, String trust) throws IOException {
    Path config = repository.resolve(Constants.CONFIG);
    String text = Files.readString(config, UTF_8);
    int ours = text.indexOf("# benchmark\n");
    Files.writeString(
        config,
        (ours < 0 ? text : text.substring(0, ours))
            + "# benchmark\n[core]\n\ttrustStat = "
            + trust
            + "\n",
        UTF_8);
  }
}
