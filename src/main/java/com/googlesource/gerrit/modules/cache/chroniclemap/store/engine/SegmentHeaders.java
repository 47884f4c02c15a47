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
import java.util.concurrent.atomic.AtomicBoolean;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.impl.BigSegmentHeader;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;

/**
 * The headers of a map's segments, with their locks and counts, in plain memory: 64 to 192 bytes
 * each. Chronicle-Map has them in the file, where each reader of a segment would write to them.
 *
 * <p>Source: VanillaChronicleHash and BigSegmentHeader of Chronicle-Map 2026.1, where a public
 * field holds the offset of the headers from the address of the mapping.
 */
final class SegmentHeaders {
  private static final int ALIGNMENT = 64;

  private final long memory;
  private final long bytes;
  private final long first;
  private final int headerBytes;
  private final AtomicBoolean freed = new AtomicBoolean();

  private SegmentHeaders(long memory, long bytes, long first, int headerBytes) {
    this.memory = memory;
    this.bytes = bytes;
    this.first = first;
    this.headerBytes = headerBytes;
  }

  /** Makes a map that is not used yet find its headers here, with free locks and no entries. */
  static SegmentHeaders takeOver(VanillaChronicleHash<?, ?, ?, ?> map) {
    // The headers are just before the segments.
    long segmentsOffset = map.sizeInBytesWithoutTiers() - map.actualSegments * map.tierSize;
    int headerBytes = (int) ((segmentsOffset - map.segmentHeadersOffset) / map.actualSegments);
    long bytes = (long) map.actualSegments * headerBytes + ALIGNMENT;
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

  /** Takes the lock that excludes Chronicle-Map's writers, as its own readers do. */
  boolean tryLockForRead(int segment) {
    return BigSegmentHeader.INSTANCE.tryReadLock(header(segment));
  }

  void unlockRead(int segment) {
    BigSegmentHeader.INSTANCE.readUnlock(header(segment));
  }

  /** Takes the lock that excludes all others, as Chronicle-Map's writers do. */
  boolean tryLockForWrite(int segment, long time, TimeUnit unit) throws InterruptedException {
    return BigSegmentHeader.INSTANCE.tryWriteLock(header(segment), time, unit);
  }

  void unlockWrite(int segment) {
    BigSegmentHeader.INSTANCE.writeUnlock(header(segment));
  }

  /** Sets the number of entries of a segment, which no other thread may use meanwhile. */
  void setEntries(int segment, int entries) {
    long header = header(segment);
    BigSegmentHeader.INSTANCE.entries(header, entries);
    // The search for a free chunk starts there.
    BigSegmentHeader.INSTANCE.lowestPossiblyFreeChunk(header, 0);
  }

  /** Frees the memory, once the map is closed. Further calls do nothing. */
  void free() {
    if (freed.compareAndSet(false, true)) {
      OS.memory().freeMemory(memory, bytes);
    }
  }
}
