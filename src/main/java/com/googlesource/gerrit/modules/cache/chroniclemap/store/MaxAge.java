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

import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The age up to which a store's values are found.
 *
 * <p>Safe for any thread.
 */
final class MaxAge {
  private final long maxMillis;
  private final LongSupplier clock;

  /**
   * Bounds the age of values.
   *
   * @param limit empty for none
   * @param clock milliseconds since the epoch
   */
  MaxAge(Optional<Duration> limit, LongSupplier clock) {
    this.maxMillis = limit.map(Duration::toMillis).orElse(Long.MAX_VALUE);
    this.clock = clock;
  }

  boolean isUnlimited() {
    return maxMillis == Long.MAX_VALUE;
  }

  /** Milliseconds; Long.MAX_VALUE if there is no limit. */
  long millis() {
    return maxMillis;
  }

  /** Values made before are too old; milliseconds since the epoch. */
  long minCreated() {
    return isUnlimited() ? Long.MIN_VALUE : clock.getAsLong() - maxMillis;
  }
}
