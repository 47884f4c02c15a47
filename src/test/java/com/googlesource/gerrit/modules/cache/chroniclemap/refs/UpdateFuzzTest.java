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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertWithMessage;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random updates of few names that are in each other's way, the same ones to both: after each step
 * all that can be seen is compared.
 *
 * <p>For longer runs {@code -Drefs.updates.steps=5000 -Drefs.updates.seed=7}.
 */
@Tag("locale")
class UpdateFuzzTest extends RefsParity {
  private static final int STEPS = Integer.getInteger("refs.updates.steps", 30);
  private static final long SEED = Long.getLong("refs.updates.seed", 9);

  @ParameterizedTest
  @CsvSource({"true, always", "true, after_open", "false, always", "true, never"})
  void theSameOfBoth(boolean bare, String trust) throws Exception {
    open(bare, trust);
    RandomSteps steps = new RandomSteps(new Random(SEED));
    List<String> done = new ArrayList<>();
    for (int i = 0; i < STEPS; i++) {
      // Chosen before either is touched.
      String step = steps.next(jgit().values());
      done.add(step);
      // The last ones are enough to see what led there.
      List<String> last = done.subList(Math.max(0, done.size() - 12), done.size());
      String when = "seed " + SEED + ", step " + i + ", " + String.join(";\n", last) + "\n";
      try {
        alike(script(step));
        compareState(when, i % 10 == 9);
      } catch (AssertionError e) {
        throw new AssertionError(when + e.getMessage(), e);
      }
    }
    assertWithMessage("steps").that(done).hasSize(STEPS);
  }
}
