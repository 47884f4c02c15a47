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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsObjects;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * What loose refs cost who reads: the same questions with none beside the packed ones, with as many
 * as {@code packedRefs.maxLoose} allows, and with ten times that; this module and JGit's
 * RefDirectory by turns. Arguments: an empty folder, and how many refs are packed.
 */
public final class LooseRefsBench {
  private static final int[] LOOSE = {0, 1_000, 10_000};
  private static final int ROUNDS = 60;
  private static final int LOOKUPS = 1000;

  private LooseRefsBench() {}

  private interface Question {
    void ask(RefDatabase refs) throws IOException;
  }

  /** See above. */
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    int packed = Integer.parseInt(args[1]);
    String[] names = RefsFile.names(packed);
    RefsObjects objects;
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      repository.create(true);
      objects = RefsObjects.insert(repository, packed);
      Path file = folder.resolve("packed-refs");
      objects.writePackedRefs(file, names, i -> i % objects.count());
      Files.setLastModifiedTime(file, FileTime.from(Instant.now().minusSeconds(3600)));
    }
    System.out.printf(
        Locale.ROOT,
        "%,d packed refs, trustStat always; medians of %d rounds, milliseconds%n%n%-42s %8s %10s"
            + " %10s%n",
        packed,
        ROUNDS * 2 / 3,
        "",
        "loose",
        "ours",
        "JGit 7.4");
    List<String> loose = new ArrayList<>();
    for (int count : LOOSE) {
      makeLoose(folder, loose, count, objects.of("refs/heads/", 0));
      measure(folder, loose, names);
    }
  }

  /** As new changes leave them. */
  private static void makeLoose(Path folder, List<String> loose, int count, ObjectId id)
      throws IOException {
    FileTime old = FileTime.from(Instant.now().minusSeconds(3600));
    while (loose.size() < count) {
      int change = 10_000_000 + loose.size() / 2;
      String end = loose.size() % 2 == 0 ? "1" : "meta";
      String name =
          String.format(Locale.ROOT, "refs/changes/%02d/%d/%s", change % 100, change, end);
      Path file = folder.resolve(name);
      Files.createDirectories(file.getParent());
      Files.writeString(file, id.name() + "\n", UTF_8);
      Files.setLastModifiedTime(file, old);
      loose.add(name);
    }
  }

  private static void measure(Path folder, List<String> loose, String[] packed) throws IOException {
    Map<String, Question> questions = new LinkedHashMap<>();
    questions.put("all refs, walked through", refs -> walk(refs.getRefs(), null));
    questions.put(
        "branches and tags, peeled, as a fetch asks",
        refs -> walk(refs.getRefsByPrefix("refs/heads/", "refs/tags/"), refs));
    questions.put("changes, peeled", refs -> walk(refs.getRefsByPrefix("refs/changes/"), refs));
    questions.put(
        LOOKUPS + " packed refs, one by one",
        refs -> {
          for (int i = 0; i < LOOKUPS; i++) {
            find(refs, packed[(int) ((long) i * packed.length / LOOKUPS)]);
          }
        });
    questions.put(
        LOOKUPS + " changes' folders, one by one",
        refs -> {
          for (int i = 0; i < LOOKUPS; i++) {
            String name =
                loose.isEmpty()
                    ? packed[(int) ((long) i * packed.length / LOOKUPS)]
                    : loose.get(i * 2 % loose.size());
            walk(refs.getRefsByPrefix(name.substring(0, name.lastIndexOf('/') + 1)), null);
          }
        });
    if (!loose.isEmpty()) {
      questions.put(
          LOOKUPS + " loose refs, one by one",
          refs -> {
            for (int i = 0; i < LOOKUPS; i++) {
              find(refs, loose.get(i % loose.size()));
            }
          });
    }
    // No packing in the background, which would take the loose ones away.
    UpdateSettings updates =
        new UpdateSettings(UpdateSettings.By.OWN, UpdateSettings.Atomic.LOOSE, 0);
    try (PackedRefsCache cache =
            new PackedRefsCache(new RefsSettings(1 << 28, 0, Optional.empty()), updates);
        FileRepository mine = new FileRepository(folder.toFile());
        FileRepository theirs = new FileRepository(folder.toFile())) {
      RefDatabase ours = cache.of(mine, (RefDirectory) mine.getRefDatabase());
      for (Map.Entry<String, Question> question : questions.entrySet()) {
        List<Long> oursTook = new ArrayList<>();
        List<Long> jgitTook = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
          long first = time(question.getValue(), ours);
          long second = time(question.getValue(), theirs.getRefDatabase());
          if (round >= ROUNDS / 3) {
            oursTook.add(first);
            jgitTook.add(second);
          }
        }
        System.out.printf(
            Locale.ROOT,
            "%-42s %,8d %10.2f %10.2f%n",
            question.getKey(),
            loose.size(),
            median(oursTook),
            median(jgitTook));
      }
    }
  }

  private static long time(Question question, RefDatabase refs) throws IOException {
    long begun = System.nanoTime();
    question.ask(refs);
    return System.nanoTime() - begun;
  }

  private static void walk(List<Ref> found, RefDatabase peels) throws IOException {
    for (Ref ref : found) {
      if ((peels == null ? ref : peels.peel(ref)).getObjectId() == null) {
        throw new IllegalStateException(ref.toString());
      }
    }
  }

  private static void find(RefDatabase refs, String name) throws IOException {
    if (refs.exactRef(name) == null) {
      throw new IllegalStateException(name + " is not there");
    }
  }

  private static double median(List<Long> nanos) {
    List<Long> sorted = nanos.stream().sorted().toList();
    return sorted.get(sorted.size() / 2) / (double) TimeUnit.MILLISECONDS.toNanos(1);
  }
}
