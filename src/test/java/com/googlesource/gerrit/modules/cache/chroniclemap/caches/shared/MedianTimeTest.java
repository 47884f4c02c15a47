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

import static com.google.common.truth.Truth.assertThat;

import org.junit.jupiter.api.Test;

/** The median that decides whether the server is asked. */
class MedianTimeTest {
  private final MedianTime time = new MedianTime();

  private void add(int count, long nanos) {
    for (int i = 0; i < count; i++) {
      time.add(nanos);
    }
  }

  @Test
  void isKnownAfterAFewTimes() {
    add(15, 100);
    assertThat(time.isKnown()).isFalse();
    add(1, 100);
    assertThat(time.isKnown()).isTrue();
    assertThat(time.get()).isEqualTo(100);
  }

  @Test
  void fewLongWaitsDoNotCount() {
    add(16, 100);
    add(7, 1_000_000);
    assertThat(time.get()).isEqualTo(100);
  }

  @Test
  void aServerThatBecomesSlowOrFastIsNoticed() {
    add(100, 100);
    add(9, 5000);
    assertThat(time.get()).isEqualTo(5000);
    add(9, 200);
    assertThat(time.get()).isEqualTo(200);
    assertThat(time.lowest()).isEqualTo(100);
  }
}
