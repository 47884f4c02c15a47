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
 * The average of the last few measurements. Any thread may add one; lost ones of concurrent threads
 * do no harm.
 */
final class Average {
  /** So many measurements count alike; later, each new one has the weight of one of these. */
  private static final int MEASUREMENTS = 32;

  /** The same where measurements are rare, so that old ones do not decide for long. */
  private static final int RARE_MEASUREMENTS = 4;

  /** A few outliers, such as those of a connection that is made first, decide nothing. */
  private static final int KNOWN_FROM = 16;

  private volatile double value;
  private volatile int count;

  void add(double measured) {
    add(measured, MEASUREMENTS);
  }

  /** Adds one of few measurements, each of which stands for many that were not made. */
  void addRare(double measured) {
    add(measured, RARE_MEASUREMENTS);
  }

  private void add(double measured, int most) {
    int counted = count + 1;
    double before = value;
    value = before + (measured - before) / Math.min(counted, most);
    count = Math.min(counted, MEASUREMENTS);
  }

  /** Whether there were enough measurements. */
  boolean isKnown() {
    return count >= KNOWN_FROM;
  }

  double get() {
    return value;
  }
}
