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

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import java.util.EnumMap;
import java.util.concurrent.ThreadLocalRandom;

/** The recent latencies of a cache's disk tier. Safe for any thread. */
final class DiskTimes {
  /**
   * One in so many reads and serializations is timed; a power of two. A read takes 2 microseconds,
   * so reading the clock each time would be felt.
   */
  private static final int TIMED_ONE_IN = 16;

  private final EnumMap<DiskOperation, RecentTimes> times = new EnumMap<>(DiskOperation.class);

  DiskTimes() {
    long now = System.nanoTime();
    for (DiskOperation operation : DiskOperation.values()) {
      times.put(operation, new RecentTimes(now));
    }
  }

  /** Whether to time this one of the operations that are sampled. */
  static boolean isTimed() {
    return (ThreadLocalRandom.current().nextInt() & (TIMED_ONE_IN - 1)) == 0;
  }

  /** Counts an operation, with times of {@link System#nanoTime}. */
  void add(DiskOperation operation, long begun, long ended) {
    times.get(operation).add(begun, ended);
  }

  ImmutableMap<DiskOperation, Latency> latencies() {
    long now = System.nanoTime();
    return ImmutableMap.copyOf(Maps.transformValues(times, recent -> recent.latency(now)));
  }
}
