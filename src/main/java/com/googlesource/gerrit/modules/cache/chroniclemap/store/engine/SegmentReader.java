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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.function.Consumer;

/**
 * A reader of a file's segments that bypasses Chronicle-Map, to check or copy records while the
 * file is in use.
 *
 * <p>It reads the used chunks of a segment into a buffer, checks every length against the buffer,
 * and passes on only records whose checksum is right and that lookups find. It takes no locks. The
 * writer has to wait meanwhile, as a record that is moved could be missed or read twice.
 *
 * <p>Pages that the reader brought into the page cache are given back: see {@link BorrowedPages}.
 * For one thread at a time.
 */
public final class SegmentReader implements AutoCloseable {
  /** Bytes that are read at a time: the Java runtime copies them through a buffer of this size. */
  private static final int MAX_READ_BYTES = 256 << 10;

  /** Up to this many unused chunks are read too, as that is faster than two reads. */
  private static final int MAX_UNUSED = 256;

  private final FileChannel channel;
  private final FileLayout layout;
  private final SegmentCounts counts;
  private final BorrowedPages pages;

  /** Room for a segment; null until one is read, as a sweep mostly goes past them. */
  private byte[] bytes;

  private ByteBuffer buffer;
  private final RecordView record = new RecordView();

  /**
   * Prepares to read.
   *
   * @param map whose file is read
   * @param path the current name of that file
   */
  SegmentReader(RecordMap map, Path path) {
    this.channel = map.channel;
    this.counts = map.counts;
    this.layout = map.layout;
    this.pages = new BorrowedPages(path, map);
  }

  /**
   * Reads a segment as far as it is used; returns how many records are damaged: slots that lead to
   * no valid record, and records to which no slot leads.
   *
   * @param sink takes each record that has the right checksum and is not invalidated, which is
   *     valid during the call only; a record may come twice
   */
  public long read(int segment, Consumer<RecordView> sink) throws IOException {
    if (bytes == null) {
      bytes = new byte[layout.segmentBytes];
      buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
    long offset = layout.offsetOf(segment);
    pages.reading(offset, layout.segmentBytes);
    readUsed(offset, counts.room(segment));
    return readSlots(segment, sink);
  }

  private void readUsed(long offset, int room) throws IOException {
    if (room == 0) {
      Arrays.fill(bytes, (byte) 0);
      return;
    }
    read(offset, 0, layout.chunksOffset);
    BitSet used = layout.usedChunks(buffer, layout.chunksIn(room));
    int end = layout.chunksOffset;
    for (int chunk = used.nextSetBit(0); chunk >= 0; ) {
      int last = chunk;
      for (int next = used.nextSetBit(chunk + 1);
          next >= 0 && next - last <= MAX_UNUSED;
          next = used.nextSetBit(next + 1)) {
        last = next;
      }
      int start = layout.startOf(chunk);
      // Otherwise the buffer would keep records of another segment, with the right checksum.
      Arrays.fill(bytes, end, start, (byte) 0);
      end = layout.startOf(last + 1);
      read(offset, start, end);
      chunk = used.nextSetBit(last + 1);
    }
    Arrays.fill(bytes, end, bytes.length, (byte) 0);
    buffer.clear();
  }

  /** See {@link BorrowedPages}; to be called after each segment, without locks that others need. */
  public void dropPages() {
    pages.dropPages();
  }

  /** To be called when nothing more is read. For any thread. */
  @Override
  public void close() {
    pages.close();
  }

  private void read(long segmentOffset, int start, int end) throws IOException {
    buffer.clear().position(start).limit(end);
    if (!readFully(channel, segmentOffset, buffer)) {
      throw new LostContentException(
          "the store file was truncated to " + (segmentOffset + buffer.position()) + " bytes");
    }
  }

  /** Reads until the buffer is full, or returns false if the file ends before that. */
  public static boolean readFully(FileChannel channel, long offset, ByteBuffer buffer)
      throws IOException {
    int end = buffer.limit();
    while (buffer.position() < end) {
      buffer.limit(Math.min(end, buffer.position() + MAX_READ_BYTES));
      int read = channel.read(buffer, offset + buffer.position());
      buffer.limit(end);
      if (read < 0) {
        return false;
      }
    }
    return true;
  }

  /** Writes all of a buffer. */
  public static void writeFully(FileChannel channel, long offset, ByteBuffer buffer)
      throws IOException {
    long at = offset;
    while (buffer.hasRemaining()) {
      at += channel.write(buffer, at);
    }
  }

  private long readSlots(int segment, Consumer<RecordView> sink) {
    long damaged = 0;
    int taken = 0;
    for (int i = 0; i < layout.slots; i++) {
      long slot = layout.slot(buffer, i * layout.slotBytes);
      if (slot == 0) {
        continue;
      }
      taken++;
      // A record that no lookup finds may be superseded by another one.
      if (!record.parse(layout, bytes, slot) || !layout.isPlace(segment, slot, record)) {
        damaged++;
      } else if (!record.isInvalidated()) {
        sink.accept(record);
      }
    }
    // An unchecked segment may hold less than is noted.
    int lost = counts.isUnchecked(segment) ? 0 : counts.records(segment) - taken;
    return damaged + Math.max(0, lost);
  }
}
