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
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/**
 * How long puts took of late. Safe for any thread. All times are those of {@link System#nanoTime}.
 *
 * <p>Puts are counted by steps of time, two to each doubling, in two windows: the minute that runs
 * and the one before. A reservoir of samples, as Gerrit's own timers have, would cost more than
 * most puts do.
 */
final class PutTimes {
  private static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** What takes less than 2^7 ns is in the first step, from 2^35 ns (34 s) on in the last. */
  private static final int MIN_BITS = 7;

  private static final int MAX_BITS = 35;
  private static final int STEPS = 2 * (MAX_BITS - MIN_BITS) + 2;

  private static final class Window {
    final long begun;
    final LongAdder[] steps = new LongAdder[STEPS];
    final LongAccumulator longest = new LongAccumulator(Math::max, 0);

    Window(long begun) {
      this.begun = begun;
      for (int i = 0; i < STEPS; i++) {
        steps[i] = new LongAdder();
      }
    }
  }

  private record Windows(Window running, @Nullable Window last) {}

  private volatile Windows windows;

  PutTimes(long now) {
    windows = new Windows(new Window(now), null);
  }

  /** Counts a put. */
  void add(long begun, long ended) {
    Window window = at(ended).running;
    long nanos = Math.max(0, ended - begun);
    window.steps[stepOf(nanos)].increment();
    window.longest.accumulate(nanos);
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

  /** How long the puts of the last one to two minutes took. */
  PutLatency latency(long now) {
    Windows current = at(now);
    long[] counts = new long[STEPS];
    long longest = addTo(counts, current.running);
    if (current.last != null) {
      longest = Math.max(longest, addTo(counts, current.last));
    }
    long total = 0;
    for (long count : counts) {
      total += count;
    }
    return new PutLatency(
        total,
        Math.min(longest, quantile(counts, total, 0.5)),
        Math.min(longest, quantile(counts, total, 0.99)),
        longest);
  }

  private static long addTo(long[] counts, Window window) {
    for (int i = 0; i < STEPS; i++) {
      counts[i] += window.steps[i].sum();
    }
    return window.longest.get();
  }

  private static long quantile(long[] counts, long total, double part) {
    long wanted = (long) Math.ceil(total * part);
    long seen = 0;
    for (int i = 0; i < STEPS; i++) {
      seen += counts[i];
      if (wanted > 0 && seen >= wanted) {
        return middleOf(i);
      }
    }
    return 0;
  }

  /** The step of a time: two steps to each doubling, at 1 and at 1.5 times a power of two. */
  private static int stepOf(long nanos) {
    if (nanos < 1L << MIN_BITS) {
      return 0;
    }
    int bits = Long.SIZE - 1 - Long.numberOfLeadingZeros(nanos);
    if (bits >= MAX_BITS) {
      return STEPS - 1;
    }
    return 1 + 2 * (bits - MIN_BITS) + (int) (nanos >>> (bits - 1) & 1);
  }

  /** A time in the middle of a step: at most a quarter from all that are in it. */
  private static long middleOf(int step) {
    if (step == 0) {
      return 1L << (MIN_BITS - 1);
    }
    long power = 1L << (MIN_BITS + (step - 1) / 2);
    return step % 2 == 1 ? power + power / 4 : power + power / 2 + power / 4;
  }
}
