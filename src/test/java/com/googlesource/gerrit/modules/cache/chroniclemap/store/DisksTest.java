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

import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class DisksTest {
  /** Otherwise a call would go past a disk on which a test has it fail. */
  @Test
  void theFaultyOneHasEachOperation() {
    for (Method operation : Disk.class.getDeclaredMethods()) {
      if (Modifier.isPublic(operation.getModifiers()) && !operation.getName().equals("setLocked")) {
        assertWithMessage("%s", operation)
            .that(
                Arrays.stream(FaultyDisk.class.getDeclaredMethods())
                    .anyMatch(
                        own ->
                            own.getName().equals(operation.getName())
                                && Arrays.equals(
                                    own.getParameterTypes(), operation.getParameterTypes())))
            .isTrue();
      }
    }
  }
}
