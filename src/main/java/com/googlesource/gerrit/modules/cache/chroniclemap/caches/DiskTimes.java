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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import java.util.concurrent.ThreadLocalRandom;

/** How long what a cache does with its disk took of late. Safe for any thread. */
final class DiskTimes {
  /** A power of two. To look at the clock each time would be felt in a read, which takes 2 us. */
  private static final int TIMED_ONE_IN = 16;

  final RecentTimes puts;
  final RecentTimes reads;
  final RecentTimes serializations;
  final RecentTimes deserializations;

  DiskTimes() {
    long now = System.nanoTime();
    puts = new RecentTimes(now);
    reads = new RecentTimes(now);
    serializations = new RecentTimes(now);
    deserializations = new RecentTimes(now);
  }

  /** Whether to time one of the operations that are timed now and then. */
  static boolean isTimed() {
    return (ThreadLocalRandom.current().nextInt() & (TIMED_ONE_IN - 1)) == 0;
  }

  Latencies latencies() {
    long now = System.nanoTime();
    return new Latencies(
        puts.latency(now),
        reads.latency(now),
        serializations.latency(now),
        deserializations.latency(now));
  }
}
