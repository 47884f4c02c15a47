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

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When the server is asked again, with a timer that only notes what it is told. */
class BreakerTest {
  private record Told(Runnable task, long millis) {}

  /** Runs nothing by itself. */
  private static final class NotingTimer extends ScheduledThreadPoolExecutor {
    final Deque<Told> told = new ArrayDeque<>();

    NotingTimer() {
      super(1);
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
      told.add(new Told(task, unit.toMillis(delay)));
      return null;
    }
  }

  private final NotingTimer timer = new NotingTimer();
  private boolean isUp = true;
  private final Breaker breaker = new Breaker(this::probe, timer);

  private void probe() throws IOException {
    if (!isUp) {
      throw new IOException("down");
    }
  }

  /** Runs the probe that is due; returns how long it had to wait. */
  private long runProbe() {
    Told next = timer.told.remove();
    assertThat(timer.told).isEmpty();
    next.task().run();
    return next.millis();
  }

  @AfterEach
  void stop() {
    timer.shutdownNow();
  }

  @Test
  void nobodyAsksBeforeTheFirstProbe() {
    assertThat(breaker.isClosed()).isFalse();
    breaker.begin();
    assertThat(breaker.isClosed()).isFalse();
    assertThat(runProbe()).isEqualTo(0);
    assertThat(breaker.isClosed()).isTrue();
  }

  @Test
  void aDeadServerIsProbedLessAndLessOften() {
    isUp = false;
    breaker.begin();
    assertThat(runProbe()).isEqualTo(0);
    long before = 0;
    for (int i = 0; i < 7; i++) {
      long wait = runProbe();
      assertThat(wait).isGreaterThan(before);
      before = wait;
    }
    for (int i = 0; i < 3; i++) {
      before = runProbe();
    }
    assertThat(before).isEqualTo(Breaker.LONGEST_WAIT_MILLIS);
    isUp = true;
    runProbe();
    assertThat(breaker.isClosed()).isTrue();
  }

  @Test
  void aHealthyServerWithSomeFailuresIsProbedAtOnce() {
    breaker.begin();
    runProbe();
    for (int i = 0; i < 1000; i++) {
      for (int k = 0; k < 20; k++) {
        breaker.succeeded();
      }
      breaker.failed(breaker.openings());
      assertThat(breaker.isClosed()).isFalse();
      assertThat(runProbe()).isEqualTo(0);
      assertThat(breaker.isClosed()).isTrue();
    }
    assertThat(breaker.openings()).isEqualTo(1000);
  }

  @Test
  void failuresAtTheSameTimeCountOnce() {
    breaker.begin();
    runProbe();
    long before = breaker.openings();
    for (int i = 0; i < 32; i++) {
      breaker.failed(before);
    }
    assertThat(breaker.openings()).isEqualTo(1);
    assertThat(runProbe()).isEqualTo(0);
    // Those that come to light only now were sent before the server was given up.
    for (int i = 0; i < 32; i++) {
      breaker.failed(before);
    }
    assertThat(breaker.openings()).isEqualTo(1);
    assertThat(breaker.isClosed()).isTrue();
  }

  @Test
  void aServerThatOnlyAnswersProbesIsSoonLeftAlone() {
    breaker.begin();
    runProbe();
    long last = 0;
    for (int i = 0; i < 20; i++) {
      breaker.failed(breaker.openings());
      last = runProbe();
      assertThat(breaker.isClosed()).isTrue();
    }
    assertThat(last).isEqualTo(Breaker.LONGEST_WAIT_MILLIS);
    // Once it answers again, waits are as short as before.
    for (int i = 0; i < 200; i++) {
      breaker.succeeded();
    }
    breaker.failed(breaker.openings());
    assertThat(runProbe()).isEqualTo(0);
  }

  @Test
  void nobodyAsksAfterTheEnd() {
    breaker.begin();
    breaker.end();
    runProbe();
    assertThat(breaker.isClosed()).isFalse();
  }
}
