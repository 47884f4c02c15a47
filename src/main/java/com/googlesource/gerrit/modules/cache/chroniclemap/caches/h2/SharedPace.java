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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A limit on the load that an import puts on the machine. It bounds the share of one processor,
 * measured by the CPU time of the thread so that busy processors hardly slow the import down; the
 * share of the disk's time, which is half; and the bytes read per second.
 *
 * <p>For one thread.
 */
final class SharedPace {
  private static final long WORK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** The longest rest, so that a pause of the whole machine is not made up for. */
  private static final long MAX_REST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** How often to check whether the import was cancelled. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final CountDownLatch stopped;

  /** The import takes the n-th part of one processor. */
  private final int part;

  private final long bytesPerSecond;

  /** When the current work began; below, what it has read and its CPU time at that moment. */
  private long begun;

  private long bytes;
  private long cpuBegun;

  private SharedPace(CountDownLatch stopped, int part, long bytesPerSecond) {
    this.stopped = stopped;
    this.part = part;
    this.bytesPerSecond = bytesPerSecond;
  }

  private static long cpu() {
    return THREADS.isCurrentThreadCpuTimeSupported() && THREADS.isThreadCpuTimeEnabled()
        ? THREADS.getCurrentThreadCpuTime()
        : System.nanoTime();
  }

  /**
   * Makes a pace that nobody notices. A GB of values of 8 KB takes less than two minutes; one of
   * small values takes longer.
   */
  static SharedPace unnoticed(CountDownLatch stopped) {
    return new SharedPace(stopped, 8, 10 << 20);
  }

  /** Makes a pace for a command, for whose end somebody waits. */
  static SharedPace brisk(CountDownLatch stopped) {
    return new SharedPace(stopped, 4, 32 << 20);
  }

  /** Makes a pace without limits. */
  static SharedPace none(CountDownLatch stopped) {
    return new SharedPace(stopped, 1, Long.MAX_VALUE);
  }

  /** Starts the measurement of work. */
  void begin() {
    begun = System.nanoTime();
    cpuBegun = cpu();
    bytes = 0;
  }

  /**
   * Rests if necessary. Must be called after each row.
   *
   * @param read bytes of the row
   * @return false if the import was cancelled
   */
  boolean keep(int read, Progress progress) throws InterruptedException {
    bytes += read;
    long passed = System.nanoTime() - begun;
    if (passed < WORK_NANOS) {
      return goesOn(progress);
    }
    long atLeast = (long) ((double) bytes / bytesPerSecond * TimeUnit.SECONDS.toNanos(1));
    long cpu = cpu() - cpuBegun;
    // Rests as long as it has waited for the disk, so that others can use the disk too.
    long rest = part == 1 ? 0 : Math.max(part * cpu - passed, passed - cpu);
    rest = Math.min(rest, MAX_REST_NANOS);
    return await(Math.max(0, Math.max(rest, atLeast - passed)), progress);
  }

  /**
   * Waits without counting the time as work.
   *
   * @return false if the import was cancelled
   */
  boolean await(long nanos, Progress progress) throws InterruptedException {
    long end = System.nanoTime() + nanos;
    for (long left = nanos; left > 0 && goesOn(progress); left = end - System.nanoTime()) {
      boolean unused = stopped.await(Math.min(left, LOOK_NANOS), TimeUnit.NANOSECONDS);
    }
    begin();
    return goesOn(progress);
  }

  private boolean goesOn(Progress progress) {
    return stopped.getCount() > 0 && !progress.isCancelled();
  }
}
