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
 * free lock is a miss; several within a minute mean that it never will be free.
 *
 * <p>Safe for any thread.
 */
final class BusyCount {
  private static final int TOO_MUCH = 5;
  private static final long WITHIN_NANOS = TimeUnit.MINUTES.toNanos(1);

  private long since = System.nanoTime();
  private int count;

  /** Counts one; returns whether there were too many. */
  synchronized boolean isTooMuch() {
    long now = System.nanoTime();
    if (now - since > WITHIN_NANOS) {
      since = now;
      count = 0;
    }
    count++;
    return count >= TOO_MUCH;
  }
}
