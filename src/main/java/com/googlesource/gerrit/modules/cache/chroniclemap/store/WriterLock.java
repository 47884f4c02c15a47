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

import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The lock of a store's writer. A thread holds it while it writes to the file, or opens, replaces
 * or closes the file. Not fair: to hand it over in order costs a switch of threads for each write,
 * several times the write itself.
 *
 * <p>The order of a store's locks, outermost first. A thread that holds one takes none that is
 * listed before it:
 *
 * <ol>
 *   <li>that of {@link CurrentFile#heal}, under which a new file is created
 *   <li>this one
 *   <li>that of a key in {@link PendingWrites}, held while the key's write is changed
 *   <li>the inner one of {@link CurrentFile}, under which the file and the state change
 * </ol>
 */
final class WriterLock extends ReentrantLock {
  private static final long serialVersionUID = 1L;
  private static final long YIELD_NANOS = 20_000;

  /**
   * Lets waiting threads go first. As the lock is not fair, a loop that takes it again and again
   * would keep them waiting for the end of the loop.
   */
  void yieldToWaiters() {
    if (hasQueuedThreads() && !isHeldByCurrentThread()) {
      LockSupport.parkNanos(YIELD_NANOS);
    }
  }
}
