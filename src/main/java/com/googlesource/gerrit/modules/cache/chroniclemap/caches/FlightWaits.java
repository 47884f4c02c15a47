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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.gerrit.common.Nullable;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Who waits for whose flight, so that threads never wait for each other in a circle: a computation
 * may ask for another key, and that one's computation for this one.
 *
 * <p>A flight has one pilot, and a thread waits for one flight at a time, so who waits leads from a
 * thread along a single path. One lock makes it one step to look along that path and to become a
 * part of it: of two threads that would close a circle, the second one sees it. The lock is taken
 * only by who is about to wait, for as long as the path is.
 *
 * <p>Safe for any thread.
 */
final class FlightWaits {
  /** A computation that others may wait for. */
  static final class Flight<T> {
    final CompletableFuture<T> result = new CompletableFuture<>();
    final Thread pilot = Thread.currentThread();
    final long begun = System.nanoTime();
  }

  private final long patienceNanos;
  private final Map<Thread, Flight<?>> waiting = new HashMap<>();

  /**
   * @param patience for how long to wait at most. A pilot may be held up by something that is not
   *     seen here, such as a lock that a waiting thread holds.
   */
  FlightWaits(Duration patience) {
    this.patienceNanos = patience.toNanos();
  }

  /**
   * Waits for the end of a flight, whatever it is.
   *
   * @return whether it has ended; false if it would not, since its pilot waits for this thread, be
   *     it over others, or if patience is at its end
   */
  boolean await(Flight<?> flight) throws InterruptedException {
    Thread me = Thread.currentThread();
    synchronized (waiting) {
      if (waitsFor(flight, me)) {
        return false;
      }
      waiting.put(me, flight);
    }
    try {
      var unused = flight.result.get(patienceNanos, TimeUnit.NANOSECONDS);
      return true;
    } catch (ExecutionException e) {
      return true;
    } catch (TimeoutException e) {
      return false;
    } finally {
      synchronized (waiting) {
        waiting.remove(me);
      }
    }
  }

  /** Whether a flight can't end before a thread goes on. */
  private boolean waitsFor(@Nullable Flight<?> flight, Thread thread) {
    // Who waits for a flight that has ended is about to go on.
    while (flight != null && !flight.result.isDone()) {
      if (flight.pilot == thread) {
        return true;
      }
      flight = waiting.get(flight.pilot);
    }
    return false;
  }
}
