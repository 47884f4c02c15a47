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

import static com.google.common.truth.Truth.assertWithMessage;

import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

/** What is promised of the policy of eviction, on short traces. */
class ScoreTest {
  private static final int ENTRIES = 10_000;
  private static final int REQUESTS = 300_000;
  private static final Traces TRACES = new Traces(REQUESTS);

  @Test
  void popularKeysStay() {
    assertBetterThanLru(3, TRACES::zipf);
  }

  @Test
  void popularKeysStayDuringScans() {
    assertBetterThanLru(2, TRACES::zipfWithScans);
  }

  @Test
  void newKeysStayIfTheyArePopular() {
    assertBetterThanLru(3, TRACES::newestFirst);
  }

  @Test
  void popularKeysStayBehindAHeapTier() {
    assertBetterThanLru(3, TRACES::secondLevel);
  }

  @Test
  void aPartOfALoopStays() {
    assertBetterThanLru(5, TRACES::loop);
  }

  private static void assertBetterThanLru(int points, IntFunction<Trace> maker) {
    Trace trace = maker.apply(ENTRIES);
    int[] sizes = Sizes.LARGE.table(trace.keyCount());
    long capacity = Sizes.LARGE.capacity(ENTRIES);
    double lru = HitRatioBench.hitRatio(new Lru(capacity, sizes), trace);
    double ours =
        HitRatioBench.hitRatio(new SegmentedStore(Score.FREQUENCY, capacity, sizes), trace);

    assertWithMessage("hits of 100 requests more than LRU's").that(ours - lru).isAtLeast(points);
  }
}
