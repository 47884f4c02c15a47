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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * The connection of one thread to the log. After a failure, the next attempt waits, twice as long
 * each time, up to half a minute. For that thread; {@link #close} and {@link #failure} are for
 * others, too.
 */
final class Reconnection implements AutoCloseable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final long MIN_PAUSE_MILLIS = 100;
  private static final long MAX_PAUSE_MILLIS = TimeUnit.SECONDS.toMillis(30);

  private static final long TROUBLE_MILLIS = 1000;

  /** A part of a thread's work. */
  interface Step {
    void run() throws IOException, InterruptedException;
  }

  private final RecordLog.Opener opener;
  private final SharedCounts counts;
  private final CountDownLatch stopped;
  private long pause = MIN_PAUSE_MILLIS;

  /** Whether a call has ever succeeded. */
  private boolean wasOpen;

  @Nullable private volatile RecordLog log;

  /** Why there is no connection, for people; empty if there is one, or none was needed yet. */
  private volatile String failure;

  /**
   * Makes one that is not connected.
   *
   * @param state what {@link #failure} says until the first call
   * @param stopped ends all pauses
   */
  Reconnection(RecordLog.Opener opener, SharedCounts counts, String state, CountDownLatch stopped) {
    this.opener = opener;
    this.counts = counts;
    this.failure = state;
    this.stopped = stopped;
  }

  String failure() {
    return failure;
  }

  /**
   * Repeats a step until the end, with a pause after each failure. Only an interrupt ends this;
   * other failures, such as a lack of memory, do not.
   */
  void repeat(Step step) {
    try {
      while (stopped.getCount() > 0) {
        try {
          step.run();
        } catch (IOException | RuntimeException | Error e) {
          fail(e);
        }
      }
    } catch (InterruptedException e) {
      logger.atFine().withCause(e).log("The sharing of values was interrupted");
    } finally {
      close();
    }
  }

  /** Notes that a call has failed, and waits before the next attempt. */
  private void fail(Throwable e) throws InterruptedException {
    try {
      if (!(e instanceof IOException)) {
        logger.atSevere().withCause(e).atMostEvery(10, TimeUnit.MINUTES).log(
            "Values could not be shared");
        var unused = stopped.await(TROUBLE_MILLIS, TimeUnit.MILLISECONDS);
      }
      close();
      if (stopped.getCount() == 0) {
        return;
      }
      counts.failures.increment();
      failure = e.getMessage() == null ? e.toString() : e.getMessage();
      logger.atWarning().atMostEvery(10, TimeUnit.MINUTES).log(
          "Values are not shared with other servers for now, so each server computes all of them: %s",
          failure);
      // Not all servers at the same moment, when the log is back.
      long millis = pause / 2 + ThreadLocalRandom.current().nextLong(pause / 2 + 1);
      pause = Math.min(2 * pause, MAX_PAUSE_MILLIS);
      var unused = stopped.await(millis, TimeUnit.MILLISECONDS);
    } catch (RuntimeException | Error again) {
      var unused = stopped.await(TROUBLE_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * Returns the connection, or makes one.
   *
   * @throws IOException if the server cannot be reached
   */
  RecordLog get() throws IOException {
    RecordLog open = log;
    if (open == null) {
      open = opener.open();
      log = open;
      if (stopped.getCount() == 0) {
        // close() may have come before the connection was there.
        open.close();
      }
    }
    return open;
  }

  /** Notes that a call has succeeded. */
  void succeeded() {
    if (!failure.isEmpty()) {
      if (wasOpen) {
        counts.reconnects.increment();
      }
      logger.atInfo().atMostEvery(1, TimeUnit.MINUTES).log(
          "Connected to the server of shared values");
    }
    wasOpen = true;
    failure = "";
    pause = MIN_PAUSE_MILLIS;
  }

  @Override
  public void close() {
    RecordLog open = log;
    log = null;
    if (open != null) {
      open.close();
    }
  }
}
