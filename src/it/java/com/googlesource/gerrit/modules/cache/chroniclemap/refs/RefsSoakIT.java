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

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A short run of the second half of {@code bin/soak}, which runs as long as one likes. */
@Timeout(600)
class RefsSoakIT {
  private static final long SECONDS = 15;

  @TempDir Path temp;

  @Test
  void noAnswerIsWrong() throws Exception {
    RefsSoak soak = new RefsSoak(/* seed= */ 1, temp.resolve("soak"), System.out);
    // On a busy machine, nothing may have been packed in that time.
    do {
      soak.run(TimeUnit.SECONDS.toNanos(SECONDS));
    } while (soak.comparisons() == 0 || soak.packs() == 0);
  }
}
