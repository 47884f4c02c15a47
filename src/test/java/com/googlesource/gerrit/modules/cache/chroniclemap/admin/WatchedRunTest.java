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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Long work that is interrupted, and fails. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class WatchedRunTest {
  private final WatchedRun task = new WatchedRun();

  /** The work must not feel the interrupt: that would close the file it reads. */
  @Test
  void anInterruptCancelsAndTheWorkEndsByItself() throws Exception {
    Thread.currentThread().interrupt();
    boolean interrupted =
        task.run(
            "work",
            () -> {
              while (!task.isCancelled()) {
                Thread.onSpinWait();
              }
              return Thread.currentThread().isInterrupted();
            });
    assertThat(interrupted).isFalse();
    assertThat(task.isCancelled()).isTrue();
  }

  @Test
  void aFailureIsTheCallers() {
    UncheckedIOException failure = new UncheckedIOException(new IOException("no disk"));
    UncheckedIOException thrown =
        assertThrows(
            UncheckedIOException.class,
            () ->
                task.run(
                    "work",
                    () -> {
                      throw failure;
                    }));
    assertThat(thrown).isSameInstanceAs(failure);
  }
}
