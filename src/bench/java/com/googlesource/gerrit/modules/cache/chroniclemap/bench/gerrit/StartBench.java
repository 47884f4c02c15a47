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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.say;

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.BulkFill;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * Measures how long a real Gerrit takes from the start of its process until it is ready and until
 * it has answered, with H2 and with the module, after a clean stop and after a SIGKILL, by turns,
 * so that what else the machine does hits all alike. Started by {@code bin/bench start}.
 */
final class StartBench {
  static final String PROJECT = "start";

  private static final long GIGABYTE = 1L << 30;

  /** Room for as much as is filled in, and for a file that grows. */
  private static final long DISK_LIMIT_PER_GIGABYTE = 2 * GIGABYTE;

  private static final Path DROP_CACHES = Path.of("/proc/sys/vm/drop_caches");

  private enum Kind {
    H2("H2, after a clean stop"),
    H2_KILLED("H2, after a SIGKILL"),
    OURS("this module, after a clean stop"),
    OURS_KILLED("this module, after a SIGKILL");

    final String title;

    Kind(String title) {
      this.title = title;
    }
  }

  private final int runs;
  private final int changes;
  private final int gigabytes;
  private final boolean cold;
  private final Map<Kind, List<StartFigures>> figures = new EnumMap<>(Kind.class);

  private StartBench(int runs, int changes, int gigabytes, boolean cold) {
    this.runs = runs;
    this.changes = changes;
    this.gigabytes = gigabytes;
    this.cold = cold;
    for (Kind kind : Kind.values()) {
      figures.put(kind, new ArrayList<>());
    }
  }

  /** Arguments: runs, changes, gigabytes, and whether to empty the page cache before each start. */
  public static void main(String[] args) throws Exception {
    new StartBench(
            Integer.parseInt(args[0]),
            Integer.parseInt(args[1]),
            Integer.parseInt(args[2]),
            Boolean.parseBoolean(args[3]))
        .run();
  }

  private void run() throws Exception {
    if (cold && !Files.isWritable(DROP_CACHES)) {
      throw new IllegalStateException("--cold needs a root who may write to " + DROP_CACHES);
    }
    Path root = Files.createTempDirectory("cache-chroniclemap-start-");
    try {
      GerritSite h2 = GerritSite.init(root.resolve("h2"));
      h2.edit(
          config -> {
            for (BulkFill cache : BulkFill.values()) {
              config.setLong("cache", cache.cacheName(), "diskLimit", diskLimit());
            }
          });
      GerritSite ours = h2.copyTo(root.resolve("ours"));
      ours.installModule(BuildFolder.moduleJar());
      prepare("H2", CachePeer.H2, h2);
      prepare("this module", CachePeer.OURS, ours);
      for (int i = 1; i <= runs; i++) {
        cleanThenKilled(h2, Kind.H2, Kind.H2_KILLED);
        cleanThenKilled(ours, Kind.OURS, Kind.OURS_KILLED);
        say("run %d of %d, first answer: %s", i, runs, lastAnswers());
      }
      printTable();
    } finally {
      Folders.delete(root);
    }
  }

  private long diskLimit() {
    return DISK_LIMIT_PER_GIGABYTE * Math.max(1, gigabytes);
  }

