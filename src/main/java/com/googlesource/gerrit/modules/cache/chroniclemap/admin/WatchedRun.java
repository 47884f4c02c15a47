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

import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * A run of long work on a thread of its own, as the calling thread may be interrupted, and an
 * interrupt would close the file that the work reads.
 */
final class WatchedRun implements Progress {
  /**
   * The progress.
   *
   * @param total all steps; 0 until they are known
   */
  record Steps(int done, int total) {}

  volatile Steps steps = new Steps(0, 0);

  /** Whether it has begun, so that its end will be noted. */
  volatile boolean begun;

  private volatile boolean cancelled;

  @Override
  public void step(int done, int total) {
    steps = new Steps(done, total);
  }

  @Override
  public boolean isCancelled() {
    return cancelled;
  }

  /**
   * Runs the work and waits for its end. An interrupt cancels the work, which then ends after its
   * current step.
   *
   * @throws Exception what the work throws
   */
  <T> T run(String name, Callable<T> work) throws Exception {
    FutureTask<T> future = new FutureTask<>(work);
    Thread unused = Thread.ofPlatform().daemon().name(name).start(future);
    while (true) {
      try {
        return future.get();
      } catch (InterruptedException e) {
        cancelled = true;
      } catch (ExecutionException e) {
        Throwables.throwIfInstanceOf(e.getCause(), Exception.class);
        throw (Error) e.getCause();
      }
    }
  }
}
