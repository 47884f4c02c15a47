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

package com.googlesource.gerrit.modules.cache.chroniclemap.repositories;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.gerrit.server.config.SitePaths;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The memory for parsed ref lists of a server that sets no limit. */
class DefaultMemoryLimitTest {
  private static final long MB = 1 << 20;
  private static final long LEAST = 256 * MB;

  @ParameterizedTest
  @CsvSource({
    // All in megabytes: machine, heap, direct memory, limit
    "65536, 24576, 24576, 5120",
    "65536, 49152, 49152, 2048",
    "65536,  4096,  4096, 1024",
    "16384,  8192,  8192, 1024",
    "65536, 24576,  2048,  512",
    // Small machines and containers, or nearly all of it for the heap
    "65536, 24576,   512,  256",
    "65536, 65000, 65000,  256",
    " 4096,  3072,  3072,  256",
    " 1024,   256,   256,  256",
    " 1024,  4096,  4096,  256",
  })
  void itFollowsTheMachine(long machine, long heap, long direct, long limit) {
    assertThat(PackedRefsConfig.defaultMemoryLimit(machine * MB, heap * MB, direct * MB))
        .isEqualTo(limit * MB);
  }

  @Test
  void fiveRepositoriesOfTenMillionRefsFit() {
    long lists = 5 * 31 * 10_000_000L;
    for (long heap = 24; heap <= 48; heap++) {
      assertThat(PackedRefsConfig.defaultMemoryLimit(64L << 30, heap << 30, heap << 30))
          .isAtLeast(lists);
    }
  }

  @Test
  void allOfItIsLessThanWhatIsThere() {
    for (long machine = 1 << 10; machine <= 1 << 20; machine *= 2) {
      for (long heap = 256; heap < machine; heap += heap / 3) {
        long limit = PackedRefsConfig.defaultMemoryLimit(machine * MB, heap * MB, heap * MB);
        if (limit > LEAST) {
          // Lists, indexes, a list of this size beside them, and one that is still to be written.
          long most = limit + limit / 2 + limit + limit;
          String which = machine + " MB, heap " + heap + " MB";
          assertWithMessage(which).that(most).isLessThan((machine - heap) * MB / 2);
          assertWithMessage(which).that(most).isLessThan(heap * MB);
        }
      }
    }
  }

  @Test
  void thisProcessHasOne(@TempDir Path site) throws Exception {
    long limit = new PackedRefsConfig(new Config(), new SitePaths(site)).settings().memoryLimit();
    assertThat(limit).isAtLeast(LEAST);
    boolean setsDirectMemory =
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
            .anyMatch(flag -> flag.startsWith("-XX:MaxDirectMemorySize"));
    if (!setsDirectMemory) {
      assertThat(limit).isAtMost(Math.max(LEAST, Runtime.getRuntime().maxMemory() / 4));
    }
  }
}
