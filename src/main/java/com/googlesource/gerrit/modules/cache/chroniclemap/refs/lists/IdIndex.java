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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.eclipse.jgit.annotations.Nullable;

/**
 * An index from ids to the blocks of a list that may have them, in direct memory: for each object
 * id and peeled id, its first 40 bits and the number of its block, in order. Callers compare the
 * ids in the blocks, so ids that begin alike only cost time. Nobody makes many of these: each takes
 * 2^40 tries.
 *
 * <p>An id that several refs of a block have is entered once, so a ref takes eight bytes, or 16 if
 * it is an annotated tag. A question costs two binary searches. To make the index, all blocks are
 * read, and the entries are sorted on the heap.
 *
 * <p>Immutable. Any thread may read.
 */
record IdIndex(LongBuffer entries) {
  /** So many blocks are read as fast as an index answers (10 microseconds). */
  static final int MAX_UNINDEXED_BLOCKS = 16;

  /** Of a list in which each ref has an id of its own. */
  static final long BYTES_A_REF = Long.BYTES;

  /** Enough for 1.6 billion refs, with about a hundred in a block. */
  private static final int BLOCK = (1 << 24) - 1;

  /**
   * Makes the index of a list. Returns null if there is no room for it.
   *
   * @throws OutOfMemoryError if there is not enough memory
   */
  @Nullable
  static IdIndex of(ParsedRefs list, ListMemory allocator) {
    // As nearly all lists have fewer tags than an eighth, this is nearly always enough.
    long[] entries = new long[list.size() + list.size() / 8 + 2 * BlockWriter.MAX_COUNT];
    int count = 0;
    for (int block = 0; block < list.blocks(); block++) {
      BlockView view = list.open(block);
      if (entries.length < count + 2 * view.count) {
        entries = Arrays.copyOf(entries, 2 * (count + view.count));
      }
      int end = view.readIdStarts(entries, count);
      for (; count < end; count++) {
        entries[count] = entry(entries[count], block);
      }
    }
    Arrays.sort(entries, 0, count);
    int distinct = 0;
    for (int i = 0; i < count; i++) {
      if (i == 0 || entries[i] != entries[i - 1]) {
        entries[distinct++] = entries[i];
      }
    }
    long bytes = (long) distinct * Long.BYTES;
    if (!allocator.hasRoomForIndex(bytes)) {
      return null;
    }
    LongBuffer index =
        allocator.allocate((int) bytes).order(ByteOrder.nativeOrder()).asLongBuffer();
    return new IdIndex(index.put(entries, 0, distinct).flip());
  }

  /**
   * Returns the entry of an id in a block.
   *
   * @param start the first eight bytes of the id
   */
  private static long entry(long start, int block) {
    return (start & ~BLOCK) | block;
  }

  /**
   * Returns the blocks from one on that may have an id, in order.
   *
   * @param start the first eight bytes of the id
   */
  IntStream find(long start, int first) {
    int from = place(entry(start, first));
    int end = place(entry(start, BLOCK)); // no block has this number
    return IntStream.range(from, end).map(i -> (int) entries.get(i) & BLOCK);
  }

  /** Returns how many entries are less than another one. */
  private int place(long other) {
    return BinarySearch.first(0, entries.limit(), i -> entries.get(i) >= other);
  }

  long bytes() {
    return (long) entries.limit() * Long.BYTES;
  }
}
