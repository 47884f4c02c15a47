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
 * The recent durations of an operation, in two windows: the current minute and the one before. Safe
 * for any thread. All times are those of {@link System#nanoTime}.
 */
final class RecentTimes {
  private static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Longer durations count as this one. */
  private static final long MAX_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** A histogram of this precision has 16 buckets for each doubling and takes 5 KB. */
  private static final int SIGNIFICANT_DIGITS = 1;

  private record Window(long begun, AtomicHistogram times) {
    Window(long begun) {
      this(begun, new AtomicHistogram(MAX_NANOS, SIGNIFICANT_DIGITS));
    }
  }

  private record Windows(Window running, @Nullable Window last) {}

  private volatile Windows windows;

  RecentTimes(long now) {
    windows = new Windows(new Window(now), null);
  }

  /** Counts an operation. */
  void add(long begun, long ended) {
    at(ended).running.times.recordValue(Math.clamp(ended - begun, 0, MAX_NANOS));
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

  /** Returns the latency over the last one to two minutes. */
  Latency latency(long now) {
    Windows current = at(now);
    Histogram all = new Histogram(MAX_NANOS, SIGNIFICANT_DIGITS);
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
