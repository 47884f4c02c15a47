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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import com.google.common.base.Throwables;
import com.google.common.util.concurrent.Uninterruptibles;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Threads without interrupts, in which reftables are opened, and JGit reads and writes them, and in
 * which a file is read for a thread that was interrupted. An interrupt closes the channel of a
 * file, for example when an SSH client disconnects; that is no fault of the file. JGit opens each
 * table once. With a closed channel it could not update any ref of the repository until a
 * compaction by others or a restart.
 *
 * <p>No thread waits for the task of another, whose disk may hang.
 */
public final class UninterruptedThreads {
  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(
          Thread.ofPlatform().daemon().name("cache-chroniclemap-refs-read-", 0).factory());

  /** Whether the current thread is one of these. */
  private static final ThreadLocal<Boolean> IS_ONE = ThreadLocal.withInitial(() -> false);

  private UninterruptedThreads() {}

  /**
   * Runs a task and waits for its end, even if the calling thread is interrupted. A task that is
   * called by another one, as by a listener of JGit's events, runs in the same thread, which may
   * hold JGit's lock.
   */
  public static <T> T call(Callable<T> task) throws IOException {
    try {
      if (IS_ONE.get()) {
        return task.call();
      }
      return Uninterruptibles.getUninterruptibly(start(task));
    } catch (ExecutionException e) {
      throw asIOException(e.getCause());
    } catch (Exception e) {
      throw asIOException(e);
    }
  }

  /** Starts a task, for which the caller waits itself, or not at all. */
  public static <T> Future<T> start(Callable<T> task) {
    return THREADS.submit(
        () -> {
          IS_ONE.set(true);
          return task.call();
        });
  }

  private static IOException asIOException(Throwable cause) throws IOException {
    Throwables.throwIfInstanceOf(cause, IOException.class);
    Throwables.throwIfUnchecked(cause);
    return new IOException(cause);
  }
}
