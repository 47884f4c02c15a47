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

import com.google.common.math.Quantiles;
import java.util.Arrays;
import java.util.OptionalLong;

/**
 * Some calls that one made one after the other, or at once.
 *
 * @param wallNanos from the start of the first to the end of the last
 * @param cpuNanos of the whole process that did what was asked; 0 if not measured
 * @param allocated bytes that all threads of that process took from the heap; empty if not measured
 * @param latencies of each call, nanoseconds
 */
public record Turn(long wallNanos, long cpuNanos, OptionalLong allocated, long[] latencies) {
  /** This, and then as many calls more: each counts as one with its counterpart. */
  public Turn then(Turn next) {
    long[] both = latencies.clone();
    Arrays.setAll(both, i -> latencies[i] + next.latencies[i]);
    return new Turn(
        wallNanos + next.wallNanos,
        cpuNanos + next.cpuNanos,
        allocated.isPresent()
            ? OptionalLong.of(allocated.getAsLong() + next.allocated.getAsLong())
            : allocated,
        both);
  }

  int count() {
    return latencies.length;
  }

  double medianNanos() {
    return Quantiles.median().compute(latencies);
  }

  public double cpuMillisOfACall() {
    return cpuNanos / 1e6 / Math.max(1, latencies.length);
  }
}
