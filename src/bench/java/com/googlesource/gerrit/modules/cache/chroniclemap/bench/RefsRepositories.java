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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsObjects;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * A repository with refs as a busy Gerrit project has them ({@link RefsFile}), all packed. Each
 * branch has a commit of its own. The other refs point to some hundred objects. All objects are in
 * a pack.
 */
final class RefsRepositories {
  static final String FILES = "files.git";

  /** Like {@code packed-refs}, but for one line. */
  static final String EDITED = "packed-refs-edited";

  private RefsRepositories() {}

  /** Makes it, and a second {@code packed-refs}. */
  static void make(Path folder, int refs) throws IOException {
    String[] names = RefsFile.names(refs);
    Path files = folder.resolve(FILES);
    Path packed = files.resolve(Constants.PACKED_REFS);
    RefsObjects objects = makeRepository(files, refs);
    write(packed, objects, names, 0);
    Files.setLastModifiedTime(packed, time(0));
    write(folder.resolve(EDITED), objects, names, 1);
  }

  /** A time that no clock's precision puts in doubt, later for a higher number. */
  static FileTime time(int number) {
    return FileTime.from(Instant.parse("2020-01-01T00:00:00Z").plusSeconds(number));
  }

  private static RefsObjects makeRepository(Path folder, int refs) throws IOException {
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      repository.create(true);
      return RefsObjects.insert(repository, refs, refs / 50);
    }
  }

  /**
   * Writes the refs.
   *
   * @param edition to whose object the ref in the middle points
   */
  private static void write(Path file, RefsObjects objects, String[] names, int edition)
      throws IOException {
    Random random = new Random(names.length);
    AtomicInteger branches = new AtomicInteger();
    objects.writePackedRefs(
        file,
        names,
        i ->
            names[i].startsWith(Constants.R_HEADS)
                ? objects.count() + branches.getAndIncrement()
                : i == names.length / 2 ? edition : random.nextInt(objects.count()));
  }

  /** Returns the commits of the branches. Each has one ref. */
  static List<ObjectId> branchTips(Path folder) throws IOException {
    List<ObjectId> tips = new ArrayList<>();
    Path packed = folder.resolve(FILES).resolve(Constants.PACKED_REFS);
    try (BufferedReader lines = Files.newBufferedReader(packed, UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith(Constants.R_HEADS, Constants.OBJECT_ID_STRING_LENGTH + 1)) {
          tips.add(ObjectId.fromString(line.substring(0, Constants.OBJECT_ID_STRING_LENGTH)));
        }
      }
    }
    return tips;
  }

  /** Sets these lines of the section {@code core}, and none that this has set before. */
  static void setCore(Path repository, String... lines) throws IOException {
    Path config = repository.resolve(Constants.CONFIG);
    String text = Files.readString(config, UTF_8);
    int ours = text.indexOf("# benchmark\n");
    String others = ours < 0 ? text : text.substring(0, ours);
    Files.writeString(
        config, others + "# benchmark\n[core]\n" + String.join("\n", lines) + "\n", UTF_8);
  }
}
