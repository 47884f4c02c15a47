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
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.impl.BigSegmentHeader;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;
import net.openhft.chronicle.hash.locks.InterProcessLock;
import net.openhft.chronicle.map.ExternalMapQueryContext;

/**
 * The headers of a map's segments, with their locks and counts, in plain memory: 64 to 192 bytes
 * each. Chronicle-Map has them in the file, where each reader of a segment would write to them.
 *
 * <p>The locks are taken without much spinning. A lock's holder may be waiting for the disk, so
 * other threads give up after about a second.
 *
 * <p>Source: VanillaChronicleHash and BigSegmentHeader of Chronicle-Map 2026.1, where a public
 * field holds the offset of the headers from the address of the mapping.
 */
final class SegmentHeaders {
  private static final BigSegmentHeader LOCKS = BigSegmentHeader.INSTANCE;
  private static final int ALIGNMENT = 64;
  private static final int MAX_SPINS = 50;
  private static final long PAUSE_NANOS = 20_000;
  private static final long LOCK_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How long each attempt of a writer to get the lock excludes new readers. */
  private static final long TRY_MICROS = 50;

  /** A pause counts at most as this, however long it took. */
  private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final long memory;
  private final long bytes;
  private final long first;
  private final int headerBytes;

  private SegmentHeaders(long memory, long bytes, long first, int headerBytes) {
    this.memory = memory;
    this.bytes = bytes;
    this.first = first;
    this.headerBytes = headerBytes;
  }

  /** Makes a map that is not used yet find its headers here, with free locks and no entries. */
  static SegmentHeaders takeOver(VanillaChronicleHash<?, ?, ?, ?> map, FileLayout layout) {
    // The headers are just before the segments.
    int headerBytes = (int) ((layout.segmentsOffset - layout.headersOffset) / layout.segments);
    long bytes = (long) layout.segments * headerBytes + ALIGNMENT;
    long memory = OS.memory().allocate(bytes);
    OS.memory().setMemory(memory, bytes, (byte) 0);
    long first = (memory + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    map.segmentHeadersOffset = first - map.bsAddress();
    return new SegmentHeaders(memory, bytes, first, headerBytes);
  }

  /**
   * Whether the lock of the whole map is held. It is in the file, and Chronicle-Map takes it each
   * time a segment has no room. A process that was killed then has left it held.
   */
  static boolean isLocked(VanillaChronicleHash<?, ?, ?, ?> map) {
    return OS.memory().readLong(map.bsAddress() + map.headerSize) != 0;
  }

  /** Frees the lock of a map that is not used yet. */
  static void unlock(VanillaChronicleHash<?, ?, ?, ?> map) {
    OS.memory().writeLong(map.bsAddress() + map.headerSize, 0);
  }

  /** The address of a segment's header. */
  long header(int segment) {
    return first + (long) segment * headerBytes;
  }

  /**
   * Takes the lock that excludes Chronicle-Map's writers, as its own readers do. Chronicle-Map
   * would spin, and if all processors are busy, that prevents the writer that holds the lock from
   * running.
   */
  void lockForRead(int segment) {
    long header = header(segment);
    for (int i = 0; i < MAX_SPINS; i++) {
      if (LOCKS.tryReadLock(header)) {
        return;
      }
      Thread.onSpinWait();
    }
    await(() -> LOCKS.tryReadLock(header));
  }

  void unlockRead(int segment) {
    LOCKS.readUnlock(header(segment));
  }

  /**
   * Takes the lock that excludes all others, as Chronicle-Map's writers do; for a thread that holds
   * no lock of the segment.
   */
  void lockForWrite(int segment) {
    long header = header(segment);
    awaitReaders((time, unit) -> LOCKS.tryWriteLock(header, time, unit));
  }

  void unlockWrite(int segment) {
    LOCKS.writeUnlock(header(segment));
  }

  /** Sets the number of entries of a segment, which no other thread may use meanwhile. */
  void setEntries(int segment, int entries) {
    long header = header(segment);
    LOCKS.entries(header, entries);
    // The search for a free chunk starts there.
    LOCKS.lowestPossiblyFreeChunk(header, 0);
  }

  /** Frees the memory; to be called once, after the map was closed. */
  void free() {
    OS.memory().freeMemory(memory, bytes);
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
    await(query.updateLock()::tryLock);
  }

  /** Takes the write lock, once all readers have left the segment. */
  static void lockForWrite(ExternalMapQueryContext<byte[], byte[], ?> query) {
    InterProcessLock lock = query.writeLock();
    if (!lock.tryLock()) {
      awaitReaders(lock::tryLock);
    }
  }

  private interface TimedLock {
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;
  }

  private static void awaitReaders(TimedLock lock) {
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
