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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import java.util.Arrays;
import java.util.concurrent.locks.StampedLock;

/**
 * The gate of a mapped file, which keeps the file mapped while anyone uses it. Users enter and
 * leave. The thread that unmaps the file shuts the gate, which waits for the users inside and turns
 * later ones away.
 *
 * <p>A read of unmapped memory kills the whole process, so this does not rely on Chronicle-Map
 * noticing. The gate is striped by thread, so that readers do not share a cache line.
 */
final class Gate {
  private static final int STRIPES = 32;

  private final StampedLock[] locks = new StampedLock[STRIPES];
  private volatile boolean shut;

  Gate() {
    Arrays.setAll(locks, i -> new StampedLock());
  }

  /** Enters; returns a stamp for {@link #leave}, or 0 if the gate is shut. Never waits. */
  long enter() {
    // Only a thread that shuts the gate takes a lock for itself, and keeps it.
    return shut ? 0 : mine().tryReadLock();
  }

  /** Leaves; to be called by the thread that entered. */
  void leave(long stamp) {
    mine().unlockRead(stamp);
  }

  boolean isShut() {
    return shut;
  }

  /** Shuts the gate for good and returns when nobody is inside. */
  synchronized void shut() {
    shut = true;
    for (StampedLock lock : locks) {
      if (!lock.isWriteLocked()) {
        long unused = lock.writeLock();
      }
    }
  }

  private StampedLock mine() {
    return locks[(int) Thread.currentThread().threadId() & (STRIPES - 1)];
  }
}
