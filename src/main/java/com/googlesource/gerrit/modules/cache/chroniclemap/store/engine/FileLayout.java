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

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.BitSet;
import net.openhft.chronicle.algo.hashing.LongHashFunction;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.impl.HashSplitting;
import net.openhft.chronicle.hash.impl.VanillaChronicleHash;
import net.openhft.chronicle.hash.serialization.impl.StopBitSizeMarshaller;
import net.openhft.chronicle.map.VanillaChronicleMap;

/**
 * The layout of a Chronicle-Map file of one geometry, as far as {@link MappedRecord}, {@link
 * SegmentReader} and {@link SegmentRepair} need it, and the places of keys, which follow from their
 * hashes.
 *
 * <pre>
 *   file      header and global state | segment headers | segment 0 | segment 1 | ...
 *   segment   hash slots | counters | bit set of used chunks | chunks
 *   header    unused, see {@link SegmentHeaders}
 *   slots     only the first ones are used while few chunks are, see {@link #slotsIn}
 *   slot      key hash (low keyBits) and number of the entry's first chunk (the bits above); 0: unused
 *   entry     key length | key | record length | record; lengths are stop bit encoded
 * </pre>
 *
 * <p>Source: net.openhft.chronicle.hash.impl.VanillaChronicleHash and CompactOffHeapLinearHashTable
 * of Chronicle-Map 2026.1, and its published data store specification. All numbers are little
 * endian.
 */
final class FileLayout {
  /** The hash function that Chronicle-Map 2026.1 uses for keys of bytes. */
  private static final LongHashFunction HASH = LongHashFunction.xx_r39();

  /** The fewest slots that a segment uses. */
  private static final int MIN_SLOTS = 64;

  /** Offset in the file of the word with the length and the state of the file's header. */
  static final int SIZE_WORD_IN_FILE = 8;

  /** A bit of this word, set until the header is complete. */
  static final int NOT_READY = 0x8000_0000;

  /**
   * Offset of the first segment's header in the file, bytes. Of the bytes before it, only a lock
   * ever changes, see {@link SegmentHeaders#isLocked}. The headers themselves are in memory, and
   * have no disk.
   */
  final long headersOffset;

  /** Offset of the first segment in the file, bytes. */
  final long segmentsOffset;

  /** Number of segments. */
  final int segments;

  /** Distance from one segment to the next, bytes. */
  final int segmentBytes;

  /** Number of slots of a segment, a power of two. */
  final int slots;

  /** 4 or 8. */
  final int slotBytes;

  /** Bits of a slot that hold a part of the key's hash. */
  final int keyBits;

  /** The same bits as a mask. */
  private final long keyMask;

  /** Bits of a slot that hold the number of a chunk, once moved down. */
  final long chunkMask;

  /** Offset of the counters in a segment, bytes. */
  final int countersOffset;

  /**
   * Offset of the bit set in a segment, bytes. Chunks that have no disk count as used in the set.
   */
  final int freeListOffset;

  /** Bytes of the bit set, a multiple of 8. */
  final int freeListBytes;

  /** Offset of the chunks in a segment, bytes. */
  final int chunksOffset;

  /** Number of chunks of a segment. */
  final int chunks;

  /** Bytes of a chunk. */
  final int chunkBytes;

  /** The bytes of a segment all of whose chunks may be used. */
  final int fullRoom;

  /** Bytes of the longest record. */
  final int maxRecord;

  /** Which segment a hash chooses, and the part of it that counts within the segment. */
  private final HashSplitting splitting;

  /**
   * Reads the layout of a map's file.
   *
   * @throws IllegalStateException if records would not be found by it, as another version of
   *     Chronicle-Map may have made the file
   */
  FileLayout(VanillaChronicleMap<?, ?, ?> map, int maxPayload) {
    headersOffset = map.segmentHeadersOffset;
    segmentsOffset = map.sizeInBytesWithoutTiers() - map.actualSegments * map.tierSize;
    segments = map.actualSegments;
    segmentBytes = Math.toIntExact(map.tierSize);
    slots = Math.toIntExact(map.tierHashLookupCapacity);
    slotBytes = map.tierHashLookupSlotSize;
    keyBits = map.tierHashLookupKeyBits;
    keyMask = (1L << keyBits) - 1;
    chunkMask = (1L << map.tierHashLookupValueBits) - 1;
    countersOffset = Math.toIntExact(map.tierHashLookupOuterSize);
    freeListOffset = Math.toIntExact(countersOffset + VanillaChronicleHash.TIER_COUNTERS_AREA_SIZE);
    freeListBytes = Math.toIntExact(map.tierFreeListInnerSize);
    chunksOffset = Math.toIntExact(freeListOffset + map.tierFreeListOuterSize);
    chunks = Math.toIntExact(map.actualChunksPerSegmentTier);
    chunkBytes = Math.toIntExact(map.chunkSize);
    fullRoom = startOf(chunks);
    maxRecord = Envelope.HEADER_LENGTH + maxPayload;
    splitting = map.hashSplitting;
    if (map.checksumEntries
        || map.alignment != 1
        || map.tierEntrySpaceInnerOffset != 0
        || map.keySizeMarshaller != StopBitSizeMarshaller.INSTANCE
        || map.valueSizeMarshaller != StopBitSizeMarshaller.INSTANCE
        || Integer.bitCount(slots) != 1
        || (slotBytes != Integer.BYTES && slotBytes != Long.BYTES)
        || slots * slotBytes > countersOffset
        || fullRoom > segmentBytes
        || offsetOf(segments) > map.dataStoreSize()) {
      throw new IllegalStateException("the records of the file are laid out in another way");
    }
  }

