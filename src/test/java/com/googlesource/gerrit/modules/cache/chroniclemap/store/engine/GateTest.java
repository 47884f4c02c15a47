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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import static com.google.common.truth.Truth.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who is turned away at a gate, and who is waited for. */
@Timeout(60)
class GateTest {
  @Test
  void aGateThatIsShutTurnsAwayAndWaitsForThoseInside() throws Exception {
    Gate gate = new Gate();
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    CompletableFuture<Void> reader =
        CompletableFuture.runAsync(
            () -> {
              long stamp = gate.enter();
              assertThat(stamp).isNotEqualTo(0);
              // The same thread may be inside twice.
              gate.leave(gate.enter());
              inside.countDown();
              try {
                assertThat(goOn.await(30, TimeUnit.SECONDS)).isTrue();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
              gate.leave(stamp);
            });
    inside.await();
    Thread shutter = new Thread(gate::shut);
    shutter.start();
    while (shutter.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertThat(gate.enter()).isEqualTo(0);
    goOn.countDown();
    shutter.join();
    reader.get();
    assertThat(gate.enter()).isEqualTo(0);
    gate.shut();
  }
}
