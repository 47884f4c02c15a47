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

import static com.google.common.truth.Truth.assertThat;

import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Quantiles of times, over windows of a minute. */
class RecentTimesTest {
  private static final long START = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(90);

  private final RecentTimes times = new RecentTimes(START);

  private void add(long second, long nanos) {
    long ended = at(second);
    times.add(ended - nanos, ended);
  }

  /** Runs over the largest number, as the clock may. */
  private static long at(long second) {
    return START + TimeUnit.SECONDS.toNanos(second);
  }

  /** To a sixteenth: what 16 steps to each doubling can tell. */
  private static void assertAbout(long actual, long expected) {
    assertThat((double) actual / expected).isWithin(1 / 15.9).of(1);
  }

  @Test
  void quantilesAreRightToASixteenth() {
    Random random = new Random(1);
    long[] all = new long[10_000];
    for (int i = 0; i < all.length; i++) {
      // From 128 ns to 17 s, each doubling as likely.
      all[i] = (long) Math.pow(2, 7 + 27 * random.nextDouble());
      add(i % 59, all[i]);
    }
    Arrays.sort(all);
    Latency latency = times.latency(at(59));
    assertThat(latency.count()).isEqualTo(all.length);
    assertAbout(latency.p50(), all[all.length / 2 - 1]);
    assertAbout(latency.p99(), all[all.length * 99 / 100 - 1]);
    assertAbout(latency.p999(), all[all.length * 999 / 1000 - 1]);
    assertAbout(latency.max(), all[all.length - 1]);
  }

  @Test
  void timesOfAllSizesAreCounted() {
    for (long nanos : new long[] {-5, 0, 1, 127, 128, 191, 192, 1L << 35, Long.MAX_VALUE / 4}) {
      add(1, nanos);
    }
    assertThat(times.latency(at(1)).count()).isEqualTo(9);
  }

  @Test
  void aTimeIsForgottenAfterTwoMinutes() {
    add(10, 5_000_000);
    assertAbout(times.latency(at(59)).max(), 5_000_000);
    assertAbout(times.latency(at(61)).max(), 5_000_000);
    assertAbout(times.latency(at(120)).max(), 5_000_000);
    assertThat(times.latency(at(121)).max()).isEqualTo(0);
    assertThat(times.latency(at(1000))).isEqualTo(new Latency(0, 0, 0, 0, 0));
    add(1001, 7000);
    assertAbout(times.latency(at(1002)).max(), 7000);
    assertAbout(times.latency(at(1002)).p50(), 7000);
  }

  /** None is lost, whatever the threads do at once. */
  @Test
  void manyThreadsAtOnce() throws Exception {
    Threads.together(
        8,
        thread -> {
          for (int nanos = 0; nanos < 10_000; nanos++) {
            add(nanos % 60, nanos);
          }
        });
    assertThat(times.latency(at(59)).count()).isEqualTo(80_000);
  }
}