  /** Offset of a segment in the file, bytes. */
  long offsetOf(int segment) {
    return segmentsOffset + (long) segment * segmentBytes;
  }

  /** Returns the slot at an offset within a segment. */
  long slot(ByteBuffer segment, int offset) {
    return slotBytes == Integer.BYTES
        ? segment.getInt(offset) & 0xFFFF_FFFFL
        : segment.getLong(offset);
  }

  /** Returns a slot of a segment that is mapped at an address. */
  long mappedSlot(long segment, int index) {
    long at = segment + (long) index * slotBytes;
    return slotBytes == Integer.BYTES
        ? OS.memory().readVolatileInt(at) & 0xFFFF_FFFFL
        : OS.memory().readVolatileLong(at);
  }

  /** Returns a hash table of so many slots, as a segment begins with, for those that are not 0. */
  ByteBuffer table(Iterable<Long> used, int count) {
    ByteBuffer table = ByteBuffer.allocate(count * slotBytes).order(ByteOrder.LITTLE_ENDIAN);
    for (long slot : used) {
      if (slot != 0) {
        int at = (int) (keyOf(slot) & (count - 1)) * slotBytes;
        while (slot(table, at) != 0) {
          at = (at + slotBytes) & (table.capacity() - 1);
        }
        if (slotBytes == Integer.BYTES) {
          table.putInt(at, (int) slot);
        } else {
          table.putLong(at, slot);
        }
      }
    }
    return table;
  }

  /**
   * The number of slots that a segment uses whose chunks end after so many bytes: about as many as
   * it has chunks, and all of them once it has all of its chunks. So few values take little disk.
   */
  int slotsIn(int room) {
    return room == fullRoom
        ? slots
        : Math.clamp(Integer.highestOneBit(chunksIn(room)), MIN_SLOTS, slots);
  }

  /** Where the slots end that are used by then. */
  int slotsEnd(int room) {
    return slotsIn(room) * slotBytes;
  }

  /** The bytes of a segment that have disk when its chunks end there, with parts of three pages. */
  int diskOf(int room) {
    return room == 0 ? 0 : slotsEnd(room) + room - countersOffset + OS.pageSize() * 3 / 2;
  }

  /** The number of chunks in the first bytes of a segment. */
  int chunksIn(int room) {
    return Math.clamp((room - chunksOffset) / chunkBytes, 0, chunks);
  }

  /** Where so many chunks of a segment end, with those that end on the same page. */
  int roomFor(int segment, long wanted) {
    long start = offsetOf(segment);
    long end = OS.pageAlign(start + startOf(Math.clamp(wanted, 1, chunks)));
    return startOf(chunksIn(Math.toIntExact(Math.min(end - start, segmentBytes))));
  }

  /** Where the chunks of a segment end next: a quarter more of them, or what some bytes need. */
  int moreRoom(int segment, int room, int bytes) {
    int chunks = chunksIn(room);
    return roomFor(segment, (long) chunks + Math.max(chunks / 4, bytes / chunkBytes + 1));
  }

  /** The chunks that are used of a segment that is mapped at an address. */
  BitSet usedChunks(long segment) {
    byte[] list = new byte[freeListBytes];
    OS.memory().readBytes(segment + freeListOffset, list, 0, list.length);
    return BitSet.valueOf(list);
  }

  /** Writes which chunks are used of a segment that is mapped at an address. */
  void putUsedChunks(long segment, BitSet used) {
    byte[] list = Arrays.copyOf(used.toByteArray(), freeListBytes);
    OS.memory().writeBytes(segment + freeListOffset, list, 0, list.length);
  }

  /** Number of the first chunk of a slot's entry. */
  long chunkOf(long slot) {
    return (slot >>> keyBits) & chunkMask;
  }

  /** Offset of a chunk in its segment, bytes; of the number of chunks, where the last one ends. */
  int startOf(long chunk) {
    return Math.toIntExact(chunksOffset + chunk * chunkBytes);
  }

  /** The part of the key's hash that is in a slot. */
  long keyOf(long slot) {
    return slot & keyMask;
  }

  static long hash(byte[] key) {
    return HASH.hashBytes(key);
  }

  /** The segment to which the key of a hash belongs. */
  int segmentOf(long hash) {
    return splitting.segmentIndex(hash);
  }

  /** The part of a key's hash that a slot would hold; never 0, which marks an unused slot. */
  long slotKey(long hash) {
    long key = keyOf(splitting.segmentHash(hash));
    return key == 0 ? keyMask : key;
  }

  /** Whether the key of a record is found by way of a slot. */
  boolean isPlace(int segment, long slot, RecordView record) {
    long hash = HASH.hashBytes(record.bytes, record.keyAt, record.keyLength);
    return segmentOf(hash) == segment && slotKey(hash) == keyOf(slot);
  }
}
