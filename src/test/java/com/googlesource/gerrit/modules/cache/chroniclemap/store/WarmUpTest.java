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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChronicleRuntime;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import org.junit.jupiter.api.Test;

final class WarmUpTest {
  @Test
  void usesAMapInMemory() {
    RecordMapBuilder.warmUp();
  }

  @Test
  void runsOnAThreadOfItsOwn() {
    StoreDirectory.warmUp();
    StoreDirectory.warmUp();

    assertThat(
            Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains("warm-up"))
                .count())
        .isAtMost(1);
  }

  @Test
  void diskCanBeAllocatedAfterIt() {
    assertThat(ChronicleRuntime.allocatesDisk()).isTrue();
  }
}
