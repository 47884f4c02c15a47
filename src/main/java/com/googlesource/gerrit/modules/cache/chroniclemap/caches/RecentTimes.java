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

import com.google.gerrit.common.Nullable;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.AtomicHistogram;
import org.HdrHistogram.Histogram;

/**
 * How long an operation took of late: in two windows, the minute that runs and the one before. Safe
 * for any thread. All times are those of {@link System#nanoTime}.
 */
final class RecentTimes {
  private static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** What takes longer counts as this. */
  private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** Gives 16 steps to each doubling, and 5 KB to a histogram. */
  private static final int SIGNIFICANT_DIGITS = 1;

  private record Window(long begun, AtomicHistogram times) {
    Window(long begun) {
      this(begun, new AtomicHistogram(LONGEST_NANOS, SIGNIFICANT_DIGITS));
    }
  }

  private record Windows(Window running, @Nullable Window last) {}

  private volatile Windows windows;

  RecentTimes(long now) {
    windows = new Windows(new Window(now), null);
  }

  /** Counts an operation. */
  void add(long begun, long ended) {
    at(ended).running.times.recordValue(Math.clamp(ended - begun, 0, LONGEST_NANOS));
  }

  private Windows at(long now) {
    Windows current = windows;
    return now - current.running.begun < WINDOW_NANOS ? current : turn(now);
  }

  private synchronized Windows turn(long now) {
    Windows current = windows;
    long age = now - current.running.begun;
    if (age >= WINDOW_NANOS) {
      windows = new Windows(new Window(now), age < 2 * WINDOW_NANOS ? current.running : null);
    }
    return windows;
  }

  /** What was counted in the last one to two minutes. */
  Latency latency(long now) {
    Windows current = at(now);
    Histogram all = new Histogram(LONGEST_NANOS, SIGNIFICANT_DIGITS);
    all.add(current.running.times);
    if (current.last != null) {
      all.add(current.last.times);
    }
    return new Latency(
        all.getTotalCount(),
        all.getValueAtPercentile(50),
        all.getValueAtPercentile(99),
        all.getValueAtPercentile(99.9),
        all.getMaxValue());
  }
}
