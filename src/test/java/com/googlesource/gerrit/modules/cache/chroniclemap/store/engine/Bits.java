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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Random;

/** Where the bits of a store's file are, of which a test flips one. */
public final class Bits implements AutoCloseable {
  /** What a bit belongs to. */
  public enum Part {
    FILE_HEADER,
    SEGMENT_HEADERS,
    SLOTS,
    COUNTERS,
    FREE_LIST,
    KEY_LENGTH,
    KEY,
    RECORD_LENGTH,
    RECORD_HEAD,
    ANY_OF_A_SEGMENT
  }

  private final RecordMap twin;
  private final ByteBuffer file;

  /**
   * Takes the content of a file.
   *
   * @param empty where an empty file of the same layout can be made
   */
  public Bits(byte[] content, Geometry geometry, Path empty) throws Exception {
    twin = TestStores.file(empty, geometry);
    file = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** The segment of a key; of a byte of the file if it is in one; otherwise -1. */
  public int segmentOf(byte[] key) {
    return twin.segmentOf(StoredKey.ofValue(key));
  }

  /** The segment of a byte of the file; -1 if it is in none. */
  public int segmentAt(long at) {
    long offset = at - twin.layout.segmentsOffset;
    return offset < 0 ? -1 : (int) (offset / twin.layout.segmentBytes);
  }

  /** The offset of a byte. */
  public long choose(Part part, Random random) {
    FileLayout layout = twin.layout;
    if (part == Part.FILE_HEADER) {
      return random.nextLong(layout.headersOffset);
    }
    if (part == Part.SEGMENT_HEADERS) {
      return random.nextLong(layout.headersOffset, layout.segmentsOffset);
    }
    long segment = layout.offsetOf(random.nextInt(layout.segments));
    return segment
        + switch (part) {
          case SLOTS -> random.nextInt(layout.countersOffset);
          case COUNTERS -> random.nextInt(layout.countersOffset, layout.freeListOffset);
          case FREE_LIST -> layout.freeListOffset + random.nextInt(layout.freeListBytes);
          case ANY_OF_A_SEGMENT -> random.nextInt(layout.segmentBytes);
          default -> entry(part, segment, random);
        };
  }

  /** The offset of a byte of an entry within its segment. */
  private int entry(Part part, long segment, Random random) {
    FileLayout layout = twin.layout;
    ByteBuffer bytes =
        file.slice((int) segment, layout.segmentBytes).order(ByteOrder.LITTLE_ENDIAN);
    long slot = 0;
    while (slot == 0) {
      slot = layout.slot(bytes, random.nextInt(layout.slots) * layout.slotBytes);
    }
    int start = layout.startOf(layout.chunkOf(slot));
    // Keys of tests have less than 128 bytes.
    int record = start + 1 + bytes.get(start);
    return switch (part) {
      case KEY_LENGTH -> start;
      case KEY -> random.nextInt(start + 1, record);
      case RECORD_LENGTH -> record + random.nextInt(2);
      default -> record + 2 + random.nextInt(Envelope.HEADER_LENGTH);
    };
  }

  @Override
  public void close() {
    twin.close();
  }
}
