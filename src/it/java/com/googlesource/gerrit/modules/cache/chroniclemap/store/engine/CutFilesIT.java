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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Mapped files that can't be read any more do not end the process. */
@Timeout(120)
class CutFilesIT {
  @TempDir Path temp;

  @Test
  void aBadBlockUnderAMappedFileIsSurvived() throws Exception {
    try (ChildJvm child = ChildJvm.start(temp, CutFilesMain.class, temp)) {
      List<String> lines = child.finish();
      assertThat(lines).contains("checksum error");
      assertThat(lines.stream().filter("closed"::equals).count()).isEqualTo(15);
    }
  }
}
