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

import java.util.Arrays;
import java.util.Random;

/**
 * How often several servers compute, each for itself or with a log that all of them read, and what
 * the log takes. Not a measurement: it assumes that a balancer sends each request to any server,
 * that a request needs one value, that values are as popular as 1 / rank^0.8, and that each server
 * has room for all values on its disk.
 */
final class SharedSimulation {
  private static final int KEYS = 200_000;
  private static final double ZIPF = 0.8;
  private static final int REQUESTS = 4_000_000;
  private static final int REQUESTS_PER_SECOND = 10;

  /** One in so many requests comes after a change of what its value is made from. */
  private static final int CHANGED_ONE_IN = 50;

  /** What a value takes in the log, as in JGit's own project. */
  private static final int VALUE_BYTES = 1300;

  private static final long LOG_VALUES = (1L << 30) / VALUE_BYTES;

  /** When nearly all values have arrived, milliseconds after they were computed. */
  private static final int LATE_MILLIS = 125;

  /** A value of the log: the version that is valid, its place in the log, when it was computed. */
  private static final class Newest {
    final int[] version = new int[KEYS];
    final long[] place = new long[KEYS];
    final double[] millis = new double[KEYS];
    final int[] server = new int[KEYS];
  }

  private SharedSimulation() {}

  static void run() {
    for (int life : new int[] {0, 100_000}) {
      for (int servers : new int[] {2, 10, 100}) {
        run(servers, life);
      }
    }
  }

  private static double[] popularity() {
    double[] sums = new double[KEYS];
    double sum = 0;
    for (int i = 0; i < KEYS; i++) {
      sum += 1 / Math.pow(i + 1.0, ZIPF);
      sums[i] = sum;
    }
    for (int i = 0; i < KEYS; i++) {
      sums[i] /= sum;
    }
    return sums;
  }

  /**
   * Simulates a site.
   *
   * @param life how many requests a server answers before one with an empty disk takes its place; 0
   *     for servers that stay
   */
  private static void run(int servers, int life) {
    double[] popularity = popularity();
    Random random = new Random(1);
    int[] version = new int[KEYS];
    Arrays.fill(version, 1);
    // The version that each server has on its disk if it is alone; 0 for none.
    int[][] disks = new int[servers][KEYS];
    Newest log = new Newest();
    // The first place that a server has read: those before were dropped when it was new.
    long[] read = new long[servers];
    int[] answered = new int[servers];
    long alone = 0;
    long appended = 0;
    for (int i = 0; i < REQUESTS; i++) {
      double now = i * 1000.0 / REQUESTS_PER_SECOND / servers;
      int found = Arrays.binarySearch(popularity, random.nextDouble());
      int key = Math.min(KEYS - 1, found < 0 ? -found - 1 : found);
      int server = random.nextInt(servers);
      if (life > 0 && ++answered[server] > life) {
        answered[server] = 0;
        Arrays.fill(disks[server], 0);
        read[server] = Math.max(0, appended - LOG_VALUES);
      }
      if (random.nextInt(CHANGED_ONE_IN) == 0) {
        version[key]++;
      }
      if (disks[server][key] != version[key]) {
        alone++;
        disks[server][key] = version[key];
      }
      boolean hasArrived =
          log.version[key] == version[key]
              && log.place[key] >= read[server]
              && (log.server[key] == server || now - log.millis[key] >= LATE_MILLIS);
      if (!hasArrived) {
        log.version[key] = version[key];
        log.place[key] = appended++;
        log.millis[key] = now;
        log.server[key] = server;
      }
    }
    double seconds = REQUESTS / (double) REQUESTS_PER_SECOND / servers;
    say(
        "%3d servers, %s: of requests compute %.1f %% alone, %.1f %% with the log; it has %.0f MB,"
            + " gets %.1f and sends %.1f KB/s, %.1f to each",
        servers,
        life == 0 ? "which stay" : "new after " + life + " requests",
        100.0 * alone / REQUESTS,
        100.0 * appended / REQUESTS,
        Math.min(appended, LOG_VALUES) * VALUE_BYTES / 1e6,
        appended * VALUE_BYTES / 1e3 / seconds,
        appended * VALUE_BYTES / 1e3 / seconds * servers,
        appended * VALUE_BYTES / 1e3 / seconds);
  }
}
