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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.pending;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Tickets, which tell whether a key was put or invalidated while a thread computed its value.
 *
 * <p>A key hashes to one of {@value #STRIPES} counters. A ticket is the number of the counter
 * (upper 16 bits) and its count (lower 48 bits). Each change of a key increments the counter, which
 * ends all its tickets: a loader that began before an invalidation cannot bring the old value back.
 * The tickets of other keys with the same counter end too. If a computed value of such a key is
 * still queued, it is dropped together with the older value of its key.
 *
 * <p>A thread may take a ticket in the middle of a change and still read the old value. Such a
 * ticket must never be current, neither during the change nor after. Therefore a change either ends
 * the tickets when its result becomes visible, under a lock that prevents the use of such a ticket;
 * or it is between {@link #begin} and {@link #end}, where no ticket that is taken is current.
 *
 * <p>Safe for any thread.
 */
public final class Tickets {
  private static final int STRIPES = 1024;
  private static final int COUNT_BITS = 48;
  private static final long COUNT_MASK = (1L << COUNT_BITS) - 1;

  private final AtomicLongArray counts = new AtomicLongArray(STRIPES);

  /** The number of changes under way, by counter. */
  private final AtomicIntegerArray changing = new AtomicIntegerArray(STRIPES);

  /** Returns a ticket that is current until the key is changed; during a change, none is. */
  public long current(int hash) {
    int stripe = stripe(hash);
    long count = counts.get(stripe);
    // The count is read first. If no change is under way after that, the caller will read what the
    // counted changes wrote.
    return ticket(stripe, changing.get(stripe) == 0 ? count : count - 1);
  }

  public boolean isCurrent(long ticket) {
    return (counts.get((int) (ticket >>> COUNT_BITS)) & COUNT_MASK) == (ticket & COUNT_MASK);
  }

  /** Ends the tickets of a key and returns a new one. */
  public long advance(int hash) {
    int stripe = stripe(hash);
    return ticket(stripe, counts.incrementAndGet(stripe));
  }

  /**
   * Begins a change of a key.
   *
   * @return a ticket that is current until the key is changed again
   */
  public long begin(int hash) {
    changing.incrementAndGet(stripe(hash));
    return advance(hash);
  }

  /**
   * Ends a change, whose result is visible by now.
   *
   * @param ticket the return value of {@link #begin}
   */
  public void end(long ticket) {
    changing.decrementAndGet((int) (ticket >>> COUNT_BITS));
  }

  public void advanceAll() {
    for (int i = 0; i < STRIPES; i++) {
      counts.incrementAndGet(i);
    }
  }

  private static long ticket(int stripe, long count) {
    return ((long) stripe << COUNT_BITS) | (count & COUNT_MASK);
  }

  private static int stripe(int hash) {
    int mixed = hash * 0x9E3779B9;
    return (mixed >>> 16) & (STRIPES - 1);
  }
}
