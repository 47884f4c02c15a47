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

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.Arrays;

/**
 * Reads the records of a file in use past Chronicle-Map, to check or copy them.
 *
 * <p>What is in use of a segment is read into a buffer, every length is checked against it, and
 * what comes out has the right checksum over key and record. Locks do not matter; the writer has to
 * wait meanwhile, or a record that moves may be missed or come twice.
 *
 * <p>What it has brought into memory is given back: see {@link BorrowedPages}. For one thread at a
 * time.
 */
public final class SegmentReader implements AutoCloseable {
  /** Bytes that are read at once: the runtime reads by way of a buffer of that size. */
  private static final int MOST = 256 << 10;

  /** So many unused chunks are read rather than left out: to read twice takes longer. */
  private static final int MOST_UNUSED = 256;

  /** What records are handed to. */
  public interface Sink {
    /**
     * Takes a record whose checksum is right and that is not invalidated. The same key may come
     * twice, with the same record.
     *
     * @param record valid during the call only
     */
    void accept(RecordView record);
  }

  private final FileChannel channel;
  private final FileLayout layout;
  private final BorrowedPages pages;
  private final byte[] bytes;
  private final ByteBuffer buffer;
  private final RecordView record = new RecordView();

  /**
   * Prepares to read.
   *
   * @param channel stays the caller's
   * @param pages is closed with it
   */
  SegmentReader(FileChannel channel, FileLayout layout, BorrowedPages pages) {
    this.channel = channel;
    this.layout = layout;
    this.pages = pages;
    this.bytes = new byte[layout.segmentBytes()];
    this.buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Reads a segment, or what of it is in use: of one that is empty its slots. Returns how many
   * slots led to no valid record.
   */
  public long read(int segment, Sink sink) throws IOException {
    long offset = layout.segmentsOffset() + (long) segment * layout.segmentBytes();
    pages.reading(offset, layout.segmentBytes());
    readUsed(offset);
    return readSlots(sink);
  }

  private void readUsed(long offset) throws IOException {
    read(offset, 0, layout.chunksOffset());
    int end = layout.chunksOffset();
    for (int chunk = nextUsed(0); chunk < layout.chunks(); ) {
      int last = chunk;
      for (int next = nextUsed(chunk + 1);
          next < layout.chunks() && next - last <= MOST_UNUSED;
          next = nextUsed(next + 1)) {
        last = next;
      }
      int start = layout.startOf(chunk);
      // Or else what was read of another segment would be there, with the right checksum.
      Arrays.fill(bytes, end, start, (byte) 0);
      end = layout.startOf(last + 1);
      read(offset, start, end);
      chunk = nextUsed(last + 1);
    }
    Arrays.fill(bytes, end, bytes.length, (byte) 0);
    buffer.clear();
  }

  /**
   * Gives back what of the memory was taken for what was read: see {@link BorrowedPages}. To be
   * called after each segment, better without a lock that others wait for.
   */
  public void giveBack() {
    pages.giveBack();
  }

  /** Whoever reads no more closes it. For any thread. */
  @Override
  public void close() {
    pages.close();
  }

  private void read(long segmentOffset, int start, int end) throws IOException {
    buffer.clear().position(start).limit(end);
    if (!readFully(channel, segmentOffset, buffer)) {
      throw new IOException("the file was cut off at " + (segmentOffset + buffer.position()));
    }
  }

  /** The first chunk from this one on that is in use, or the number of chunks. */
  private int nextUsed(int chunk) {
    int words = layout.freeListBytes() / Long.BYTES;
    for (int word = chunk >>> 6; word < words; word++) {
      long used = buffer.getLong(layout.freeListOffset() + word * Long.BYTES);
      if (word == chunk >>> 6) {
        used &= -1L << chunk;
      }
      if (used != 0) {
        return Math.min(layout.chunks(), (word << 6) + Long.numberOfTrailingZeros(used));
      }
    }
    return layout.chunks();
  }

  /** Reads until the buffer is full, or returns false if the file ends before that. */
  public static boolean readFully(FileChannel channel, long offset, ByteBuffer buffer)
      throws IOException {
    int end = buffer.limit();
    while (buffer.position() < end) {
      buffer.limit(Math.min(end, buffer.position() + MOST));
      int read = channel.read(buffer, offset + buffer.position());
      buffer.limit(end);
      if (read < 0) {
        return false;
      }
    }
    return true;
  }

  private long readSlots(Sink sink) {
    long damaged = 0;
    for (int i = 0; i < layout.slots(); i++) {
      int offset = i * layout.slotBytes();
      long slot = layout.slot(buffer, offset);
      if (slot != 0 && !readEntry(slot, sink)) {
        damaged++;
      }
    }
    return damaged;
  }

  private boolean readEntry(long slot, Sink sink) {
    long chunk = layout.chunkOf(slot);
    if (chunk >= layout.chunks()) {
      return false;
    }
    if (!record.parse(bytes, layout.startOf(chunk), bytes.length, layout.maxRecord())) {
      return false;
    }
    if (!record.isInvalidated()) {
      sink.accept(record);
    }
    return true;
  }
}
