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

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Puts a copy of one segment in order whose last user died: what its slots lead to is kept if it is
 * valid, and slots, bit set and count are made to fit that. The entries stay where they are.
 *
 * <p>A user who dies in the middle of a change leaves a slot whose record is half written, an entry
 * in two slots while others move up, or chunks that are taken for nothing. Whatever else does not
 * fit together was not left by a death: then nothing here is trusted.
 *
 * <p>For one thread.
 */
final class SegmentRepair {
  /** Where Chronicle-Map keeps a key, by its hash. */
  interface KeyPlace {
    int segment(byte[] bytes, int offset, int length);

    /** The hash of which a slot has a part. */
    long segmentHash(byte[] bytes, int offset, int length);
  }

  private final FileLayout layout;
  private final KeyPlace places;
  private final byte[] bytes;
  private final ByteBuffer segment;
  private final ByteBuffer slots;
  private final long[] used;
  private final RecordView record = new RecordView();
  private final RecordView other = new RecordView();

  private int entries;
  private long damaged;
  private boolean slotsChange;

  SegmentRepair(FileLayout layout, KeyPlace places) {
    this.layout = layout;
    this.places = places;
    bytes = new byte[layout.segmentBytes()];
    segment = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    slots = ByteBuffer.allocate(layout.slots() * layout.slotBytes()).order(ByteOrder.LITTLE_ENDIAN);
    used = new long[layout.freeListBytes() / Long.BYTES];
  }

  /** The copy to be filled before {@link #run}, from 0 to its capacity. */
  ByteBuffer segment() {
    return segment;
  }

  /** Entries of the last segment. */
  int entries() {
    return entries;
  }

  /** Slots of the last segment that led to no valid record. */
  long damaged() {
    return damaged;
  }

  /** End of what {@link #run} may change in the segment. */
  int endOfIndex() {
    return layout.freeListOffset() + layout.freeListBytes();
  }

  /**
   * Puts the copy in order.
   *
   * @param kept told of each record that is valid and not void
   * @return whether the bytes before {@link #endOfIndex} have changed
   * @throws IOException if the segment can't be what a death left
   */
  boolean run(int index, Consumer<RecordView> kept) throws IOException {
    entries = 0;
    damaged = 0;
    slotsChange = false;
    Arrays.fill(slots.array(), (byte) 0);
    Arrays.fill(used, 0);
    for (int at = 0; at < slots.capacity(); at += layout.slotBytes()) {
      long slot = layout.slot(segment, at);
      if (slot == 0) {
        continue;
      }
      if (!keep(slot, index)) {
        slotsChange = true;
      } else {
        kept.accept(record);
      }
    }
    boolean changed = slotsChange || !allReachable();
    if (changed) {
      segment.put(0, slots, 0, slots.capacity());
    }
    changed |= writeCounters();
    changed |= writeFreeList();
    return changed;
  }

  /** Takes a slot over if it leads to a record that counts, which is in {@link #record} then. */
  private boolean keep(long slot, int index) throws IOException {
    long chunk = layout.chunkOf(slot);
    if (chunk >= layout.chunks()
        || !record.parse(bytes, startOf(chunk), bytes.length, layout.maxRecord())
        || !isPlace(slot, index)) {
      damaged++;
      return false;
    }
    if (record.isVoid()) {
      return false;
    }
    int step = layout.slotBytes();
    int at = home(slot);
    for (long there = layout.slot(slots, at); there != 0; there = layout.slot(slots, at)) {
      if (there == slot) {
        return false; // it was being moved
      }
      if (layout.keyOf(there) == layout.keyOf(slot) && isSameKey(there)) {
        throw new IOException("a key stands twice in segment " + index);
      }
      at = (at + step) & (slots.capacity() - 1);
    }
    take(chunk, record.end() - startOf(chunk), index);
    if (step == Integer.BYTES) {
      slots.putInt(at, (int) slot);
    } else {
      slots.putLong(at, slot);
    }
    if (++entries >= layout.slots()) {
      throw new IOException("no slot is free in segment " + index);
    }
    return true;
  }

  private int startOf(long chunk) {
    return Math.toIntExact(layout.chunksOffset() + chunk * layout.chunkBytes());
  }

  private boolean isPlace(long slot, int index) {
    int at = record.keyAt();
    int length = record.keyLength();
    return places.segment(bytes, at, length) == index
        && layout.keyOfHash(places.segmentHash(bytes, at, length)) == layout.keyOf(slot);
  }

  private boolean isSameKey(long slot) {
    return other.parse(bytes, startOf(layout.chunkOf(slot)), bytes.length, layout.maxRecord())
        && Arrays.equals(
            bytes,
            record.keyAt(),
            record.keyAt() + record.keyLength(),
            bytes,
            other.keyAt(),
            other.keyAt() + other.keyLength());
  }

  /** Notes the chunks of an entry as used. */
  private void take(long chunk, int length, int index) throws IOException {
    long end = chunk + (length + layout.chunkBytes() - 1) / layout.chunkBytes();
    if (end > layout.chunks()) {
      throw new IOException("an entry leaves segment " + index);
    }
    for (long i = chunk; i < end; i++) {
      int word = (int) (i >>> 6);
      long bit = 1L << i;
      if ((used[word] & bit) != 0) {
        throw new IOException("entries overlap in segment " + index);
      }
      used[word] |= bit;
    }
  }

  private int home(long slot) {
    return (int) (layout.keyOf(slot) & (layout.slots() - 1)) * layout.slotBytes();
  }

  /** Whether from where a key is looked for first to its slot no slot of the segment is free. */
  private boolean allReachable() {
    int step = layout.slotBytes();
    int mask = slots.capacity() - 1;
    // The slots of a run that goes on from the last to the first are met in the second round.
    int free = -1;
    for (int i = 0; i < 2 * layout.slots(); i++) {
      int at = (i * step) & mask;
      long slot = layout.slot(segment, at);
      if (slot == 0) {
        free = i;
      } else if (free >= 0 && (((at - home(slot)) & mask) / step) >= i - free) {
        return false;
      }
    }
    return true;
  }

  /** Those of a segment's first and only tier are zero. */
  private boolean writeCounters() {
    boolean changed = false;
    for (int at = layout.countersOffset(); at < layout.freeListOffset(); at += Long.BYTES) {
      changed |= write(at, 0);
    }
    return changed;
  }

  private boolean writeFreeList() {
    boolean changed = false;
    for (int i = 0; i < used.length; i++) {
      changed |= write(layout.freeListOffset() + i * Long.BYTES, used[i]);
    }
    return changed;
  }

  private boolean write(int at, long word) {
    if (segment.getLong(at) == word) {
      return false;
    }
    segment.putLong(at, word);
    return true;
  }
}
