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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import java.io.IOException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Keeps requests away from a server that does not answer. After a failure nobody asks the server
 * until a probe in the background has been answered. That takes a few round trips if the server is
 * well, so a single failure costs a request one time-out, and the next ones nothing.
 *
 * <p>A server may answer probes and fail all else. So the rate of failures is watched, too: if more
 * than {@link #TOO_MANY} of the requests of late have failed, probes wait as long as if the server
 * were dead. It is the rate that counts and not the number, as a healthy server under load also has
 * failures. Those that happen at the same time count once.
 *
 * <p>Safe for any thread.
 */
final class Breaker {
  /** Asks the server for something small. */
  interface Probe {
    void run() throws IOException;
  }

  private static final double TOO_MANY = 0.2;

  /** A request counts for so much of the rate; about the last 20 decide. */
  private static final double WEIGHT = 0.05;

  static final long FIRST_WAIT_MILLIS = 250;
  static final long LONGEST_WAIT_MILLIS = 30_000;

  private final Probe probe;
  private final ScheduledExecutorService timer;

  private volatile boolean isClosed;
  private volatile double failureRate;

  // Guarded by this.
  private long waitMillis = FIRST_WAIT_MILLIS;
  private long openings;
  private boolean hasEnded;

  /** Makes a breaker that is open; see {@link #begin}. */
  Breaker(Probe probe, ScheduledExecutorService timer) {
    this.probe = probe;
    this.timer = timer;
  }

  /** Has the server probed for the first time. */
  void begin() {
    probeIn(0);
  }

  /** Whether the server may be asked. */
  boolean isClosed() {
    return isClosed;
  }

  /** Waits until the server may be asked. Only for threads for which nobody waits. */
  synchronized void awaitClosed() throws InterruptedException {
    while (!isClosed) {
      if (hasEnded) {
        throw new InterruptedException("the process ends");
      }
      wait();
    }
  }

  /** Counts a request that was answered. */
  void succeeded() {
    // Lost updates of concurrent requests do no harm.
    double rate = failureRate;
    failureRate = rate - WEIGHT * rate;
  }

  /**
   * Counts a request that failed, and keeps others from asking.
   *
   * @param openings those before the request began: a failure that only comes to light after the
   *     server was given up and probed says nothing new
   */
  synchronized void failed(long openings) {
    if (!isClosed || openings != this.openings) {
      return;
    }
    isClosed = false;
    this.openings++;
    failureRate += WEIGHT * (1 - failureRate);
    probeIn(failureRate > TOO_MANY ? longerWait() : 0);
  }

  private synchronized long longerWait() {
    long wait = waitMillis;
    waitMillis = Math.min(2 * wait, LONGEST_WAIT_MILLIS);
    return wait;
  }

  private void probeIn(long millis) {
    try {
      Future<?> unused = timer.schedule(this::probe, millis, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      // The process ends.
    }
  }

  private void probe() {
    try {
      probe.run();
    } catch (IOException | RuntimeException | Error e) {
      probeIn(longerWait());
      return;
    }
    close();
  }

  private synchronized void close() {
    if (hasEnded) {
      return;
    }
    if (failureRate <= TOO_MANY) {
      waitMillis = FIRST_WAIT_MILLIS;
    }
    isClosed = true;
    notifyAll();
  }

  /** Keeps everybody from asking, for good. */
  synchronized void end() {
    hasEnded = true;
    isClosed = false;
    notifyAll();
  }

  synchronized boolean hasEnded() {
    return hasEnded;
  }

  /** How often the server was kept from being asked. */
  synchronized long openings() {
    return openings;
  }
}
