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

/**
 * Reads the records out of a file that nobody may map: one whose last user died, or that was
 * damaged since.
 *
 * <p>Chronicle-Map has a recovery of its own, but it follows the lengths it finds in the file
 * without checking them, and a wrong one kills the process. Here the file is read segment by
 * segment into a buffer, every length is checked against it, and what comes out has the right
 * checksum over key and record. Locks that the dead user held do not matter.
 */
final class Salvage {
  private static final int MAX_STOP_BIT_BYTES = 5;

  /** What salvaged records are handed to. */
  interface Sink {
    /**
     * Takes a record whose checksum is right. The same key may come twice, with the same record.
     */
    void accept(byte[] storedKey, byte[] record);
  }

  private final FileLayout layout;
  private final Sink sink;
  private long damaged;

  private Salvage(FileLayout layout, Sink sink) {
    this.layout = layout;
    this.sink = sink;
  }

  /**
   * Reads all records of a file.
   *
   * @param layout of a file of the same geometry
   * @return how many slots led to no valid record
   */
  static long read(Path file, FileLayout layout, Sink sink) throws IOException {
    Salvage salvage = new Salvage(layout, sink);
    ByteBuffer segment = ByteBuffer.allocate(layout.segmentBytes()).order(ByteOrder.LITTLE_ENDIAN);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      for (int i = 0; i < layout.segments(); i++) {
        long offset = layout.segmentsOffset() + (long) i * layout.segmentBytes();
        readFully(channel, segment.clear(), offset);
        salvage.readSegment(segment.flip());
      }
    }
    return salvage.damaged;
  }

  /** Reads until the buffer is full or the file ends. */
  private static void readFully(FileChannel channel, ByteBuffer buffer, long offset)
      throws IOException {
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, offset + buffer.position()) < 0) {
        return;
      }
    }
  }

  private void readSegment(ByteBuffer segment) {
    for (int i = 0; i < layout.slots(); i++) {
      int offset = i * layout.slotBytes();
      if (offset + layout.slotBytes() > segment.limit()) {
        return; // the file was cut off
      }
      long slot =
          layout.slotBytes() == Integer.BYTES ? segment.getInt(offset) : segment.getLong(offset);
      if (slot != 0 && !readEntry(segment, slot)) {
        damaged++;
      }
    }
  }

  private boolean readEntry(ByteBuffer segment, long slot) {
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
      sink.accept(storedKey, record);
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
