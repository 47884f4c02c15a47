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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.util.function.LongSupplier;

/**
 * What a store knows of the use of its values beside the access times in its file.
 *
 * <p>Safe for any thread; sizes do not depend on the number of values on the heap.
 */
final class Usage {
  /** An access time is rewritten at most this often, so that reads do not dirty pages. */
  private static final long MAX_TOUCH_MILLIS = 60_000;

  /** How much finer than the age at which values leave access times are kept. */
  private static final int TOUCHES_PER_LIFE = 64;

  private final LongSupplier clock;

  /** About the time since their last access at which values leave; milliseconds. */
  private volatile long evictedAge = Long.MAX_VALUE;

  private volatile long touchMillis = MAX_TOUCH_MILLIS;

  /**
   * Begins with no knowledge.
   *
   * @param clock milliseconds since the epoch
   */
  Usage(LongSupplier clock) {
    this.clock = clock;
  }

  long now() {
    return clock.getAsLong();
  }

  /** Age of an access time above which a read rewrites it. */
  long touchMillis() {
    return touchMillis;
  }

  /** What a record is worth, to compare it with others of its segment. */
  long worth(byte[] storedKey, long accessed, long now) {
    return accessed;
  }

  /** Takes note of the age at which a record left. By the writer only. */
  void evicted(long ageMillis) {
    long before = evictedAge;
    long age = Math.max(0, ageMillis);
    evictedAge = before == Long.MAX_VALUE ? age : before + (age - before) / 16;
    touchMillis = Math.min(MAX_TOUCH_MILLIS, evictedAge / TOUCHES_PER_LIFE);
  }
}
