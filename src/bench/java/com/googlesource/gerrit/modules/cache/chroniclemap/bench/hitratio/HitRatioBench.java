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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.hitratio;

import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;

/**
 * Compares policies of eviction by their hit ratios on traces: {@code bin/bench hitratio}, which
 * checks the arguments. Nothing is stored and nothing is timed, so each run gives the same figures.
 */
public final class HitRatioBench {
  private static final int FULL = 2_000_000;
  private static final int QUICK = 1_000_000;

  /** Share of the keys that fit into the cache, percent. */
  private static final int[] SHARES = {1, 5, 10, 20};

  private static final int[] QUICK_SHARES = {5};

  private static final int MOST_BELOW_LRU = 3;

  private final List<Candidate> candidates = Candidate.all();
  private final double[] worstAgainstLru = new double[candidates.size()];

  private HitRatioBench() {}

  /** Takes {@code --quick} or nothing. */
  public static void main(String[] args) {
    boolean quick = List.of(args).contains("--quick");
    new HitRatioBench().run(quick ? QUICK : FULL, quick ? QUICK_SHARES : SHARES);
  }

  private void run(int length, int[] shares) {
    System.out.println("Command   " + System.getProperty("bench.command"));
    System.out.printf(
        Locale.ROOT, "Traces    about %,d requests for %,d keys%n%n", length, Traces.KEYS);
    Traces traces = new Traces(length);
    for (Sizes sizes : Sizes.values()) {
      System.out.println("Hits of 100 requests, entries of " + sizes.title());
      header();
      List<IntFunction<Trace>> makers =
          List.of(
              traces::zipf,
              traces::zipfWithScans,
              traces::shiftingZipf,
              traces::newestFirst,
              traces::loop,
              traces::secondLevel,
              traces::newestFirstSecondLevel);
      for (IntFunction<Trace> maker : makers) {
        for (int share : shares) {
          row(maker.apply(Traces.KEYS / 100 * share), sizes, share);
        }
      }
      System.out.println();
    }
    aims();
  }

  private void header() {
    System.out.printf(Locale.ROOT, "%-18s %5s", "Requests", "Cache");
    candidates.forEach(candidate -> System.out.printf(Locale.ROOT, " %9s", candidate.name()));
    System.out.println();
  }

  private void row(Trace trace, Sizes sizes, int share) {
    int[] table = sizes.table(trace.keyCount());
    long capacity = sizes.capacity(trace.cacheEntries());
    double[] ratios =
        candidates.parallelStream()
            .mapToDouble(candidate -> hitRatio(candidate.maker().make(capacity, table), trace))
            .toArray();
    System.out.printf(Locale.ROOT, "%-18s %3d %%", trace.name(), share);
    for (int i = 0; i < ratios.length; i++) {
      System.out.printf(Locale.ROOT, " %9.1f", ratios[i]);
      worstAgainstLru[i] = Math.min(worstAgainstLru[i], ratios[i] - ratios[0]);
    }
    System.out.println();
  }

  /** Hits of 100 requests, those that fill the cache not counted. */
  static double hitRatio(Policy policy, Trace trace) {
    int hits = 0;
    int[] requests = trace.requests();
    for (int i = 0; i < requests.length; i++) {
      if (policy.request(requests[i]) && i >= trace.warmup()) {
        hits++;
      }
    }
    return 100.0 * hits / (requests.length - trace.warmup());
  }

  private void aims() {
    System.out.printf(Locale.ROOT, "%-24s", "Most below LRU");
    for (double worst : worstAgainstLru) {
      System.out.printf(Locale.ROOT, " %9.1f", -worst);
    }
    System.out.println();
    double ours = -worstAgainstLru[worstAgainstLru.length - 1];
    System.out.printf(
        Locale.ROOT,
        "Aim, ours within %d points of LRU everywhere: %s%n",
        MOST_BELOW_LRU,
        ours <= MOST_BELOW_LRU ? "reached" : "not reached");
  }
}
