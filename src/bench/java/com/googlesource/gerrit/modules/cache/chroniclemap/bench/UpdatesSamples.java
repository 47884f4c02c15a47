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
import java.util.Collections;
import java.util.List;
import java.util.OptionalDouble;

/** What was measured of one contender in one case, in all rounds. */
final class UpdatesSamples {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;

  private final List<Long> latencies = new ArrayList<>();
  private long wallNanos;
  private long cpuNanos;
  private long allocated;
  private boolean hasHeap;
  private long lockedNanos;
  private int watched;

  void add(UpdatesRun run) {
    for (long latency : run.latencies()) {
      latencies.add(latency);
    }
    Collections.sort(latencies);
    wallNanos += run.wallNanos();
    cpuNanos += run.cpuNanos();
    hasHeap |= run.allocated().isPresent();
    allocated += run.allocated().orElse(0);
  }

  /** Adds for how long the lock of packed-refs was seen in so many runs. */
  void addLocked(long nanos, int runs) {
    lockedNanos += nanos;
    watched += runs;
  }

  int runs() {
    return latencies.size();
  }

  /** The time of a run that {@code percent} of all did not exceed. */
  double millis(double percent) {
    int rank = (int) Math.ceil(latencies.size() * percent / 100);
    return latencies.get(Math.max(0, rank - 1)) / NANOS_PER_MILLI;
  }

  double perSecond() {
    return latencies.size() * NANOS_PER_SECOND / wallNanos;
  }

  double cpuMillis() {
    return cpuNanos / NANOS_PER_MILLI / latencies.size();
  }

  /** Bytes of a run; empty if it has no heap. */
  OptionalDouble garbage() {
    return hasHeap
        ? OptionalDouble.of((double) allocated / latencies.size())
        : OptionalDouble.empty();
  }

  /** For how long a run has held the lock of packed-refs; empty if that was not watched. */
  OptionalDouble lockedMillis() {
    return watched == 0
        ? OptionalDouble.empty()
        : OptionalDouble.of(lockedNanos / NANOS_PER_MILLI / watched);
  }
}
