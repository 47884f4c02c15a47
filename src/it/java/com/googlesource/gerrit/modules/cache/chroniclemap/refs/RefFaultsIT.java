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

import static com.google.common.truth.Truth.assertThat;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * On a disk that is full, or can't be written to, refs stay all old or all new, no lock is left,
 * and all goes on when there is room again. More changes: {@code -Drefs.faults=20000}.
 */
class RefFaultsIT {
  private static final int CHANGES = Integer.getInteger("refs.faults", 400);
  private static final Pattern COUNTS = Pattern.compile("done=(\\d+) refused=(\\d+) failed=(\\d+)");

  @TempDir Path temp;

  @ParameterizedTest
  @ValueSource(ints = {1000, 0})
  void aDiskThatIsFullOrReadOnlyLeavesAllOrNothing(int maxLooseBatch) throws Exception {
    try (ChildJvm child =
        ChildJvm.startOnSmallDisk(
            temp,
            "3m",
            RefFaultsMain.class,
            temp.resolve("disk"),
            Long.getLong("refs.seed", 1),
            maxLooseBatch,
            CHANGES)) {
      List<String> lines = child.finish();
      System.out.println("RefFaultsIT: " + maxLooseBatch + " " + lines);
      Matcher counts = COUNTS.matcher(lines.getLast());
      assertThat(counts.matches()).isTrue();
      assertThat(Integer.parseInt(counts.group(1))).isGreaterThan(CHANGES / 20);
      assertThat(Integer.parseInt(counts.group(3))).isGreaterThan(CHANGES / 20);
    }
  }
}
