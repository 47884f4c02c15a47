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

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A value in the heap tier, with the ticket that tells whether the value may be used.
 *
 * <p>A value that was read from disk or computed reaches the heap a moment later. If its key were
 * invalidated in that moment, the stale value would stay on the heap. Therefore the value is
 * unconfirmed at first, and has the ticket that was taken before it was read or computed. Its first
 * user checks whether the ticket is still current, and then either confirms or removes the value.
 * An invalidation ends the ticket before it removes the key from the heap, so no order of the two
 * leaves a stale value. This requires that a value is put on the heap only once, before it can be
 * confirmed.
 */
final class Held<V> {
  private static final int NEW = 0;
  private static final int CONFIRMED = 1;

  /** Confirmed, and being computed anew. */
  private static final int REFRESHING = 2;

  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<Held> STATE =
      AtomicIntegerFieldUpdater.newUpdater(Held.class, "state");

  final V value;

  /** When the value was made, not when it reached the heap, in milliseconds since the epoch. */
  final long created;

  private final long ticket;
  private volatile int state = NEW;

  Held(V value, long created, long ticket) {
    this.value = value;
    this.created = created;
    this.ticket = ticket;
  }

  /** Whether a thread that found the value on the heap may use it, and it is not too old. */
  boolean isUsable(DiskTier<?, V> disk) {
    return confirm(disk) && !disk.isExpired(this);
  }

  /** Whether a thread that found the value on the heap may use it. */
  boolean confirm(DiskTier<?, V> disk) {
    if (state != NEW) {
      return true;
    }
    if (!isSurelyValid(disk)) {
      return false;
    }
    STATE.compareAndSet(this, NEW, CONFIRMED);
    return true;
  }

  /**
   * Whether no change of the key, or of another key with the same tickets, has begun since the
   * value was read or computed. A confirmed value stays on the heap for a moment after a change has
   * ended its ticket. In that moment it may still be used, but it must not get a newer ticket.
   */
  boolean isSurelyValid(DiskTier<?, V> disk) {
    return disk.store.isCurrent(ticket);
  }

  /**
   * Begins to compute the value anew.
   *
   * @return false if that is under way, or if the value was not confirmed
   */
  boolean beginRefresh() {
    return STATE.compareAndSet(this, CONFIRMED, REFRESHING);
  }

  /** Ends a refresh that failed, so that another one may begin. No effect if there is none. */
  void endRefresh() {
    STATE.compareAndSet(this, REFRESHING, CONFIRMED);
  }
}
