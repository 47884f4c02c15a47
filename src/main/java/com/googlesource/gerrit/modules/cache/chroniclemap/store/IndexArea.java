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
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/**
 * The parts of a file that Chronicle-Map follows without checking: its header and global state up
 * to the first segment, and at the start of each segment the hash slots, counters and bit set of
 * used chunks. A wrong bit there could lead a reader out of the mapped memory, so their checksum is
 * kept with the {@link CleanMarker}. The entries themselves are left out, they have their own
 * checksums.
 *
 * @param segmentsOffset offset of the first segment, bytes
 * @param segments number of segments
 * @param segmentBytes distance from one segment to the next, bytes
 * @param segmentIndexBytes bytes at the start of each segment that belong to the index
 */
record IndexArea(long segmentsOffset, int segments, long segmentBytes, long segmentIndexBytes) {
  private static final int BUFFER_BYTES = 256 << 10;

  /** CRC32C over the area, in the order of the file. */
  int checksum(Path file) throws IOException {
    CRC32C crc = new CRC32C();
    ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      add(crc, channel, buffer, 0, segmentsOffset);
      for (int i = 0; i < segments; i++) {
        add(crc, channel, buffer, segmentsOffset + i * segmentBytes, segmentIndexBytes);
      }
    }
    return (int) crc.getValue();
  }

  private static void add(
      CRC32C crc, FileChannel channel, ByteBuffer buffer, long offset, long length)
      throws IOException {
    long position = offset;
    long end = offset + length;
    while (position < end) {
      buffer.clear().limit((int) Math.min(buffer.capacity(), end - position));
      int read = channel.read(buffer, position);
      if (read < 0) {
        throw new IOException("the file ends at byte " + position + ", within its index");
      }
      crc.update(buffer.flip());
      position += read;
    }
  }
}
