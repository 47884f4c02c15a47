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
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * Makes a file whose last user died fit to be mapped again, where it is: every entry is checked,
 * the index of each segment is put in order where it is not, and all locks are released.
 *
 * <p>Nothing of the file is trusted to be right; see {@link SegmentRepair}. Who is killed in the
 * middle of this leaves a file that can be repaired again: a slot is in the file as it was or as it
 * is to be, or not at all.
 */
final class FileRepair {
  private FileRepair() {}

  /**
   * Repairs a file that nobody maps.
   *
   * @param census counts what the file holds
   * @return how many slots led to no valid record
   * @throws IOException if the file can't be what a death left; some of it may have changed
   */
  static long repair(Disk disk, Path file, FileHeader header, Census census) throws IOException {
    FileLayout layout = header.layout();
    SegmentRepair segment = new SegmentRepair(layout, header.places());
    ByteBuffer headers =
        ByteBuffer.allocate(layout.segments() * layout.headerBytes())
            .order(ByteOrder.LITTLE_ENDIAN);
    long damaged = 0;
    try (FileChannel channel =
        disk.open(file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE))) {
      for (int i = 0; i < layout.segments(); i++) {
        long offset = layout.segmentsOffset() + (long) i * layout.segmentBytes();
        ByteBuffer copy = segment.segment().clear();
        if (!SegmentReader.readFully(channel, offset, copy)) {
          throw new IOException("the file was cut off at " + (offset + copy.position()));
        }
        if (segment.run(i, census::add)) {
          write(channel, offset, copy.position(0).limit(segment.endOfIndex()));
        }
        damaged += segment.damaged();
        headers.putInt(i * layout.headerBytes() + FileLayout.ENTRIES_IN_HEADER, segment.entries());
      }
      write(channel, layout.headersOffset(), headers);
      write(channel, header.stateOffset(), ByteBuffer.allocate(FileHeader.LOCK_BYTES));
    }
    return damaged;
  }

  private static void write(FileChannel channel, long offset, ByteBuffer from) throws IOException {
    long at = offset;
    while (from.hasRemaining()) {
      at += channel.write(from, at);
    }
  }
}
