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

import java.util.ArrayList;
import java.util.List;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * How much is measured, and for how long.
 *
 * @param threads numbers of threads
 * @param rounds how often each scenario is measured, each time in a new Java process for each peer
 * @param warmups iterations before those that count, where there is no {@link WarmUp}
 * @param iterations iterations that count
 * @param putIterations as above, for puts, of which an iteration takes less
 * @param time length of an iteration; a put iteration takes what its puts take
 */
record Plan(
    List<Integer> threads,
    int rounds,
    int warmups,
    int iterations,
    int putIterations,
    TimeValue time) {
  private static final List<Integer> VALUE_BYTES = List.of(10 << 10, 200);
  private static final List<Integer> LARGE_VALUE_BYTES = List.of(100 << 10, 5 << 20);

  /** As many threads as a large server answers requests by. */
  private static final int MANY_THREADS = 64;

  static Plan full() {
    return new Plan(List.of(1, 2, 8), 2, 3, 3, 12, TimeValue.milliseconds(1500));
  }

  /** Enough to see that all works; the figures are rough. */
  static Plan quick() {
    return new Plan(List.of(1, 8), 1, 2, 1, 6, TimeValue.milliseconds(1500));
  }

  /** Returns what is to be measured of the caches. */
  List<CacheCase> scenarios() {
    List<CacheCase> all = new ArrayList<>();
    for (CacheOperation operation : CacheOperation.values()) {
      for (int valueBytes : VALUE_BYTES) {
        for (int count : threads) {
          all.add(new CacheCase(operation, valueBytes, count));
        }
        all.add(new CacheCase(operation, valueBytes, MANY_THREADS));
      }
    }
    for (CacheOperation operation : List.of(CacheOperation.GET, CacheOperation.PUT)) {
      for (int valueBytes : LARGE_VALUE_BYTES) {
        for (int count : List.of(threads.getFirst(), threads.getLast())) {
          all.add(new CacheCase(operation, valueBytes, count));
        }
      }
    }
    return all;
  }
}
