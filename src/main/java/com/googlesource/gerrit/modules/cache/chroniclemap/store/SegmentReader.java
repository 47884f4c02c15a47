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
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * Reads the records of a file past Chronicle-Map: of one that nobody may map, because its last user
 * died or it was damaged since, and of one in use that is to be checked or copied.
 *
 * <p>Chronicle-Map has a recovery of its own, but it follows the lengths it finds in the file
 * without checking them, and a wrong one kills the process. Here the file is read segment by
 * segment into a buffer, every length is checked against it, and what comes out has the right
 * checksum over key and record. Locks do not matter, neither those of the living nor those that a
 * dead user held; where the file is in use, its writer has to wait meanwhile, or a record that
 * moves may be missed or come twice.
 *
 * <p>For one thread.
 */
final class SegmentReader {
  private static final int MAX_STOP_BIT_BYTES = 5;

  /** What records are handed to. */
  interface Sink {
    /**
     * Takes a record whose checksum is right and that is not void. The same key may come twice,
     * with the same record.
     */
    void accept(byte[] storedKey, byte[] record);
  }

  private final FileChannel channel;
  private final FileLayout layout;
  private final boolean whole;
  private final ByteBuffer buffer;

  /**
   * Prepares to read.
   *
   * @param channel stays the caller's
   * @param whole whether the file must not be cut off: one in use must be read wholly or not at all
   */
  SegmentReader(FileChannel channel, FileLayout layout, boolean whole) {
    this.whole = whole;
    this.channel = channel;
    this.layout = layout;
    this.buffer = ByteBuffer.allocate(layout.segmentBytes()).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Reads all records of a file that nobody maps.
   *
   * @param layout of a file of the same geometry
   * @return how many slots led to no valid record
   */
  static long readAll(Disk disk, Path file, FileLayout layout, Sink sink) throws IOException {
    try (FileChannel channel = disk.open(file, Set.of(StandardOpenOption.READ))) {
      SegmentReader reader = new SegmentReader(channel, layout, /* whole= */ false);
      long damaged = 0;
      for (int i = 0; i < layout.segments(); i++) {
        damaged += reader.read(i, sink);
      }
      return damaged;
    }
  }

  /** Reads a segment; returns how many slots led to no valid record. */
  long read(int segment, Sink sink) throws IOException {
    long offset = layout.segmentsOffset() + (long) segment * layout.segmentBytes();
    buffer.clear();
    readFully(offset);
    return readSlots(buffer.flip(), sink);
  }

  /** Reads until the buffer is full or the file ends. */
  private void readFully(long offset) throws IOException {
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, offset + buffer.position()) < 0) {
        if (whole) {
          throw new IOException("the file was cut off at " + (offset + buffer.position()));
        }
        return;
      }
    }
  }

  private long readSlots(ByteBuffer segment, Sink sink) {
    long damaged = 0;
    for (int i = 0; i < layout.slots(); i++) {
      int offset = i * layout.slotBytes();
      if (offset + layout.slotBytes() > segment.limit()) {
        break; // the file was cut off
      }
      long slot =
          layout.slotBytes() == Integer.BYTES ? segment.getInt(offset) : segment.getLong(offset);
      if (slot != 0 && !readEntry(segment, slot, sink)) {
        damaged++;
      }
    }
    return damaged;
  }

  private boolean readEntry(ByteBuffer segment, long slot, Sink sink) {
    long chunk = (slot >>> layout.keyBits()) & ((1L << layout.chunkBits()) - 1);
    if (chunk >= layout.chunks()) {
      return false;
    }
    long start = layout.chunksOffset() + chunk * layout.chunkBytes();
    if (start >= segment.limit()) {
      return false;
    }
    ByteBuffer in = segment.duplicate().order(ByteOrder.LITTLE_ENDIAN).position((int) start);
    try {
      byte[] storedKey = readBytes(in, in.remaining());
      byte[] record = storedKey == null ? null : readBytes(in, layout.maxRecord());
      if (record == null || !Envelope.isValid(storedKey, record)) {
        return false;
      }
      if (!Envelope.isVoid(record)) {
        sink.accept(storedKey, record);
      }
      return true;
    } catch (BufferUnderflowException e) {
      return false;
    }
  }

  /** Reads a length and that many bytes; returns null if the length makes no sense. */
  private static byte[] readBytes(ByteBuffer in, int maxLength) {
    long length = 0;
    for (int i = 0; i < MAX_STOP_BIT_BYTES; i++) {
      byte next = in.get();
      length |= (long) (next & 0x7f) << (7 * i);
      if (next >= 0) {
        if (length > maxLength || length > in.remaining()) {
          return null;
        }
        byte[] out = new byte[(int) length];
        in.get(out);
        return out;
      }
    }
    return null;
  }
}
