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
import java.util.function.Consumer;

/**
 * A reader of a file's segments that bypasses Chronicle-Map, to check or copy records while the
 * file is in use.
 *
 * <p>It reads what a segment may use into a buffer, checks every length against the buffer, and
 * passes on only records whose checksum is right and that lookups find. It takes no locks. The
 * writer has to wait meanwhile, as a record that is moved could be missed or read twice.
 *
 * <p>Pages that the reader brought into the page cache are given back: see {@link BorrowedPages}.
 * For one thread at a time.
 */
public final class SegmentReader implements AutoCloseable {
  /** Bytes that are read at a time: the Java runtime copies them through a buffer of this size. */
  private static final int MAX_READ_BYTES = 256 << 10;

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
   * @param path of that file
   */
  SegmentReader(RecordMap map, Path path) {
    this.channel = map.channel;
    this.counts = map.counts;
    this.layout = map.layout;
    this.pages = new BorrowedPages(path, map.mappedBytes);
  }

  /**
   * Reads a segment; returns how many records are damaged: slots that lead to no valid record, and
   * records to which no slot leads.
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
    int room = counts.room(segment);
    if (!readFully(channel, offset, buffer.clear().limit(room))) {
      throw new LostContentException(
          "the store file was truncated to " + (offset + buffer.position()) + " bytes");
    }
    // Otherwise the buffer would keep records of another segment, with the right checksum.
    Arrays.fill(bytes, room, bytes.length, (byte) 0);
    buffer.clear();
    return readSlots(segment, sink);
  }

  /** See {@link BorrowedPages}; to be called after each segment, without locks that others need. */
  public void dropPages() {
    pages.dropPages();
  }

  /** To be called when nothing more is read, without any lock that others wait for. */
  @Override
  public void close() {
    pages.close();
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
