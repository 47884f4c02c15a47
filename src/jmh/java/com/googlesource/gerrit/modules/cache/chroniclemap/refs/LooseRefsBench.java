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
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.CommitBuilder;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ObjectInserter;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.TreeFormatter;

/**
 * Lists, lookups and peels of loose refs beside JGit's RefDirectory, by turns; medians of CPU time.
 * Arguments: an empty folder, how many loose refs, how many rounds, and which values of {@code
 * core.trustLooseRefStat}.
 */
public final class LooseRefsBench {
  private static final int PACKED = 10_000;
  private static final int LOOKUPS = 10_000;

  private LooseRefsBench() {}

  private interface Work {
    void run(RefDatabase refs) throws IOException;
  }

  /** See above. */
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    int count = Integer.parseInt(args[1]);
    int rounds = Integer.parseInt(args[2]);
    List<String> loose = new ArrayList<>();
    List<String> packed = new ArrayList<>();
    make(folder, count, loose, packed);
    for (int i = 3; i < args.length; i++) {
      try (FileRepository config = new FileRepository(folder.toFile())) {
        config.getConfig().setString("core", null, "trustLooseRefStat", args[i]);
        config.getConfig().save();
      }
      measure(folder, rounds, args[i], loose, packed);
    }
  }

  private static void make(Path folder, int count, List<String> loose, List<String> packed)
      throws IOException {
    try (FileRepository repository = new FileRepository(folder.toFile())) {
      repository.create(true);
      List<ObjectId> ids = new ArrayList<>();
      try (ObjectInserter inserter = repository.newObjectInserter()) {
        ObjectId tree = inserter.insert(new TreeFormatter());
        for (int i = 0; i < 100; i++) {
          CommitBuilder commit = new CommitBuilder();
          PersonIdent person =
              new PersonIdent("n", "n@example.com", Instant.ofEpochSecond(i), ZoneOffset.UTC);
          commit.setTreeId(tree);
          commit.setAuthor(person);
          commit.setCommitter(person);
          ids.add(inserter.insert(commit));
        }
        inserter.flush();
      }
      StringBuilder text = new StringBuilder("# pack-refs with: peeled fully-peeled sorted \n");
      for (int i = 0; i < PACKED; i++) {
        String name = String.format("refs/heads/team/%06d", i);
        packed.add(name);
        text.append(ids.get(i % 100).name()).append(' ').append(name).append('\n');
      }
      Files.writeString(folder.resolve("packed-refs"), text);
      FileTime old = FileTime.from(Instant.now().minusSeconds(3600));
      Files.setLastModifiedTime(folder.resolve("packed-refs"), old);
      for (int i = 0; i < count / 2; i++) {
        for (String end : List.of("1", "meta")) {
          String name = String.format("refs/changes/%02d/%d/%s", i % 100, 100_000 + i, end);
          loose.add(name);
          Path file = folder.resolve(name);
          Files.createDirectories(file.getParent());
          Files.writeString(file, ids.get(i % 100).name() + "\n");
          Files.setLastModifiedTime(file, old);
        }
      }
    }
  }

  private static void measure(
      Path folder, int rounds, String trust, List<String> loose, List<String> packed)
      throws Exception {
    // Of the CPU, as others work on the machine: nothing here waits for a disk.
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    Map<String, Work> works = new LinkedHashMap<>();
    works.put("list", RefDatabase::getRefs);
    works.put(LOOKUPS + " loose", refs -> lookUp(refs, loose));
    works.put(LOOKUPS + " packed", refs -> lookUp(refs, packed));
    works.put(
        "1000 folders",
        refs -> {
          for (int i = 0; i < 1000; i++) {
            String name = loose.get(i * 2 % loose.size());
            refs.getRefsByPrefix(name.substring(0, name.lastIndexOf('/') + 1));
          }
        });
    works.put(
        "list and peel",
        refs -> {
          for (Ref ref : refs.getRefsByPrefix("refs/changes/")) {
            refs.peel(ref);
          }
        });
    try (PackedRefsCache cache =
            new PackedRefsCache(new RefsSettings(1 << 28, 0, Optional.empty()));
        FileRepository mine = new FileRepository(folder.toFile());
        FileRepository theirs = new FileRepository(folder.toFile())) {
      RefDatabase[] both = {
        cache.of(mine, (RefDirectory) mine.getRefDatabase()).current(), theirs.getRefDatabase()
      };
      for (Map.Entry<String, Work> work : works.entrySet()) {
        List<List<Long>> times = List.of(new ArrayList<>(), new ArrayList<>());
        for (int round = 0; round < rounds; round++) {
          for (int which = 0; which < 2; which++) {
            long begun = threads.getCurrentThreadCpuTime();
            work.getValue().run(both[which]);
            long took = threads.getCurrentThreadCpuTime() - begun;
            if (round >= rounds / 3) {
              times.get(which).add(took);
            }
          }
        }
        System.out.printf(
            "%-10s %5d loose %-14s ours %8.2f ms   JGit %8.2f ms%n",
            trust, loose.size(), work.getKey(), median(times.get(0)), median(times.get(1)));
      }
    }
  }

  private static void lookUp(RefDatabase refs, List<String> names) throws IOException {
    for (int i = 0; i < LOOKUPS; i++) {
      if (refs.exactRef(names.get(i % names.size())) == null) {
        throw new IllegalStateException(names.get(i % names.size()));
      }
    }
  }

  private static double median(List<Long> nanos) {
    List<Long> sorted = nanos.stream().sorted().toList();
    return sorted.get(sorted.size() / 2) / (double) TimeUnit.MILLISECONDS.toNanos(1);
  }
}
