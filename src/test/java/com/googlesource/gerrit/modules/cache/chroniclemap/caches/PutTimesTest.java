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
import static com.google.common.truth.Truth.assertWithMessage;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Quantiles of put times, over windows of a minute. */
class PutTimesTest {
  private static final long START = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(90);

  private final PutTimes times = new PutTimes(START);

  private void add(long second, long nanos) {
    long ended = at(second);
    times.add(ended - nanos, ended);
  }

  /** Runs over the largest number, as the clock may. */
  private static long at(long second) {
    return START + TimeUnit.SECONDS.toNanos(second);
  }

  @Test
  void nothingWasPut() {
    assertThat(times.latency(at(1))).isEqualTo(new PutLatency(0, 0, 0, 0));
  }

  @Test
  void onePutIsAllQuantiles() {
    add(1, 1000);
    PutLatency latency = times.latency(at(2));
    assertThat(latency.count()).isEqualTo(1);
    assertThat(latency.max()).isEqualTo(1000);
    assertThat(latency.p99()).isEqualTo(latency.p50());
    assertThat((double) latency.p50()).isWithin(250).of(1000);
  }

  @Test
  void quantilesAreRightToAQuarter() {
    Random random = new Random(1);
    long[] all = new long[10_000];
    for (int i = 0; i < all.length; i++) {
      // From 128 ns to 17 s, each doubling as likely.
      all[i] = (long) Math.pow(2, 7 + 27 * random.nextDouble());
      add(i % 59, all[i]);
    }
    Arrays.sort(all);
    PutLatency latency = times.latency(at(59));
    assertThat(latency.count()).isEqualTo(all.length);
    assertWithMessage("p50")
        .that((double) latency.p50() / all[all.length / 2 - 1])
        .isWithin(0.26)
        .of(1);
    assertWithMessage("p99")
        .that((double) latency.p99() / all[all.length * 99 / 100 - 1])
        .isWithin(0.26)
        .of(1);
    assertThat(latency.max()).isEqualTo(all[all.length - 1]);
  }

  @Test
  void timesOfAllSizesAreCounted() {
    for (long nanos : new long[] {-5, 0, 1, 127, 128, 191, 192, 1L << 35, Long.MAX_VALUE / 4}) {
      add(1, nanos);
    }
    assertThat(times.latency(at(1)).count()).isEqualTo(9);
  }

  @Test
  void aPutIsForgottenAfterTwoMinutes() {
    add(10, 5_000_000);
    assertThat(times.latency(at(59)).max()).isEqualTo(5_000_000);
    assertThat(times.latency(at(61)).max()).isEqualTo(5_000_000);
    assertThat(times.latency(at(120)).max()).isEqualTo(5_000_000);
    assertThat(times.latency(at(121)).max()).isEqualTo(0);
    add(122, 7000);
    assertThat(times.latency(at(122)).max()).isEqualTo(7000);
  }

  @Test
  void aLongPauseForgetsAll() {
    add(10, 5_000_000);
    assertThat(times.latency(at(1000)).max()).isEqualTo(0);
  }
}
