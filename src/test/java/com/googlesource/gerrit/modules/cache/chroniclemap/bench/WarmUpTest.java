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

import static com.google.common.truth.Truth.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When {@code bin/bench cache} takes a contender for warm. */
final class WarmUpTest {
  @Test
  void whoGetsFasterIsNotWarm() {
    List<Double> rates = new ArrayList<>();
    double rate = 100;
    for (int i = 0; i < 40; i++) {
      rates.add(rate);
      rate *= 1.01;
      assertThat(WarmUp.isSteady(rates)).isFalse();
    }
  }

  @Test
  void whoStaysIsWarm() {
    List<Double> rates = new ArrayList<>();
    for (int i = 0; i < 11; i++) {
      rates.add(i % 2 == 0 ? 100.0 : 80.0);
      assertThat(WarmUp.isSteady(rates)).isFalse();
    }
    rates.add(80.0);
    assertThat(WarmUp.isSteady(rates)).isTrue();
  }

  @Test
  void aMomentOfOtherWorkIsNotTheEnd() {
    List<Double> rates = new ArrayList<>();
    double rate = 100;
    for (int i = 0; i < 40; i++) {
      rates.add(i % 13 == 12 ? rate / 4 : rate);
      rate *= 1.02;
      assertThat(WarmUp.isSteady(rates)).isFalse();
    }
  }

  @Test
  void whoGetsSlowerIsWarm() {
    List<Double> rates = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      rates.add(100.0 - i);
    }
    assertThat(WarmUp.isSteady(rates)).isTrue();
  }
}
