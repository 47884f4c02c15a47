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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * How long a daemon's threads wait for others in their caches, as Java's flight recorder sees it:
 * in a bin of a hash table, which Caffeine holds during a load, or for a load of this module. Waits
 * of less than 10 ms are not recorded.
 */
final class BlockedThreads {
  private static final String BIN = "java.util.concurrent.ConcurrentHashMap";
  private static final String LOAD =
      "com.googlesource.gerrit.modules.cache.chroniclemap.caches.Load";

  /**
   * What was seen.
   *
   * @param waits how many waits there were
   * @param total of all waits
   * @param threads most threads that waited in one recording
   */
  record Figures(long waits, Duration total, int threads) {
    Figures plus(Figures more) {
      return new Figures(
          waits + more.waits, total.plus(more.total), Math.max(threads, more.threads));
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "%d waits of %d threads for others' loads, %d ms in all",
          waits,
          threads,
          total.toMillis());
    }
  }

  private final GerritDaemon daemon;
  private final Path recording;

  private BlockedThreads(GerritDaemon daemon, Path recording) {
    this.daemon = daemon;
    this.recording = recording;
  }

  static BlockedThreads begin(GerritDaemon daemon, Path folder) throws Exception {
    DiskReadShare.jcmd(daemon, "JFR.start", "name=blocked", "settings=profile");
    return new BlockedThreads(daemon, folder.resolve("blocked.jfr"));
  }

  Figures end() throws Exception {
    DiskReadShare.jcmd(daemon, "JFR.stop", "name=blocked", "filename=" + recording);
    long waits = 0;
    Duration total = Duration.ZERO;
    Set<Long> threads = new HashSet<>();
    try (RecordingFile file = new RecordingFile(recording)) {
      while (file.hasMoreEvents()) {
        RecordedEvent event = file.readEvent();
        RecordedThread thread = event.getThread();
        if (thread != null && isWait(event)) {
          waits++;
          total = total.plus(event.getDuration());
          threads.add(thread.getId());
        }
      }
    }
    return new Figures(waits, total, threads.size());
  }

  private static boolean isWait(RecordedEvent event) {
    return switch (event.getEventType().getName()) {
      case "jdk.JavaMonitorEnter" -> {
        RecordedClass monitor = event.getClass("monitorClass");
        yield monitor != null && monitor.getName().startsWith(BIN);
      }
      case "jdk.ThreadPark" ->
          event.getStackTrace() != null
              && event.getStackTrace().getFrames().stream()
                  .anyMatch(frame -> frame.getMethod().getType().getName().equals(LOAD));
      default -> false;
    };
  }
}
