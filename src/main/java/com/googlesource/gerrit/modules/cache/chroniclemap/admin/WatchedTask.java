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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Does long work on a thread of its own, while the one that asked for it shows how far it is.
 *
 * <p>Two threads for two reasons. Whoever asked may be interrupted, and an interrupt would close
 * the file that the work reads. And what shows the progress may wait for a slow client, which must
 * not hold up a thread of the stores.
 */
final class WatchedTask implements Progress {
  private static final long LOOK_MILLIS = 200;

  /** Is told now and then how far the work is. */
  interface Watcher {
    void look(int done, int total);
  }

  private record Steps(int done, int total) {}

  private volatile Steps steps = new Steps(0, 0);
  private volatile boolean cancelled;

  @Override
  public void step(int done, int total) {
    steps = new Steps(done, total);
  }

  @Override
  public boolean isCancelled() {
    return cancelled;
  }

  /** Asks the work to end, for good. */
  void cancel() {
    cancelled = true;
  }

  /**
   * Does the work and returns when it has ended. An interrupt cancels it; the work then ends by
   * itself after its current step.
   */
  <T> T run(String name, Callable<T> work, Watcher watcher) throws Exception {
    steps = new Steps(0, 0);
    FutureTask<T> future = new FutureTask<>(work);
    Thread thread = new Thread(future, name);
    thread.setDaemon(true);
    thread.start();
    while (true) {
      try {
        return future.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        Steps now = steps;
        watcher.look(now.done, now.total);
      } catch (InterruptedException e) {
        cancel();
      } catch (ExecutionException e) {
        Throwables.throwIfInstanceOf(e.getCause(), Exception.class);
        throw e;
      }
    }
  }
}
