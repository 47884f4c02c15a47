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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertThat;

import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/**
 * Lincheck runs random short programs of a few threads on a store that takes disk, and looks
 * whether the answers can be put in an order; {@link KeyHistory} says what is promised.
 *
 * <p>Only its stress mode: the other one can't see into memory outside of the heap. A longer run:
 * {@code -Dlincheck.scenarios=1000}.
 */
class StoreLincheckTest {
  private static final int SCENARIOS = Integer.getInteger("lincheck.scenarios", 20);
  private static final int MAX_ROUNDS = 10;

  @AfterAll
  static void close() throws Exception {
    StoreScenario.closeShared();
  }

  @Test
  void answersCanBePutInAnOrder() throws Exception {
    // There may have to be more runs, as chance decides what they do.
    for (int i = 0; i < MAX_ROUNDS && StoreScenario.growths() < SCENARIOS / 4; i++) {
      new StressOptions()
          .verifier(StoreVerifier.class)
          .iterations(SCENARIOS)
          .invocationsPerIteration(80)
          .threads(3)
          .actorsBefore(2)
          .actorsPerThread(4)
          .actorsAfter(3)
          .check(StoreScenario.class);
      StoreScenario.closeShared();
    }
    assertThat(StoreScenario.growths()).isAtLeast(SCENARIOS / 4);
  }
}
