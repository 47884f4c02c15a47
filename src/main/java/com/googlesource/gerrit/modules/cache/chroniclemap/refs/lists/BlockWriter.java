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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.SHORT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.WORD;

import java.nio.ByteBuffer;

/** A writer of blocks, which is reused without allocations. For one thread. */
final class BlockWriter {

  /** The most refs of a chunk. A line has at least 41 bytes and a line feed. */
  static final int MAX_COUNT = Chunks.HARD_MAX / 42 + 1;

  /** The most bytes of ids or entries, which are shorter than their text except for the lengths. */
  private static final int MAX_BYTES = Chunks.HARD_MAX + 4 * MAX_COUNT;

  private final byte[] ids = new byte[MAX_BYTES];
  private final byte[] entries = new byte[MAX_BYTES];
  private final int[] restarts = new int[BlockFormat.restarts(MAX_COUNT)];
  private final byte[] block = new byte[2 * MAX_BYTES];
  private final ByteBuffer result = ByteBuffer.wrap(block);

  /** Of the header, and of the orders of the names so far. */
  int flags;

  /** Number of refs in this block. */
  int count;

  private int idsEnd;
  private int entriesEnd;

  /** Starts a block. */
  void start(int blockFlags) {
    flags = blockFlags;
    count = 0;
    idsEnd = 0;
    entriesEnd = 0;
  }

  /** Reads the id of the next ref, in hex. Returns false if there is none. */
  boolean readId(byte[] text, int at) {
    return Lines.hex(text, at, ids, idsEnd);
  }

  /**
   * Adds a ref whose id has been read.
   *
   * @param text has at least 8 readable bytes after the name
   * @param shared how many bytes the name shares with the name before
   */
  void add(byte[] text, int nameAt, int nameLength, int shared) {
    int inCommon = shared;
    if (count % BlockFormat.RESTART_EVERY == 0) {
      restarts[count / BlockFormat.RESTART_EVERY] = entriesEnd;
      inCommon = 0;
    }
    byte[] out = entries;
    suffixLengthAt = putLength(entriesEnd, inCommon, BlockFormat.LONG_SHARED);
    int suffix = nameLength - inCommon;
    int p = putLength(suffixLengthAt, suffix, BlockFormat.LONG_SUFFIX);
    int from = nameAt + inCommon;
    if (suffix <= 2 * Long.BYTES) {
      // Most suffixes are short. Two stores are faster than a call; excess bytes are overwritten.
      WORD.set(out, p, (long) WORD.get(text, from));
      WORD.set(out, p + Long.BYTES, (long) WORD.get(text, from + Long.BYTES));
    } else {
      System.arraycopy(text, from, out, p, suffix);
    }
    entriesEnd = p + suffix;
    idsEnd += BlockFormat.ID_BYTES;
    count++;
  }

  /** Writes a length, in two more bytes if it does not fit. Returns the place behind it. */
  private int putLength(int at, int length, int isLong) {
    entries[at] = (byte) Math.min(length, isLong);
    if (length < isLong) {
      return at + 1;
    }
    SHORT.set(entries, at + 1, (short) length);
    return at + 1 + Short.BYTES;
  }

  private int suffixLengthAt;

  /**
   * Marks the last ref as a tag, and reads its peeled id, in hex. Returns false if there is none.
   */
  boolean addPeeled(byte[] text, int at) {
    if (!Lines.hex(text, at, entries, entriesEnd)) {
      return false;
    }
    entries[suffixLengthAt] |= (byte) BlockFormat.HAS_PEELED_ID;
    entriesEnd += BlockFormat.ID_BYTES;
    return true;
  }

  /** Returns the block, which is valid until the next block is started. */
  ByteBuffer finish() {
    block[BlockFormat.VERSION_AT] = BlockFormat.VERSION;
    block[BlockFormat.FLAGS_AT] = (byte) flags;
    SHORT.set(block, BlockFormat.COUNT_AT, (short) count);
    int p = BlockFormat.RESTARTS_AT;
    int entriesAt = BlockFormat.idsAt(count) + idsEnd;
    for (int i = 0; i < BlockFormat.restarts(count); i++) {
      SHORT.set(block, p, (short) (entriesAt + restarts[i]));
      p += Short.BYTES;
    }
    System.arraycopy(ids, 0, block, p, idsEnd);
    p += idsEnd;
    System.arraycopy(entries, 0, block, p, entriesEnd);
    p += entriesEnd;
    WORD.set(block, p, 0L);
    return result.position(0).limit(p + BlockFormat.PADDING);
  }
}
