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
 * Tells whether a key was written or invalidated since somebody began to compute its value.
 *
 * <p>A key hashes to one of {@value #STRIPES} counters. A ticket is the number of the counter
 * (upper 16 bits) and its count (lower 48 bits). Each change of a key counts its counter up, which
 * ends all tickets of that counter: a loader that began before an invalidation can't bring the old
 * value back. Tickets of other keys with the same counter end too: a value that was computed and
 * still waits then goes, with the older one of its key.
 *
 * <p>A ticket taken in the middle of a change, by someone who then still reads the old value, must
 * not outlive the change, nor be good for a moment of it. So a change either ends the tickets when
 * it can be seen, under a lock that keeps such a ticket from being used; or it is between {@link
 * #begin} and {@link #end}, and no ticket that is taken there is good.
 *
 * <p>Safe for any thread.
 */
public final class Tickets {
  private static final int STRIPES = 1024;
  private static final int COUNT_BITS = 48;
  private static final long COUNT_MASK = (1L << COUNT_BITS) - 1;

  private final AtomicLongArray counts = new AtomicLongArray(STRIPES);

  /** Changes that have begun and not ended. */
  private final AtomicIntegerArray changing = new AtomicIntegerArray(STRIPES);

  /** Returns a ticket that is good until the key is changed; while it is being changed, none is. */
  public long current(int hash) {
    int stripe = stripe(hash);
    long count = counts.get(stripe);
    // In this order: if the change is over here, what it wrote is read after this.
    return ticket(stripe, changing.get(stripe) == 0 ? count : count - 1);
  }

  public boolean isCurrent(long ticket) {
    return (counts.get((int) (ticket >>> COUNT_BITS)) & COUNT_MASK) == (ticket & COUNT_MASK);
  }

  /** Ends the tickets of a key; returns the new current one. */
  public long advance(int hash) {
    int stripe = stripe(hash);
    return ticket(stripe, counts.incrementAndGet(stripe));
  }

  /**
   * Begins a change of a key.
   *
   * @return a ticket that is good until the key is changed again
   */
  public long begin(int hash) {
    changing.incrementAndGet(stripe(hash));
    return advance(hash);
  }

  /**
   * Ends a change: it can be seen.
   *
   * @param ticket what {@link #begin} returned
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
