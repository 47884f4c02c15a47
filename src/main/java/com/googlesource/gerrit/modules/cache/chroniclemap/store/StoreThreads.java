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
import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The threads of all stores of a folder, and the only class of a store that gives them tasks.
 *
 * <ul>
 *   <li>Two, or one for each eight processors, write what is queued.
 *   <li>Each opening of a file has its own, as it may copy a large file of another limit.
 *   <li>Two maintain files, in short tasks: what takes long, such as the check of a file, runs
 *       {@linkplain #inSteps in steps} that queue again behind all others.
 *   <li>One fills files with what H2 held, one file after the other. It ends when it is not needed.
 *   <li>One waits for the disk.
 *   <li>One is the timer, which itself does nothing that may wait for a disk.
 * </ul>
 *
 * <p>A task that is not begun, because the threads were stopped or none can be started, changes
 * nothing: each method returns false then, and its caller takes back what it has noted. One thread
 * of each kind is started with the folder, and goes on if the system allows no others later.
 */
final class StoreThreads {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final int WRITERS = Math.max(2, Runtime.getRuntime().availableProcessors() / 8);
  private static final int UPKEEP = 2;
  private static final long STOP_SECONDS = 30;

  /** After how long a thread ends that no opening needs. */
  private static final long IDLE_SECONDS = 10;

  /** How many tasks run in parallel when all stores are closed: most of them wait for the disk. */
  private static final int MAX_CLOSERS = 16;

  /** How long {@link #stop} waits at least for interrupted tasks, most of which end at once. */
  private static final long MIN_STOP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Function<String, ThreadFactory> named;
  private final ThreadPoolExecutor writers;
  private final ThreadPoolExecutor upkeep;
  private final ThreadPoolExecutor openers;
  private final ThreadPoolExecutor filler;

  /** Runs tasks that wait for the disk and that no caller waits for. */
  private final ThreadPoolExecutor diskThread;

  private final ScheduledThreadPoolExecutor timer;

  /**
   * Starts the threads, as far as the system allows.
   *
   * @param named makes threads with a prefix of their names; {@link #named} but for tests
   */
  StoreThreads(Function<String, ThreadFactory> named) {
    this.named = named;
    this.writers = pool(WRITERS, "writer");
    this.upkeep = pool(UPKEEP, "upkeep");
    this.diskThread = pool(1, "disk");
    this.filler = pool(1, "import");
    filler.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    filler.allowCoreThreadTimeOut(true);
    this.timer = new ScheduledThreadPoolExecutor(1, threads("timer"));
    this.openers =
        new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            threads("opener"));
    for (ThreadPoolExecutor pool : List.of(writers, upkeep, diskThread, timer)) {
      boolean unused = isBegun(pool::prestartCoreThread);
    }
  }

  /** Threads that do not keep the process from ending. */
  static ThreadFactory named(String prefix) {
    return Thread.ofPlatform().daemon().name(prefix, 1).factory();
  }

  private ThreadFactory threads(String kind) {
    return named.apply("cache-chroniclemap-" + kind + "-");
  }

  private ThreadPoolExecutor pool(int size, String kind) {
    return new ThreadPoolExecutor(
        size, size, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), threads(kind));
  }

  /** Starts a thread of its own for a task; returns false if that is impossible. */
  static boolean start(String name, Runnable task) {
    return isBegun(() -> Thread.ofPlatform().daemon().name(name).start(task) != null);
  }

  /** Begins a task; returns false if the threads were stopped, or none can be started. */
  private static boolean isBegun(BooleanSupplier beginning) {
    try {
      boolean unused = beginning.getAsBoolean();
      return true;
    } catch (RejectedExecutionException e) {
      logger.atFine().log("the threads have stopped");
    } catch (OutOfMemoryError e) {
      // What Java throws where the system allows the process no further thread. Who needs the task
      // tries again, and nobody else must fail for it.
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.MINUTES).log(
          "cannot start a thread: see the limits of the server's processes (pids, nproc)");
    }
    return false;
  }

  private boolean begin(ThreadPoolExecutor pool, Runnable task) {
    Runnable guarded = () -> doOnce("all", task);
    // If it could not be started before.
    boolean unused = isBegun(timer::prestartCoreThread);
    return isBegun(() -> pool.submit(guarded) != null)
        // Without a further thread, those that run do it.
        || (pool.getPoolSize() > 0 && !pool.isShutdown() && pool.getQueue().offer(guarded));
  }

  /** Queues a task that writes; returns false if it will not run. */
  boolean write(Runnable task) {
    return begin(writers, task);
  }

  /** Queues a task that fills and opens a file; returns false if it will not run. */
  boolean fill(Runnable task) {
    return begin(filler, task);
  }

  /** Queues a task that maintains a file and does not take long; returns false if it cannot run. */
  boolean maintain(Runnable task) {
    return begin(upkeep, task);
  }

  /**
   * Repeats a step until it returns false, each time behind all other tasks. Leaves the disk to
   * others for two thirds of the time.
   */
  void inSteps(BooleanSupplier step) {
    boolean unused =
        maintain(
            () -> {
              long begun = System.nanoTime();
              if (step.getAsBoolean()) {
                long nanos = 2 * (System.nanoTime() - begun);
                boolean unusedToo = later(() -> inSteps(step), nanos, TimeUnit.NANOSECONDS);
              }
            });
  }

  /** Opens a file on a thread of its own, if there can be one; returns false if it cannot run. */
  boolean open(Runnable task) {
    return begin(openers, task) || maintain(task);
  }

  /** Queues a task that waits for the disk; drops it if it cannot run. */
  void onDiskThread(Runnable task) {
    boolean unused = begin(diskThread, task);
  }

  /** Runs a short task after a delay, unless the threads are stopped before. */
  boolean later(Runnable task, long delay, TimeUnit unit) {
    return isBegun(() -> timer.schedule(() -> doOnce("all", task), delay, unit) != null);
  }

  /** Maintains files by a task that is repeated until the threads are stopped. */
  void repeat(Runnable task, long seconds) {
    boolean unused =
        isBegun(
            () ->
                timer.scheduleWithFixedDelay(
                        () -> maintain(task), seconds, seconds, TimeUnit.SECONDS)
                    != null);
  }

  /** Runs a task whose failure does not keep others from being run. */
  static void doOnce(String cache, Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      // Rethrown, it would end the thread or the repetition.
      logger.atSevere().withCause(e).log("Cache %s: a background task failed", cache);
    }
  }

  /**
   * Runs a task of each store in parallel; returns when all are done, or after a while. Where no
   * thread can be started, this one runs those that have to be done however long they take.
   *
   * @param nanos how long to wait; Long.MAX_VALUE if all have to be done
   */
  void inParallel(List<Store> all, Consumer<Store> task, long nanos) {
    ThreadPoolExecutor closers = pool(Math.min(all.size(), MAX_CLOSERS), "closer");
    for (Store store : all) {
      Runnable once = () -> doOnce(store.name(), () -> task.accept(store));
      if (!begin(closers, once) && nanos == Long.MAX_VALUE) {
        once.run();
      }
    }
    closers.shutdown();
    boolean unused =
        Uninterruptibles.awaitTerminationUninterruptibly(closers, nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Stops the threads; returns when they have ended, or after a while. A thread that creates a
   * large file may run on; {@link Disk} prevents it from doing harm.
   *
   * @param deadline until when to wait for long tasks, about; on the clock of {@link
   *     System#nanoTime}
   */
  void stop(long deadline) {
    timer.shutdownNow();
    upkeep.shutdownNow();
    openers.shutdownNow();
    writers.shutdown();
    filler.shutdown();
    // Not waited for: the disk may need long, and these tasks do nothing to files that are given
    // back. Nor interrupted: what they are writing would fail as if the disk had failed.
    diskThread.shutdown();
    diskThread.getQueue().clear();
    try {
      if (!writers.awaitTermination(STOP_SECONDS, TimeUnit.SECONDS)) {
        logger.atWarning().log("the threads of the stores did not stop in %d s", STOP_SECONDS);
      }
      boolean ended = true;
      for (ThreadPoolExecutor pool : List.of(timer, upkeep, openers)) {
        long nanos = Math.max(deadline - System.nanoTime(), MIN_STOP_NANOS);
        ended &= pool.awaitTermination(nanos, TimeUnit.NANOSECONDS);
      }
      if (!ended) {
        logger.atInfo().log("a file that was being made is given up");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
