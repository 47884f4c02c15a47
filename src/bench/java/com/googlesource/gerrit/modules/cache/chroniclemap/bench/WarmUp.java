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
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Warms up until it gets no faster, before JMH's own iterations: how long that takes differs with
 * the length of the path that the Java compiler has before it, so that a fixed time favours who has
 * a short one. The run is told whether the warm-up came to its end.
 */
final class WarmUp {
  /** Something of which the rate is measured. */
  interface Work {
    /** Works for so long, or a little longer; returns operations per second. */
    double run(long nanos) throws IOException;
  }

  private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** Windows that are looked at together: single ones differ by what else the machine does. */
  private static final int WINDOWS = 6;

  /** In all, with what is done between the windows. */
  private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);

  private static final double GAIN = 1.03;

  /** Works until it gets no faster, or for a minute. */
  static void until(Work work) throws IOException {
    List<Double> rates = new ArrayList<>();
    long begun = System.nanoTime();
    boolean warm;
    do {
      rates.add(work.run(WINDOW_NANOS));
      warm = isSteady(rates);
    } while (!warm && System.nanoTime() - begun < MAX_NANOS);
    FurtherFigures.set(FurtherFigures.WARM, warm ? 1 : 0);
  }

  /**
   * Whether the best second and a half was not among the last ones, by which a moment in which the
   * machine had something else to do is not taken for the end.
   */
  static boolean isSteady(List<Double> rates) {
    int last = rates.size() - WINDOWS;
    return last >= WINDOWS
        && best(rates, last - WINDOWS + 1, last) <= GAIN * best(rates, 0, last - WINDOWS);
  }

  /** The highest median of windows that begin there. */
  private static double best(List<Double> rates, int from, int to) {
    return IntStream.rangeClosed(from, to)
        .mapToDouble(begin -> Quantiles.median().compute(rates.subList(begin, begin + WINDOWS)))
        .max()
        .orElseThrow();
  }
}
