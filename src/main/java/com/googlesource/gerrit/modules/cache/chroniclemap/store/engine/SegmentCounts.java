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

import com.google.common.primitives.Ints;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongPredicate;

/**
 * The counts of a file's segments, in the {@link FileState}: what each segment holds, whether it
 * must be checked before it is used, and which segments were written last and may be half written.
 *
 * <p>The format, little endian:
 *
 * <pre>
 *    320  numbers of the segments written last, plus 1 (16 of 4)
 *    512  for each segment: records (4), values (4), bytes (4), flags (4)
 *         for each segment: room (4)
 * </pre>
 *
 * <p>The lowest bit of the flags is 1 if the segment is unchecked. The bits above are the minute,
 * since the epoch, before which no value of the segment was made: 0 if that is not known, as in
 * files of older versions; all ones if the segment is empty. With all bits set, whatever is in the
 * segment was removed with all other values, and the segment is emptied before it is used.
 *
 * <p>The room of a segment is where, from its start, the chunks end that have disk and may be used:
 * 0 before its first use. What is before them has disk, but for slots that are not used yet: see
 * {@link FileLayout#slotsIn}. In files of version 1.0.0 each segment has all of its disk.
 *
 * <p>A segment of 1 MB or more takes 20 bytes here, and 4 on the heap. Unless they say otherwise,
 * methods may be called by any thread.
 */
public final class SegmentCounts {
  private static final int WRITTEN_LAST_AT = 320;
  private static final int WRITTEN_LAST = 16;
  private static final int TABLE_AT = 512;
  private static final int ROW_BYTES = 16;
  private static final int RECORDS = 0;
  private static final int VALUES = 4;
  private static final int BYTES = 8;
  private static final int FLAGS = 12;
  private static final int UNCHECKED = 1;
  private static final int EMPTY = 0xFFFF_FFFE;
  private static final int TO_BE_EMPTIED = EMPTY | UNCHECKED;
  private static final int MAX_MINUTE = (EMPTY >>> 1) - 1;
  private static final long MINUTE_MILLIS = 60_000;

  private static final VarHandle INT =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** The state file; null once unmapped. */
  private ByteBuffer buffer;

  /** The number of segments. */
  public final int segments;

  /** The offset of the segments' rooms. */
  private final int roomsAt;

  /** The same rooms, for those who ask for figures though the state file may be unreadable. */
  private final int[] rooms;

  private final AtomicLong records = new AtomicLong();
  private final AtomicLong values = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicInteger unchecked = new AtomicInteger();

  /** The segments written last, as in the file; for the writer. */
  private final int[] writtenLast = new int[WRITTEN_LAST];

  private int nextWritten;

  /** Reads the counts of a state file. */
  SegmentCounts(ByteBuffer buffer, int segments) {
    this.buffer = buffer;
    this.segments = segments;
    this.roomsAt = endBefore(segments);
    this.rooms = new int[segments];
    for (int i = 0; i < segments; i++) {
      rooms[i] = buffer.getInt(roomsAt + Integer.BYTES * i);
      records.addAndGet(get(i, RECORDS));
      values.addAndGet(get(i, VALUES));
      bytes.addAndGet(get(i, BYTES));
      unchecked.addAndGet(get(i, FLAGS) & UNCHECKED);
    }
  }

  /** The offset at which the counts end, and the state file with them. */
  static int end(int segments) {
    return endBefore(segments) + Integer.BYTES * segments;
  }

  /** The same of version 1.0.0. */
  static int endBefore(int segments) {
    return row(segments);
  }

  /** What version 1.0.0 lacks: the rooms of segments that have all of their disk. */
  static ByteBuffer fullRooms(int segments) {
    ByteBuffer full = ByteBuffer.allocate(Integer.BYTES * segments).order(ByteOrder.LITTLE_ENDIAN);
    while (full.hasRemaining()) {
      full.putInt(Integer.MAX_VALUE);
    }
    return full.flip();
  }

  /** Writes the counts of empty segments into bytes of zeros. */
  static void putEmpty(ByteBuffer content, int segments) {
    for (int i = 0; i < segments; i++) {
      content.putInt(row(i) + FLAGS, EMPTY);
    }
  }

  /** To be called before the state file is unmapped. After that only the totals may be read. */
  synchronized void unmapped() {
    buffer = null;
  }

  /** Requires a segment to be checked before it is used; forgets the age of its values. */
  synchronized void mark(int segment) {
    if (get(segment, FLAGS) != TO_BE_EMPTIED) {
      mark(segment, UNCHECKED);
    }
  }

  private void mark(int segment, int flags) {
    if ((get(segment, FLAGS) & UNCHECKED) == 0) {
      unchecked.incrementAndGet();
    }
    INT.setRelease(buffer, row(segment) + FLAGS, flags);
  }

  /**
   * Has all segments emptied before they are used. From then on, nothing of what they hold is
   * found, even if the process is killed. Costs a write to memory for each segment; for the writer.
   */
  public synchronized void emptyAll() {
    for (int i = 0; buffer != null && i < segments; i++) {
      if (room(i) != 0 || isUnchecked(i)) {
        mark(i, TO_BE_EMPTIED);
        setCounts(i, 0, 0, 0);
      }
    }
  }

  /** Whether a segment is to be emptied, so that nothing of what it holds counts. */
  boolean isToBeEmptied(int segment) {
    return unchecked.get() != 0 && get(segment, FLAGS) == TO_BE_EMPTIED;
  }

