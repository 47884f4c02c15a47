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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import static com.google.common.truth.Truth.assertThat;

import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files that were changed at random, parsed here and by JGit. Some thousand in a normal run; {@code
 * -Drefs.fuzz.rounds=N} for more, {@code -Drefs.fuzz.seed=N} for others.
 */
class PackedRefsFuzzTest {
  private static final int ROUNDS = Integer.getInteger("refs.fuzz.rounds", 4000);
  private static final long SEED = Long.getLong("refs.fuzz.seed", 1);

  @TempDir Path folder;

  @Test
  void changedAtRandom() throws Exception {
    try (Differential differential = new Differential(folder)) {
      int accepted = 0;
      for (int round = 0; round < ROUNDS; round++) {
        long seed = SEED * 1_000_003 + round;
        Random random = new Random(seed);
        try {
          byte[] text = PackedRefsSeeds.start(random);
          ParsedRefs list = null;
          for (int step = random.nextInt(4); step >= 0; step--) {
            ParsedRefs next = differential.check(text, list);
            if (next != null) {
              list = next;
              accepted++;
            }
            text = PackedRefsSeeds.change(text, random);
          }
        } catch (AssertionError | RuntimeException e) {
          throw new AssertionError("seed " + seed, e);
        }
      }
      // Else this would test hardly anything.
      assertThat(accepted).isGreaterThan(ROUNDS / 2);
    }
  }
}
