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
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A short run of {@code bin/soak}, which runs as long as one likes. */
@Timeout(3600)
class SoakIT {
  private static final long SECONDS = 15;
  private static final int KILLS = Integer.getInteger("soak.kills", 25);

  @TempDir Path temp;

  private Soak soak() {
    return new Soak(/* seed= */ 1, temp.resolve("soak"), System.out);
  }

  @Test
  void noAnswerIsWrong() throws Exception {
    Soak soak = soak();
    // On a busy machine, all processes may have been killed before they had read anything.
    do {
      soak.run(TimeUnit.SECONDS.toNanos(SECONDS));
    } while (soak.found() == 0);
  }

  /** While files are opened, while they take disk, and while what was invalidated is emptied. */
  @Test
  void noKillBringsAnOldValueBack() throws Exception {
    Soak soak = soak();
    soak.kill(KILLS);
    assertThat(soak.found()).isGreaterThan(0);
  }
}
