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
 * Keeps an import from taking more of the machine than it should: a part of one processor at most,
 * by the processor time of its thread, so that it takes hardly less where the processors are busy;
 * half of the time of a disk at most; and so many bytes a second at most.
 *
 * <p>For one thread.
 */
final class SharedPace {
  private static final long WORK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** A moment in which the machine stood still is not to be made up for. */
  private static final long LONGEST_REST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** How often it is looked whether to break off. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final CountDownLatch stopped;

  /** It takes the n-th part of one processor. */
  private final int part;

  private final long bytesPerSecond;

  /** When it began to work, and what it has read and taken of a processor since. */
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
   * So that nobody notices: a GB of values of 8 KB takes less than two minutes, of small ones more.
   */
  static SharedPace unnoticed(CountDownLatch stopped) {
    return new SharedPace(stopped, 8, 10 << 20);
  }

  /** For who waits for it. */
  static SharedPace brisk(CountDownLatch stopped) {
    return new SharedPace(stopped, 4, 32 << 20);
  }

  /** As fast as it goes. */
  static SharedPace none(CountDownLatch stopped) {
    return new SharedPace(stopped, 1, Long.MAX_VALUE);
  }

  /** The work begins now. */
  void begin() {
    begun = System.nanoTime();
    cpuBegun = cpu();
    bytes = 0;
  }

  /**
   * To be called after each row; may rest.
   *
   * @param read bytes of the row
   * @return false if the work is to be broken off
   */
  boolean keep(int read, Progress progress) throws InterruptedException {
    bytes += read;
    long passed = System.nanoTime() - begun;
    if (passed < WORK_NANOS) {
      return goesOn(progress);
    }
    long atLeast = (long) ((double) bytes / bytesPerSecond * TimeUnit.SECONDS.toNanos(1));
    long cpu = cpu() - cpuBegun;
    // Where it waited for the disk it rests as long, so that others come to it.
    long rest = part == 1 ? 0 : Math.max(part * cpu - passed, passed - cpu);
    rest = Math.min(rest, LONGEST_REST_NANOS);
    return await(Math.max(0, Math.max(rest, atLeast - passed)), progress);
  }

  /**
   * Waits, which is no work.
   *
   * @return false if the work is to be broken off
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
