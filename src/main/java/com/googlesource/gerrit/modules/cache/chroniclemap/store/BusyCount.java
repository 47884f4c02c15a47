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

import java.util.concurrent.TimeUnit;

/**
 * Tells a lock that is held for ever from a disk that is slow now and then. One read that finds no
 * free lock is a miss; several within a minute mean that it never will be free. Those at about the
 * same time count as one: they all met the same holder.
 *
 * <p>Safe for any thread.
 */
final class BusyCount {
  private static final int TOO_MUCH = 5;
  private static final long WITHIN_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long APART_NANOS = TimeUnit.SECONDS.toNanos(5);

  private long since;
  private long last;
  private int count;

  /**
   * Counts one; returns whether there were too many.
   *
   * @param now as {@link System#nanoTime} has it
   */
  synchronized boolean isTooMuch(long now) {
    if (count == 0 || now - since > WITHIN_NANOS) {
      since = now;
      count = 0;
    } else if (now - last < APART_NANOS) {
      return false;
    }
    last = now;
    count++;
    return count >= TOO_MUCH;
  }
}
