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

/**
 * A ticket of a key, which tells whether the key was put or invalidated since. Whoever computes a
 * value takes a ticket first ({@link Store#ticket}). A change of the key ends it, so that a value
 * that was computed before an invalidation does not come back.
 *
 * <p>A change has a ticket, too ({@link Store#beginPut}), which is current until the next change of
 * the key. The change is under way until its ticket is closed. No ticket that is taken meanwhile is
 * current, as its thread may still read the old value.
 *
 * <p>A ticket is to be closed by whoever took it, and is not current afterwards. Safe for any
 * thread.
 */
public final class Ticket implements AutoCloseable {
  private final Tickets tickets;
  final HashedKey key;

  /** Whether it is the ticket of a change. */
  final boolean isOfChange;

  /** How many removals of all values had begun before. */
  final long removals;

  /**
   * How many threads hold a ticket that loads share; or how many changes of the key are under way.
   * Guarded by the key's bin in {@link Tickets}.
   */
  int holders = 1;

  /** Never reset. */
  volatile boolean isOver;

  Ticket(Tickets tickets, HashedKey key, boolean isOfChange) {
    this.tickets = tickets;
    this.key = key;
    this.isOfChange = isOfChange;
    this.removals = tickets.removals.get();
  }

  /** Whether the key was changed since, by itself or with all others, or the ticket is closed. */
  public boolean hasEnded() {
    return isOver || removals != tickets.removals.get();
  }

  /** Ends the ticket, unless another load holds it, too; ends the change of which it is. */
  @Override
  public void close() {
    tickets.close(this);
  }
}
