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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import java.util.Collection;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The names of the refs of one repository that threads of this process hold. Threads wait for each
 * other here, where they are woken, so only other processes are met at the lock files.
 *
 * <p>A held name also excludes other threads from the names above and below it, so two threads
 * can't make {@code x} and {@code x/y}. A thread takes all its names in one call, so there is no
 * deadlock. The names of one call may be above or below one another. To take a name costs a search
 * for each of its folders. Any thread may call.
 */
final class NameReservations {
  /** Guarded by this. */
  private final NavigableSet<String> held = new TreeSet<>();

  /**
   * Takes all of the names or none.
   *
   * @param nanos how long to wait for other threads
   * @return false if the time has passed and others still hold one of the names, or one above or
   *     below
   * @throws InterruptedException if the thread is interrupted while it waits; none is taken then
   */
  synchronized boolean take(Collection<String> names, long nanos) throws InterruptedException {
    long end = System.nanoTime() + nanos;
    for (String taken = firstHeld(names); taken != null; taken = firstHeld(names)) {
      // All names are searched again only when this one is free, as there may be very many.
      while (isHeld(taken)) {
        long left = end - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    }
    held.addAll(names);
    return true;
  }

  @Nullable
  private String firstHeld(Collection<String> names) {
    return names.stream().filter(this::isHeld).findFirst().orElse(null);
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

  /** Releases names and wakes the waiting threads. */
  synchronized void release(Collection<String> names) {
    names.forEach(held::remove);
    notifyAll();
  }
}
