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

import java.util.Arrays;
import java.util.Locale;
import java.util.Random;

/**
 * {@code bin/bench shared-simulation}: how often values are computed by several nodes, with a
 * server that they share and without. Assumes that a load balancer sends each request to any node,
 * that values are as popular as 1 / rank^0.8, that each node keeps what it has seen on its own
 * disk, and that the server has room for the current value of each key.
 */
final class SharedSimulation {
  private static final int KEYS = 200_000;
  private static final double ZIPF = 0.8;
  private static final int REQUESTS = 4_000_000;

  /** One in so many requests changes a value, and its node computes the new one. */
  private static final int CHANGED_ONE_IN = 50;

  /** What a value takes on the server, with its key: the mean of details and diffs. */
  private static final int VALUE_BYTES = 2_000;

  /**
   * A kind of site.
   *
   * @param lives how many requests a node answers before one with an empty disk takes its place; 0
   *     for nodes that stay
   */
  private record Site(int nodes, int lives) {}

  private SharedSimulation() {}

  public static void main(String[] args) {
    System.out.println(
        "| nodes | a node is replaced | computed without a server | with it | the server is asked for |"
            + " it has | sent to it and from it, MB for a million requests | its memory, MB |");
    System.out.println("|---|---|---|---|---|---|---|---|");
    for (int lives : new int[] {0, 100_000}) {
      for (int nodes : new int[] {2, 10, 100}) {
        run(new Site(nodes, lives));
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

  private static void run(Site site) {
    double[] popularity = popularity();
    Random random = new Random(1);
    int[] version = new int[KEYS];
    Arrays.fill(version, 1);
    // The version that each has; 0 for none.
    int[][] disks = new int[site.nodes][KEYS];
    int[] server = new int[KEYS];
    int[] answered = new int[site.nodes];
    long misses = 0;
    long computed = 0;
    long sent = 0;
    for (int i = 0; i < REQUESTS; i++) {
      int found = Arrays.binarySearch(popularity, random.nextDouble());
      int key = Math.min(KEYS - 1, found < 0 ? -found - 1 : found);
      int node = random.nextInt(site.nodes);
      if (site.lives > 0 && ++answered[node] > site.lives) {
        answered[node] = 0;
        Arrays.fill(disks[node], 0);
      }
      if (random.nextInt(CHANGED_ONE_IN) == 0) {
        version[key]++;
      }
      if (disks[node][key] != version[key]) {
        misses++;
        if (server[key] != version[key]) {
          computed++;
          sent++;
          server[key] = version[key];
        }
        disks[node][key] = version[key];
      }
    }
    long keys = Arrays.stream(server).filter(have -> have > 0).count();
    System.out.printf(
        Locale.ROOT,
        "| %d | %s | %.1f %% | %.1f %% | %.1f %% | %.0f %% | %.0f, %.0f | %.0f |%n",
        site.nodes,
        site.lives == 0 ? "never" : "after %,d requests".formatted(site.lives),
        100.0 * misses / REQUESTS,
        100.0 * computed / REQUESTS,
        100.0 * misses / REQUESTS,
        100.0 * (misses - computed) / misses,
        1e-6 * sent * VALUE_BYTES * 1e6 / REQUESTS,
        1e-6 * (misses - computed) * VALUE_BYTES * 1e6 / REQUESTS,
        1e-6 * keys * VALUE_BYTES);
  }
}
