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

/**
 * The average of the last few measurements: of all up to 32, and later with a weight of 1/32 for
 * each new one. Any thread may add one; lost ones of concurrent threads do no harm.
 */
final class Average {
  private static final int WEIGHT_DIVISOR = 32;

  /** A few outliers, such as those of a connection that is made first, decide nothing. */
  private static final int KNOWN_FROM = 16;

  private volatile double value;
  private volatile int count;

  void add(double measured) {
    int counted = Math.min(count + 1, WEIGHT_DIVISOR);
    double before = value;
    value = before + (measured - before) / counted;
    count = counted;
  }

  /** Whether there were enough measurements. */
  boolean isKnown() {
    return count >= KNOWN_FROM;
  }

  double get() {
    return value;
  }
}