  /** Changes, which fill the caches as work does, and then as much more as was asked for. */
  private void prepare(String title, CachePeer peer, GerritSite site) throws Exception {
    GerritDaemon daemon = GerritDaemon.start(site);
    try {
      Gerrit gerrit = new Gerrit(site);
      gerrit.createProject(PROJECT);
      Workload work = new Workload(gerrit, PROJECT);
      work.push(changes);
      var unused = work.readAll(gerrit.rest());
    } finally {
      daemon.stop();
    }
    if (gigabytes == 0) {
      say("%s: %d changes; %d MB of caches on disk", title, changes, diskBytes(site) >> 20);
      return;
    }
    BulkFill[] caches = BulkFill.values();
    int entries = Math.toIntExact(gigabytes * GIGABYTE / BulkFill.VALUE_BYTES / caches.length);
    long begun = System.nanoTime();
    for (BulkFill cache : caches) {
      cache.fill(peer, site.path(), entries, diskLimit());
    }
    double fillSeconds = (System.nanoTime() - begun) / 1e9;
    StringBuilder held = new StringBuilder();
    // Gerrit must find what was put, or all that follows means nothing.
    daemon = GerritDaemon.start(site);
    try {
      var unused = StartFigures.of(daemon, peer == CachePeer.OURS);
      for (BulkFill cache : caches) {
        long found = StartFigures.entriesOnDisk(new Gerrit(site), cache);
        if (found < entries / 2) {
          throw new IllegalStateException(
              title + ": " + cache.cacheName() + " has " + found + " entries of " + entries);
        }
        held.append(held.isEmpty() ? "" : ", ").append(cache.cacheName()).append(' ').append(found);
      }
    } finally {
      daemon.stop();
    }
    say(
        "%s: entries of %d KB: %s; %d MB on disk, filled in %.0f s",
        title, BulkFill.VALUE_BYTES >> 10, held, diskBytes(site) >> 20, fillSeconds);
  }

  private static long diskBytes(GerritSite site) throws IOException {
    long bytes = 0;
    for (Path file : Folders.files(site.cacheFolder(), f -> true)) {
      bytes += Files.size(file);
    }
    return bytes;
  }

  /** Two starts: one after the clean stop before this, and one after a SIGKILL. */
  private void cleanThenKilled(GerritSite site, Kind clean, Kind killed) throws Exception {
    boolean ours = clean == Kind.OURS;
    GerritDaemon first = start(site);
    figures.get(clean).add(StartFigures.of(first, ours));
    first.kill();
    GerritDaemon second = start(site);
    figures.get(killed).add(StartFigures.of(second, ours));
    second.stop();
  }

  private GerritDaemon start(GerritSite site) throws Exception {
    if (cold) {
      int failed = new ProcessBuilder("sync").inheritIO().start().waitFor();
      if (failed != 0) {
        throw new IOException("sync failed: status=" + failed);
      }
      Files.writeString(DROP_CACHES, "3");
    }
    return GerritDaemon.start(site);
  }

  private String lastAnswers() {
    List<String> all = new ArrayList<>();
    figures.forEach(
        (kind, list) -> all.add(kind.title + " " + seconds(list.getLast().firstAnswer()) + " s"));
    return String.join("; ", all);
  }

  private void printTable() {
    say("");
    say(
        "%d starts of each kind, caches of %d changes%s, page cache %s; seconds, median (least to"
            + " most)",
        runs,
        changes,
        gigabytes == 0 ? "" : " and " + gigabytes + " GB more",
        cold ? "emptied before each start" : "warm");
    say("");
    say(
        "| caches | ready | processors until then | first answer | then a diff | processors until"
            + " then | from disk | slowest store open after |");
    say("|---|---|---|---|---|---|---|---|");
    figures.forEach(
        (kind, list) ->
            say(
                "| %s | %s | %s | %s | %s | %s | %d of %d | %s |",
                kind.title,
                spread(list, StartFigures::ready),
                spread(list, StartFigures::readyCpu),
                spread(list, StartFigures::firstAnswer),
                spread(list, StartFigures::firstDiff),
                spread(list, StartFigures::diffCpu),
                list.stream().mapToInt(StartFigures::fromDisk).sum(),
                runs * BulkFill.values().length,
                list.getFirst().openMillis().isPresent()
                    ? spread(list, StartBench::opened)
                    : "not known"));
  }

  private static Duration opened(StartFigures start) {
    OptionalLong millis = start.openMillis();
    return Duration.ofMillis(millis.orElseThrow());
  }

  private static String spread(List<StartFigures> list, Function<StartFigures, Duration> figure) {
    List<Duration> sorted = new ArrayList<>(list.stream().map(figure).toList());
    Collections.sort(sorted);
    return String.format(
        Locale.ROOT,
        "%s (%s to %s)",
        seconds(sorted.get(sorted.size() / 2)),
        seconds(sorted.getFirst()),
        seconds(sorted.getLast()));
  }

  private static String seconds(Duration time) {
    return String.format(Locale.ROOT, "%.2f", time.toMillis() / 1000.0);
  }
}
