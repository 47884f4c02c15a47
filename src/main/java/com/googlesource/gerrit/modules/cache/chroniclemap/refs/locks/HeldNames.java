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
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * The refs of one repository that threads of this process are changing: they wait for each other
 * here, where they are woken, and meet only other processes at the lock files.
 *
 * <p>Whoever holds a name keeps others from the names above and below it too, so that two threads
 * can't make {@code x} and {@code x/y}. A thread takes all that it needs at once, so no two wait
 * for each other, and what it takes may be above or below one another. A name costs a search for
 * each of its folders.
 */
final class HeldNames {
  /** Guarded by this. */
  private final NavigableSet<String> held = new TreeSet<>();

  /**
   * Takes names, all of them or none.
   *
   * @param nanos how long to wait for others
   * @return false if others had one of them, or one above or below it, all that time
   * @throws InterruptedException if the thread is interrupted while it waits; none is taken then
   */
  synchronized boolean take(Collection<String> names, long nanos) throws InterruptedException {
    long end = 0;
    while (names.stream().anyMatch(this::isHeld)) {
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

  private boolean isHeld(String name) {
    for (int slash = name.indexOf('/'); slash > 0; slash = name.indexOf('/', slash + 1)) {
      if (held.contains(name.substring(0, slash))) {
        return true;
      }
    }
    String below = held.ceiling(name + '/');
    return held.contains(name) || (below != null && below.startsWith(name + '/'));
  }

  /** Gives names back. */
  synchronized void giveBack(Collection<String> names) {
    names.forEach(held::remove);
    notifyAll();
  }
}
