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

import com.google.common.collect.LinkedListMultimap;
import com.google.common.collect.ListMultimap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * The repair of one segment after a kill or a crash of the machine, on a copy of the segment. Keeps
 * the slots that lead to valid records, and makes slots, bit set and counts fit these. Entries are
 * not moved.
 *
 * <p>A process that is killed during a change may leave a slot whose record is half written, an
 * entry in two slots while entries are moved up, or chunks in use without an entry. A crash of the
 * machine may leave any mixture of older and newer pages. If entries contradict each other, none of
 * them is trusted and the segment is emptied. No byte of the segment is assumed to be right.
 *
 * <p>For one thread.
 */
final class SegmentRepair {
  private final FileLayout layout;
  private final byte[] bytes;
  private final ByteBuffer segment;

  /** Bytes of all slots of a segment, a power of two. */
  private final int slotsBytes;

  /** The slots that are kept, by the parts of keys' hashes in them, in the order of finding. */
  private final ListMultimap<Long, Long> kept = LinkedListMultimap.create();

  private final BitSet used = new BitSet();
  private final RecordView record = new RecordView();
  private final RecordView other = new RecordView();

  private int values;
  private int recordBytes;

  /** The number of slots that led to no valid record. */
  int damaged;

  SegmentRepair(FileLayout layout) {
    this.layout = layout;
    bytes = new byte[layout.segmentBytes];
    segment = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    slotsBytes = layout.slotsEnd(layout.fullRoom);
  }

  /** Repairs a segment of a file and notes its counts. */
  void run(int index, RecordMap map) throws IOException {
    long offset = layout.offsetOf(index);
    if (!SegmentReader.readFully(map.channel, offset, segment.clear())) {
      throw new LostContentException(
          "the store file was truncated to " + (offset + segment.position()) + " bytes");
    }
    if (map.counts.room(index) != 0 || endOfUsed(layout.chunksOffset) != 0) {
      repair(index, map);
    }
    map.headers.setEntries(index, kept.size());
    map.counts.checked(index, kept.size(), values, recordBytes);
    map.state.wrote();
  }

  /** Returns where zeros begin that go on up to an offset. */
  private int endOfUsed(int before) {
    int end = before;
    while (end > 0 && bytes[end - 1] == 0) {
      end--;
    }
    return end;
  }

  private void repair(int index, RecordMap map) throws IOException {
    findSlots(index);
    // The machine may have stopped after the segment got more disk than the state file knows.
    int chunks = Math.max(layout.chunksIn(map.counts.room(index)), used.length());
    int room = layout.roomFor(index, chunks);
    while (layout.slotsIn(room) <= kept.size()) {
      room = layout.roomFor(index, 2L * layout.chunksIn(room));
    }
    ByteBuffer table = layout.table(kept.values(), layout.slotsIn(room));
    // What is not zero has its disk. The slots behind it may have none, and there may be none left.
    int slotsEnd = Math.max(table.capacity(), endOfUsed(slotsBytes));
    boolean changed = !table.equals(segment.slice(0, slotsEnd));
    Arrays.fill(bytes, 0, slotsEnd, (byte) 0);
    segment.put(0, table, 0, table.capacity());
    used.set(layout.chunksIn(room), layout.chunks);
    changed |= writeListOfUsed();
    map.state.beforeWrite();
    // In a copy, it may have holes for zeros; and a crash may take back what was allocated last.
    boolean isThere = map.allocateAgain(index, room);
    if (changed || !isThere) {
      write(index, map, 0, slotsEnd);
      int listEnd = layout.freeListOffset + layout.freeListBytes;
      write(index, map, layout.countersOffset, isThere ? listEnd : room);
    }
    map.counts.setRoom(index, room);
  }

  private void write(int index, RecordMap map, int from, int end) throws IOException {
    SegmentReader.writeFully(
        map.channel, layout.offsetOf(index) + from, segment.clear().position(from).limit(end));
  }

  /** Finds the slots of the copy that are kept. */
  private void findSlots(int index) {
    int mask = slotsBytes - 1;
    int first = firstFree();
    int taken = 0;
    // From a free slot on, records come into the slots that they have, if lookups find them there.
    for (int i = 0; i < slotsBytes; i += layout.slotBytes) {
      long slot = layout.slot(segment, (first + i) & mask);
      if (slot != 0) {
        taken++;
        if (!take(slot, index)) {
          empty();
          damaged = taken;
          break;
        }
      }
    }
  }

  /** Returns the offset of a free slot; 0 if there is none. */
  private int firstFree() {
    int at = 0;
    while (at < slotsBytes && layout.slot(segment, at) != 0) {
      at += layout.slotBytes;
    }
    return at & (slotsBytes - 1);
  }

  private void empty() {
    kept.clear();
    values = 0;
    recordBytes = 0;
    used.clear();
  }

  /**
   * Keeps a slot if its record is valid and not invalidated; returns false if the record
   * contradicts those that were kept.
   */
  private boolean take(long slot, int index) {
    if (!record.parse(layout, bytes, slot)
        || !layout.isPlace(index, slot, record)
        || !kindMatchesKey()) {
      damaged++;
      return true;
    }
    if (record.isInvalidated()) {
      return true;
    }
    List<Long> same = kept.get(layout.keyOf(slot));
    if (same.contains(slot)) {
      return true; // a duplicate, as the slot was being moved
    }
    if (same.stream().anyMatch(this::isSameKey)) {
      return false; // two records of one key
    }
    if (!takeChunks(layout.chunkOf(slot)) || kept.size() + 1 >= layout.slots) {
      return false;
    }
    same.add(slot);
    values += record.isPart() || record.isNote() ? 0 : 1;
    recordBytes += record.isNote() ? 0 : record.length();
    return true;
  }

  private boolean kindMatchesKey() {
    return switch (record.kind()) {
      case Envelope.WHOLE -> !record.isPart();
      case Envelope.HEAD ->
          !record.isPart()
              && (PartList.decode(record.payload()) != null
                  || ChunkRoot.decode(record.payload()) != null);
      case Envelope.PART -> record.isPart();
      default -> false;
    };
  }

  private boolean isSameKey(long slot) {
    return other.parse(layout, bytes, slot)
        && Arrays.equals(
            bytes,
            record.keyAt,
            record.keyAt + record.keyLength,
            bytes,
            other.keyAt,
            other.keyAt + other.keyLength);
  }

  /** Marks the chunks of the record as used; returns false if that is impossible. */
  private boolean takeChunks(long chunk) {
    int length = record.end() - layout.startOf(chunk);
    long end = chunk + (length + layout.chunkBytes - 1) / layout.chunkBytes;
    if (end > layout.chunks) {
      return false; // beyond the end of the segment
    }
    int next = used.nextSetBit((int) chunk);
    if (next >= 0 && next < end) {
      return false; // used by another entry
    }
    used.set((int) chunk, (int) end);
    return true;
  }

  /** Writes which chunks are used, and before that the zeros of the counters of only one tier. */
  private boolean writeListOfUsed() {
    boolean changed = false;
    int list = layout.freeListOffset;
    long[] words = Arrays.copyOf(used.toLongArray(), layout.freeListBytes / Long.BYTES);
    for (int at = layout.countersOffset; at < list + layout.freeListBytes; at += Long.BYTES) {
      long word = at < list ? 0 : words[(at - list) / Long.BYTES];
      if (segment.getLong(at) != word) {
        segment.putLong(at, word);
        changed = true;
      }
    }
    return changed;
  }
}
