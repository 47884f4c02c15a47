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

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.FlightWaits.Flight;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * Lets concurrent callers of one key share one computation. Needed only where the heap tier is off:
 * Gerrit then answers with a cache that calls its loader each time.
 *
 * <p>A caller computes for itself, as with Gerrit's own, where it can't share: where waiting would
 * not end (see {@link FlightWaits}), and where the computation it waited for failed, which may be
 * for a reason of the other caller's own, such as a deadline.
 */
final class SingleFlight<K, T> {
  /** One for the process: threads may wait for each other in several caches. */
  private static final FlightWaits WAITS = new FlightWaits(Duration.ofMinutes(1));

  private final ConcurrentHashMap<K, Flight<T>> flights = new ConcurrentHashMap<>();
  private final FlightWaits waits;

  SingleFlight() {
    this(WAITS);
  }

  SingleFlight(FlightWaits waits) {
    this.waits = waits;
  }

  /**
   * Computes, or waits for the caller that is computing.
   *
   * @throws Exception what the computation threw
   */
  T join(K key, Callable<T> computation) throws Exception {
    return join(key, flight -> true, computation);
  }

  /**
   * As {@link #join}, but never with the result of a computation that may have begun before.
   *
   * @param since a time of {@link System#nanoTime}
   * @throws Exception what the computation threw
   */
  T joinSince(K key, long since, Callable<T> computation) throws Exception {
    return join(key, flight -> flight.begun - since > 0, computation);
  }

  private T join(K key, Predicate<Flight<T>> isGoodEnough, Callable<T> computation)
      throws Exception {
    while (true) {
      Flight<T> mine = new Flight<>();
      Flight<T> other = flights.putIfAbsent(key, mine);
      if (other == null) {
        return fly(key, mine, computation);
      }
      if (!waits.await(other)) {
        return computation.call();
      }
      if (isGoodEnough.test(other)) {
        return other.result.isCompletedExceptionally()
            ? computation.call()
            : other.result.resultNow();
      }
      // It is gone, now that it has ended, so this can't go on for ever.
    }
  }

  private T fly(K key, Flight<T> flight, Callable<T> computation) throws Exception {
    // Removed before it is completed: who saw its result must not meet it again.
    try {
      T result = computation.call();
      flights.remove(key, flight);
      flight.result.complete(result);
      return result;
    } catch (Exception | Error e) {
      flights.remove(key, flight);
      flight.result.completeExceptionally(e);
      throw e;
    }
  }
}
