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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Measures how long a real Gerrit takes from the start of its process until it is ready, with H2
 * and with the module, by turns, so that what else the machine does hits both alike. Started by
 * {@code bin/bench start}.
 */
final class StartTimes {
  private static final String PROJECT = "start";
  private static final int CHANGES = 20;

  private final int runs;
  private final List<Duration> h2 = new ArrayList<>();
  private final List<Duration> ours = new ArrayList<>();
  private final List<Duration> afterKill = new ArrayList<>();

  private StartTimes(int runs) {
    this.runs = runs;
  }

  public static void main(String[] args) throws Exception {
    new StartTimes(args.length > 0 ? Integer.parseInt(args[0]) : 7).run();
  }

  private void run() throws Exception {
    Path root = Files.createTempDirectory("cache-chroniclemap-start-");
    try {
      GerritSite plain = GerritSite.init(root.resolve("h2"));
      GerritSite module = plain.copyTo(root.resolve("ours"));
      module.installModule(BuildFolder.moduleJar());
      fill(plain);
      fill(module);
      for (int i = 1; i <= runs; i++) {
        h2.add(cleanStart(plain));
        ours.add(cleanStart(module));
        afterKill.add(startAfterKill(module));
        say(
            "run %d of %d: H2 %s, ours %s, ours after SIGKILL %s",
            i, runs, last(h2), last(ours), last(afterKill));
      }
      say("");
      say(
          "median of %d starts: H2 %s, ours %s (%+.2f s), ours after SIGKILL %s (%+.2f s)",
          runs,
          seconds(median(h2)),
          seconds(median(ours)),
          difference(ours),
          seconds(median(afterKill)),
          difference(afterKill));
    } finally {
      Folders.delete(root);
    }
  }

  /** Some changes, so that the caches hold something. */
  private static void fill(GerritSite site) throws Exception {
    GerritDaemon daemon = GerritDaemon.start(site);
    try {
      Gerrit gerrit = new Gerrit(site);
      gerrit.createProject(PROJECT);
      Workload work = new Workload(gerrit, PROJECT);
      work.push(CHANGES);
    } finally {
      daemon.stop();
    }
  }

  private static Duration cleanStart(GerritSite site) throws IOException, InterruptedException {
    GerritDaemon daemon = GerritDaemon.start(site);
    daemon.stop();
    return daemon.readyAfter();
  }

  private static Duration startAfterKill(GerritSite site) throws IOException, InterruptedException {
    GerritDaemon.start(site).kill();
    return cleanStart(site);
  }

  private double difference(List<Duration> other) {
    return (median(other).toMillis() - median(h2).toMillis()) / 1000.0;
  }

  private static Duration median(List<Duration> times) {
    List<Duration> sorted = new ArrayList<>(times);
    Collections.sort(sorted);
    return sorted.get(sorted.size() / 2);
  }

  private static String last(List<Duration> times) {
    return seconds(times.get(times.size() - 1));
  }

  private static String seconds(Duration time) {
    return String.format(Locale.ROOT, "%.2f s", time.toMillis() / 1000.0);
  }

  private static void say(String format, Object... args) {
    System.out.println(String.format(Locale.ROOT, format, args));
  }
}
