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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads of all stores of a folder. Two, or one for each eight processors, open files and
 * write what is queued. Two do what takes long and can wait, such as a rebuild or the check of a
 * file. One waits for the disk. One is the timer, so that no rebuild delays what is due at a
 * certain time.
 */
final class StoreThreads {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final int WRITERS = Math.max(2, Runtime.getRuntime().availableProcessors() / 8);
  private static final int UPKEEP = 2;
  private static final long STOP_SECONDS = 30;

  /** How long {@link #stop} waits at least for interrupted tasks, most of which end at once. */
  private static final long MIN_STOP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final ExecutorService writers =
      Executors.newFixedThreadPool(WRITERS, named("cache-chroniclemap-writer-"));
  private final ExecutorService upkeep =
      Executors.newFixedThreadPool(UPKEEP, named("cache-chroniclemap-upkeep-"));
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(named("cache-chroniclemap-timer-"));

  /** Runs tasks that wait for the disk and that no caller waits for. */
  private final ThreadPoolExecutor settler =
      (ThreadPoolExecutor) Executors.newFixedThreadPool(1, named("cache-chroniclemap-settler-"));

  static ThreadFactory named(String prefix) {
    return Thread.ofPlatform().daemon().name(prefix, 1).factory();
  }

  /** Queues a task that opens a file or writes; returns false if the threads were stopped. */
  boolean write(Runnable task) {
    return unlessStopped(() -> writers.execute(task));
  }

  /** Queues a task that takes long; returns false if the threads were stopped. */
  boolean maintain(Runnable task) {
    return unlessStopped(() -> upkeep.execute(task));
  }

  /** Queues a task that waits for the disk; drops it if the threads were stopped. */
  void settle(Runnable task) {
    boolean unused = unlessStopped(() -> settler.execute(() -> doOnce(task)));
  }

  private static boolean unlessStopped(Runnable queueing) {
    try {
      queueing.run();
      return true;
    } catch (RejectedExecutionException e) {
      logger.atFine().log("the threads have stopped");
      return false;
    }
  }

  /** Runs a short task after a delay, unless the threads are stopped before. */
  void later(Runnable task, long seconds) {
    boolean unused =
        unlessStopped(
            () -> {
              var unusedToo = timer.schedule(task, seconds, TimeUnit.SECONDS);
            });
  }

  /** Repeats a task until the threads are stopped; other tasks of the timer wait for it. */
  void repeat(Runnable task, long seconds) {
    var unused =
        timer.scheduleWithFixedDelay(() -> doOnce(task), seconds, seconds, TimeUnit.SECONDS);
  }

  private static void doOnce(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      // Rethrown, it would end the repetition.
      logger.atSevere().withCause(e).log("a periodic task failed");
    }
  }

  /**
   * Stops the threads; returns when they have ended, or after a while. A thread that creates a
   * large file may run on; {@link FolderDisk} prevents it from doing harm.
   *
   * @param deadline until when to wait for long tasks, about; on the clock of {@link
   *     System#nanoTime}
   */
  void stop(long deadline) {
    timer.shutdownNow();
    upkeep.shutdownNow();
    writers.shutdown();
    // Not waited for: the disk may need long, and these tasks do nothing to files that are given
    // back. Nor interrupted: what they are writing would fail as if the disk had failed.
    settler.shutdown();
    settler.getQueue().clear();
    try {
      if (!writers.awaitTermination(STOP_SECONDS, TimeUnit.SECONDS)) {
        logger.atWarning().log("the threads of the stores did not stop in %d s", STOP_SECONDS);
      }
      long nanos = Math.max(deadline - System.nanoTime(), MIN_STOP_NANOS);
      boolean timerEnded = timer.awaitTermination(nanos, TimeUnit.NANOSECONDS);
      nanos = Math.max(deadline - System.nanoTime(), MIN_STOP_NANOS);
      if (!upkeep.awaitTermination(nanos, TimeUnit.NANOSECONDS) || !timerEnded) {
        logger.atInfo().log("a file that was being made is given up");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
