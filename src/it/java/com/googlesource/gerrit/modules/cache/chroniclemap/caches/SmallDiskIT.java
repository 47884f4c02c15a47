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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static com.google.common.truth.Truth.assertThat;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.nio.file.Path;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Full and read-only disks: no request fails, waits or is answered wrong. */
@Timeout(120)
class SmallDiskIT {
  @TempDir Path temp;

  @ParameterizedTest
  @CsvSource({
    "full, 8k",
    "small, 2m",
    "fills, 23m",
    "fills-all, 14m",
    "filled, 4m",
    "read-only, 2m",
    "read-only-store, 4m"
  })
  void requestsAreAnswered(String state, String size) throws Exception {
    try (ChildJvm child =
        ChildJvm.startOnSmallDisk(temp, size, SmallDiskMain.class, temp.resolve("disk"), state)) {
      assertThat(child.finish()).contains("done");
    }
  }
}
