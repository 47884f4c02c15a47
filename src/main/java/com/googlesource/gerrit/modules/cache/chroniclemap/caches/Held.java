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

/**
 * A value in the heap tier, with what is needed to tell whether it may still be used.
 *
 * <p>A value read from disk or computed by a loader goes to the heap a moment later. If its key is
 * invalidated in that moment, nobody would ever take it out again. So it goes there unconfirmed,
 * with the ticket taken before it was read or computed; whoever meets it first asks whether the
 * ticket is still current, and confirms it or takes it out. An invalidation ends the ticket first
 * and removes from the heap second, so each order of the two ends well.
 */
final class Held<V> {
  private static final long CONFIRMED = -1;

  final V value;

  /** Milliseconds since the epoch at which the value was made, not when it came to the heap. */
  final long created;

  /** When its load began, of {@link System#nanoTime}; 0 if it was not loaded. */
  private final long begun;

  /** The ticket, or {@link #CONFIRMED}. */
  private volatile long ticket;

  Held(V value, long created, long ticket) {
    this(value, created, ticket, 0);
  }

  Held(V value, long created, long ticket, long begun) {
    this.value = value;
    this.created = created;
    this.ticket = ticket;
    this.begun = begun;
  }

  /** A value that no invalidation can have overtaken. */
  static <V> Held<V> confirmed(V value, long created) {
    return new Held<>(value, created, CONFIRMED);
  }

  /** Whether it was computed by a load that began after that time. */
  boolean isComputedSince(long nanoTime) {
    return begun != 0 && begun - nanoTime > 0;
  }

  /** Whether the value may be used by someone who found it on the heap. */
  boolean confirm(DiskTier<?, V> disk) {
    long mine = ticket;
    if (mine == CONFIRMED) {
      return true;
    }
    if (!disk.isCurrent(mine)) {
      return false;
    }
    ticket = CONFIRMED;
    return true;
  }
}