  /** Notes that a segment was emptied, and has no disk any more. */
  synchronized void emptied(int segment) {
    setCounts(segment, 0, 0, 0);
    setRoom(segment, 0);
    endCheck(segment, EMPTY);
  }

  /** Like {@link #mark}, for all segments. Does nothing after {@link #unmapped}. */
  public synchronized void markAll() {
    for (int i = 0; buffer != null && i < segments; i++) {
      mark(i);
    }
  }

  /** Marks the segments that were written last before the file was opened. */
  void markWrittenLast() {
    for (int i = 0; i < WRITTEN_LAST; i++) {
      int segment = buffer.getInt(WRITTEN_LAST_AT + 4 * i) - 1;
      if (segment >= 0 && segment < segments) {
        mark(segment);
      }
    }
  }

  void forgetWrittenLast() {
    buffer.put(WRITTEN_LAST_AT, new byte[4 * WRITTEN_LAST]);
  }

  /** Notes that a segment is about to be written to; for the writer. */
  void begin(int segment) {
    if (Ints.contains(writtenLast, segment + 1)) {
      return;
    }
    writtenLast[nextWritten] = segment + 1;
    INT.setRelease(buffer, WRITTEN_LAST_AT + 4 * nextWritten, segment + 1);
    VarHandle.fullFence();
    nextWritten = (nextWritten + 1) % WRITTEN_LAST;
  }

  /** Adds to the counts of a segment, which no other thread may change meanwhile. */
  void add(int segment, int moreRecords, int moreValues, int moreBytes) {
    int row = row(segment);
    buffer.putInt(row + RECORDS, buffer.getInt(row + RECORDS) + moreRecords);
    buffer.putInt(row + VALUES, buffer.getInt(row + VALUES) + moreValues);
    buffer.putInt(row + BYTES, buffer.getInt(row + BYTES) + moreBytes);
    records.addAndGet(moreRecords);
    values.addAndGet(moreValues);
    bytes.addAndGet(moreBytes);
  }

  /** Whether a segment must be checked before it is used. */
  public boolean isUnchecked(int segment) {
    return unchecked.get() != 0
        && ((int) INT.getAcquire(buffer, row(segment) + FLAGS) & UNCHECKED) != 0;
  }

  /** The number of segments that are not checked yet. */
  public int unchecked() {
    return unchecked.get();
  }

  /** Notes that a segment was checked, and its counts, unless it is to be emptied by now. */
  synchronized void checked(int segment, int newRecords, int newValues, int newBytes) {
    if (!isToBeEmptied(segment)) {
      setCounts(segment, newRecords, newValues, newBytes);
      endCheck(segment, 0);
    }
  }

  private void setCounts(int segment, int newRecords, int newValues, int newBytes) {
    add(
        segment,
        newRecords - get(segment, RECORDS),
        newValues - get(segment, VALUES),
        newBytes - get(segment, BYTES));
  }

  private void endCheck(int segment, int flags) {
    INT.setRelease(buffer, row(segment) + FLAGS, flags);
    unchecked.decrementAndGet();
  }

  /** Notes when a value was made that is about to be stored in a segment; for the writer. */
  void noteCreated(int segment, long created) {
    int flags = get(segment, FLAGS);
    int minute = minuteOf(created);
    if (minute < flags >>> 1) {
      buffer.putInt(row(segment) + FLAGS, minute << 1 | (flags & UNCHECKED));
    }
  }

  /**
   * Notes when the oldest value of a segment was made, unless a reader has found meanwhile that the
   * segment must be checked; for the writer.
   *
   * @param created milliseconds since the epoch; {@link Long#MAX_VALUE} if there is no value
   */
  public synchronized void noteOldest(int segment, long created) {
    if ((get(segment, FLAGS) & UNCHECKED) == 0) {
      int flags = created == Long.MAX_VALUE ? EMPTY : minuteOf(created) << 1;
      buffer.putInt(row(segment) + FLAGS, flags);
    }
  }

  private static int minuteOf(long created) {
    return Math.clamp(Math.floorDiv(created, MINUTE_MILLIS), 1, MAX_MINUTE);
  }

  /**
   * Whether a segment may hold a value that is too old; for the writer.
   *
   * @param isTooOld whether a time in milliseconds since the epoch is too old
   */
  public boolean mayHoldOld(int segment, LongPredicate isTooOld) {
    int flags = get(segment, FLAGS) & ~UNCHECKED;
    // What is not known may be of any time.
    return flags != EMPTY && isTooOld.test((flags >>> 1) * MINUTE_MILLIS);
  }

  /** The number of records in a segment. */
  public int records(int segment) {
    return get(segment, RECORDS);
  }

  /** The number of records in all segments, including parts of values. */
  public long records() {
    return records.get();
  }

  /** The number of values in all segments. */
  public long values() {
    return values.get();
  }

  /** The bytes of keys and records in all segments. */
  public long bytes() {
    return bytes.get();
  }

  /** Where the chunks of a segment end that have disk; 0 before its first use. */
  int room(int segment) {
    return rooms[segment];
  }

  /** Notes where the chunks end that have disk. No other thread may use the segment meanwhile. */
  void setRoom(int segment, int room) {
    buffer.putInt(roomsAt + Integer.BYTES * segment, room);
    rooms[segment] = room;
  }

  private static int row(int segment) {
    return TABLE_AT + ROW_BYTES * segment;
  }

  private int get(int segment, int column) {
    return buffer.getInt(row(segment) + column);
  }
}
