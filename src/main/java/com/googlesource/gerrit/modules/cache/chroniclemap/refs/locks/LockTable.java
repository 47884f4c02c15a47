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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The refs of one repository that threads of this process are changing: they wait for each other
 * here, where they are woken, and meet only other processes at the lock files.
 *
 * <p>A thread takes all that it needs at once, so no two wait for each other.
 */
final class LockTable {
  /** Guarded by this. */
  private final Set<String> held = new HashSet<>();

  /**
   * Takes names, all of them or none.
   *
   * @param nanos how long to wait for others
   * @return false if others had one of them all that time
   * @throws InterruptedException if the thread is interrupted while it waits; none is taken then
   */
  synchronized boolean take(Collection<String> names, long nanos) throws InterruptedException {
    long end = 0;
    while (names.stream().anyMatch(held::contains)) {
      long now = System.nanoTime();
      if (end == 0) {
        end = now + nanos;
      }
      if (end - now <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, end - now);
    }
    held.addAll(names);
    return true;
  }

  /** Gives names back. */
  synchronized void giveBack(Collection<String> names) {
    names.forEach(held::remove);
    notifyAll();
  }
}
