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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import java.util.Arrays;

/**
 * The median of the last few round trips. A thread whose answer has arrived may still have to wait
 * for a processor of a busy machine; a few such waits hardly change the median, but rule the
 * average. Any thread may add a time; lost ones of concurrent threads do no harm.
 */
final class MedianTime {
  /** Must be a power of two. */
  private static final int TIMES = 16;

  private final long[] last = new long[TIMES];
  private volatile long lowest = Long.MAX_VALUE;
  private volatile int count;

  void add(long nanos) {
    int index = count;
    last[index & (TIMES - 1)] = nanos;
    lowest = Math.min(lowest, nanos);
    count = index + 1;
  }

  /** Whether there were enough times: the first ones are those of new connections and cold code. */
  boolean isKnown() {
    // Negative after 2^31 times.
    return count >= TIMES || count < 0;
  }

  long get() {
    long[] sorted = last.clone();
    Arrays.sort(sorted);
    return sorted[TIMES / 2];
  }

  /** Returns the shortest of all times. */
  long lowest() {
    return lowest;
  }
}
