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

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Hundreds of damaged files: each answer is right or none, and the process lives. */
@Timeout(120)
class DamageIT {
  @TempDir Path temp;

  @ParameterizedTest
  @CsvSource({
    // limit of the store, first and last seed
    "196608, 0, 250",
    "1048576, 1000, 1200",
    "4194304, 2000, 2100"
  })
  void noDamageEndsTheProcessOrAnswersWrong(long limit, int from, int to) throws Exception {
    try (ChildJvm child =
        ChildJvm.start(temp, DamageMain.class, temp.resolve("stores"), limit, from, to)) {
      List<String> ways = child.finish();
      assertThat(ways).hasSize(to - from);
    }
  }
}
