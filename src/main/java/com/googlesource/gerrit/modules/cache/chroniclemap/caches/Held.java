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
 * A value in the heap tier, with the ticket that tells whether the value may be used.
 *
 * <p>A value that was read from disk or computed reaches the heap a moment later. If its key were
 * invalidated in that moment, the stale value would stay on the heap. Therefore the value is
 * unconfirmed at first, and has the ticket that was taken before it was read or computed. Its first
 * user checks whether the ticket is still current, and then either confirms or removes the value.
 * An invalidation ends the ticket before it removes the key from the heap, so no order of the two
 * leaves a stale value.
 */
final class Held<V> {
  private static final long CONFIRMED = -1;

  final V value;

  /** When the value was made, not when it reached the heap, in milliseconds since the epoch. */
  final long created;

  /** The {@link System#nanoTime} at which the load of the value began; 0 if it was not loaded. */
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

  /** Makes a value that no invalidation can have overtaken. */
  static <V> Held<V> confirmed(V value, long created) {
    return new Held<>(value, created, CONFIRMED);
  }

  /** Whether the value was computed by a load that began after a time. */
  boolean isComputedSince(long nanoTime) {
    return begun != 0 && begun - nanoTime > 0;
  }

  /** Whether a thread that found the value on the heap may use it. */
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
