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

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The {@link Ticket}s of a store. There is one for each key that is being loaded or changed, so the
 * memory is bounded by the loads and changes under way, and no change ends the ticket of another
 * key. Safe for any thread.
 */
final class Tickets {
  /** Initial capacity: in so many bins, two keys seldom wait for each other. */
  private static final int ROOM = 512;

  /** By key: the ticket that its loads share, or that of its last change. */
  final ConcurrentMap<HashedKey, Ticket> open = new ConcurrentHashMap<>(ROOM);

  /** The number of removals of all values. */
  final AtomicLong removals = new AtomicLong();

  /** The number of removals of all values that are under way outside of the store. */
  private final AtomicInteger removing = new AtomicInteger();

  /** Takes a ticket that is current until the key is changed; during a change, none is. */
  Ticket take(HashedKey key) {
    Ticket last =
        open.compute(
            key,
            (k, before) -> {
              if (before == null || (!before.isOfChange && before.hasEnded())) {
                Ticket ticket = new Ticket(this, k, /* isOfChange= */ false);
                // Asked after the ticket has noted the number of removals. If none is under way
                // after that, the caller will read what those have left.
                ticket.isOver = removing.get() != 0;
                return ticket;
              }
              before.holders += before.isOfChange ? 0 : 1;
              return before;
            });
    if (!last.isOfChange) {
      return last;
    }
    Ticket none = new Ticket(this, key, /* isOfChange= */ false);
    none.isOver = true;
    return none;
  }

  /** Begins a change of a key, which its ticket ends when it is closed. */
  Ticket begin(HashedKey key) {
    return open.compute(
        key,
        (k, before) -> {
          Ticket change = new Ticket(this, k, /* isOfChange= */ true);
          if (before != null) {
            before.isOver = true;
            change.holders += before.isOfChange ? before.holders : 0;
          }
          return change;
        });
  }

  void close(Ticket ticket) {
    if (ticket.isOfChange) {
      ticket.isOver = true;
    }
    var unused =
        open.computeIfPresent(
            ticket.key,
            (k, last) -> {
              // The last change of a key counts those before it that are still under way.
              if ((last == ticket || ticket.isOfChange) && --last.holders == 0) {
                last.isOver = true;
                return null;
              }
              return last;
            });
  }

  /** Ends all tickets. */
  void endAll() {
    removals.incrementAndGet();
  }

  /** Ends all tickets, and those that are taken before {@link #endRemoval}. */
  void beginRemoval() {
    removing.incrementAndGet();
    endAll();
  }

  void endRemoval() {
    removing.decrementAndGet();
  }
}
