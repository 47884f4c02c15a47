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

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import net.openhft.chronicle.hash.locks.InterProcessLock;
import net.openhft.chronicle.map.ExternalMapQueryContext;

/**
 * The locks of a Chronicle-Map file's segments, taken without much spinning. A lock's holder may be
 * waiting for the disk, so other threads give up after about a second.
 */
final class SegmentLocks {
  private static final int MAX_SPINS = 50;
  private static final long PAUSE_NANOS = 20_000;
  private static final long LOCK_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How long each attempt of a writer to get the lock excludes new readers. */
  private static final long TRY_MICROS = 50;

  /** A pause counts at most as this, however long it took. */
  private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private SegmentLocks() {}

  /**
   * Takes the read lock. Chronicle-Map would spin, and if all processors are busy, that prevents
   * the writer that holds the lock from running.
   */
  static void lockForRead(SegmentHeaders headers, int segment) {
    for (int i = 0; i < MAX_SPINS; i++) {
      if (headers.tryLockForRead(segment)) {
        return;
      }
      Thread.onSpinWait();
    }
    await(() -> headers.tryLockForRead(segment));
  }

  /**
   * Waits for a lock. Long pauses count only in part: after a pause of the whole process, the lock
   * will be free soon.
   */
  private static void await(BooleanSupplier tryLock) {
    long waited = 0;
    long before = System.nanoTime();
    while (!tryLock.getAsBoolean()) {
      if (waited > LOCK_WAIT_NANOS) {
        throw new StoreBusyException();
      }
      LockSupport.parkNanos(PAUSE_NANOS);
      long now = System.nanoTime();
      waited += Math.min(now - before, MAX_PAUSE_NANOS);
      before = now;
    }
  }

  /** Takes the lock that excludes other writers but no readers. */
  static void lockForUpdate(ExternalMapQueryContext<byte[], byte[], ?> query) {
    InterProcessLock lock = query.updateLock();
    if (!lock.tryLock()) {
      await(lock::tryLock);
    }
  }

  /** Takes the write lock, once all readers have left the segment. */
  static void lockForWrite(ExternalMapQueryContext<byte[], byte[], ?> query) {
    InterProcessLock lock = query.writeLock();
    if (!lock.tryLock()) {
      lockForWrite(lock::tryLock);
    }
  }

  /** The same without a query, for a thread that holds no lock of the segment. */
  static void lockForWrite(SegmentHeaders headers, int segment) {
    lockForWrite((time, unit) -> headers.tryLockForWrite(segment, time, unit));
  }

  private interface TimedLock {
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;
  }

  private static void lockForWrite(TimedLock lock) {
    boolean[] interrupted = {Thread.interrupted()};
    try {
      await(
          () -> {
            try {
              return lock.tryLock(TRY_MICROS, TimeUnit.MICROSECONDS);
            } catch (InterruptedException e) {
              interrupted[0] = true;
              return false;
            }
          });
    } finally {
      if (interrupted[0]) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
