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

import net.openhft.chronicle.core.Memory;
import net.openhft.chronicle.core.OS;

/**
 * A record where it is in the mapped file, found by the file's layout without Chronicle-Map. To be
 * used while a lock of its segment is held, as the record may be moved or overwritten otherwise.
 *
 * <p>An access beyond the mapping would kill the process. So each number that is read from the file
 * is checked against the bounds of the segment before it is used: a damaged file leads to no
 * record, a wrong one or an exception.
 *
 * @param address of the record's header in memory
 * @param length bytes of header and payload, which are within the segment
 */
record MappedRecord(long address, int length) {
  private static final Memory MEMORY = OS.memory();
  private static final int MAX_LENGTH_BYTES = 5;

  /**
   * Looks a key up in a segment as Chronicle-Map does: from the slot that the key's hash chooses to
   * the first free one.
   *
   * @param segment address of the segment
   * @param slots how many slots it uses
   * @param slotKey the part of the key's hash that is in a slot
   * @return null if there is no record of the key
   * @throws IllegalStateException if the segment is damaged
   */
  static MappedRecord find(FileLayout layout, long segment, int slots, long slotKey, byte[] key) {
    int mask = slots - 1;
    int at = (int) slotKey & mask;
    for (int i = 0; i < slots; i++) {
      long slot = layout.mappedSlot(segment, at);
      if (slot == 0) {
        return null;
      }
      if (layout.keyOf(slot) == slotKey) {
        long entry = segment + layout.startOf(layout.chunkOf(slot));
        int keyLength = length(layout, segment, entry);
        long keyAt = entry + lengthBytes(keyLength);
        if (keyLength == key.length && isAt(keyAt, key)) {
          return of(layout, segment, keyAt + keyLength);
        }
      }
      at = (at + 1) & mask;
    }
    throw new IllegalStateException("damaged segment: it has no free slot");
  }

  /** Passes on each record of a segment in the order of the slots. */
  static void forEach(FileLayout layout, long segment, int slots, RecordMap.Scan scan) {
    for (int i = 0; i < slots; i++) {
      long slot = layout.mappedSlot(segment, i);
      if (slot == 0) {
        continue;
      }
      long entry = segment + layout.startOf(layout.chunkOf(slot));
      int keyLength = length(layout, segment, entry);
      long keyAt = entry + lengthBytes(keyLength);
      // First, as a damaged length of a key is seldom followed by a record.
      MappedRecord record = of(layout, segment, keyAt + keyLength);
      byte[] key = new byte[keyLength];
      MEMORY.readBytes(keyAt, key, 0, keyLength);
      scan.record(key, record.created(), key.length + record.length);
    }
  }

  private static MappedRecord of(FileLayout layout, long segment, long at) {
    int length = length(layout, segment, at);
    if (length < Envelope.HEADER_LENGTH || length > layout.maxRecord) {
      throw new IllegalStateException("damaged segment: no record has this length");
    }
    return new MappedRecord(at + lengthBytes(length), length);
  }

  /** Reads the length of the bytes that follow it, all of which are within the segment. */
  private static int length(FileLayout layout, long segment, long at) {
    long end = segment + layout.fullRoom;
    long length = 0;
    for (int i = 0; i < MAX_LENGTH_BYTES && at + i < end; i++) {
      byte next = MEMORY.readByte(at + i);
      length |= (long) (next & 0x7f) << (7 * i);
      if (next >= 0) {
        if (length > end - at - i - 1 || lengthBytes(length) != i + 1) {
          break;
        }
        return (int) length;
      }
    }
    throw new IllegalStateException("damaged segment: a length leads out of it");
  }

  /** How many bytes a length takes, 7 bits in each. */
  private static int lengthBytes(long length) {
    return (Long.SIZE - 1 - Long.numberOfLeadingZeros(length | 1)) / 7 + 1;
  }

  /** Whether these bytes are at an address, after which there are so many. */
  static boolean isAt(long address, byte[] key) {
    int at = 0;
    for (; at <= key.length - Long.BYTES; at += Long.BYTES) {
      if (MEMORY.readLong(address + at) != (long) Envelope.LONG.get(key, at)) {
        return false;
      }
    }
    for (; at < key.length; at++) {
      if (MEMORY.readByte(address + at) != key[at]) {
        return false;
      }
    }
    return true;
  }

  /** The kind with the mark of an invalidated record, which another thread may set at any time. */
  private int storedKind() {
    return MEMORY.readInt(address + Envelope.KIND_OFFSET);
  }

  private long created() {
    return MEMORY.readLong(address + Envelope.CREATED_OFFSET);
  }

  boolean isInvalidated() {
    return Envelope.isInvalidated(storedKind());
  }

  void invalidate() {
    long at = address + Envelope.INVALIDATED_OFFSET;
    MEMORY.writeByte(at, (byte) (MEMORY.readByte(at) | Envelope.INVALIDATED_BYTE));
  }

  /** Returns a copy of the record if it is the head of a split value; otherwise null. */
  byte[] head() {
    return Envelope.kind(storedKind()) == Envelope.HEAD ? bytes() : null;
  }

  byte[] bytes() {
    byte[] out = new byte[length];
    MEMORY.readBytes(address, out, 0, length);
    return out;
  }

  /**
   * Copies the record, whose checksum is still to be compared.
   *
   * @param into takes the payload if there is room; null for a new array
   * @param from where the payload begins there
   */
  StoredValue copy(byte[] into, int from) {
    // Read once: the record may be invalidated meanwhile, and its checksum is without the mark.
    int kind = storedKind();
    int payloadLength = length - Envelope.HEADER_LENGTH;
    byte[] payload = null;
    if (!Envelope.isInvalidated(kind) && (into == null || payloadLength <= into.length - from)) {
      payload = into == null ? new byte[payloadLength] : into;
      MEMORY.readBytes(address + Envelope.HEADER_LENGTH, payload, from, payloadLength);
    }
    int crc = MEMORY.readInt(address + Envelope.CRC_OFFSET);
    return new StoredValue(kind, crc, created(), payload, payloadLength);
  }
}
