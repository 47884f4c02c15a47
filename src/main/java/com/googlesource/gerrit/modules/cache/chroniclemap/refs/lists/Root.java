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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.INT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.SHORT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.WORD;

import java.util.Arrays;

/**
 * The root of a parsed list: the ids, first names and counts of its blocks, in one byte array on
 * the heap. The comment of the package specifies the layout.
 *
 * <p>Immutable. Any thread may read.
 */
final class Root {
  static final byte VERSION = 4;

  static final int VERSION_AT = 0;
  static final int FLAGS_AT = 1;
  static final int BLOCKS_AT = 4;
  static final int REFS_AT = 8;
  static final int TEXT_BYTES_AT = 16;
  static final int DIGEST_HI_AT = 24;
  static final int DIGEST_LO_AT = 32;
  static final int IDS_AT = 40;
  static final int ID_BYTES = 2 * Long.BYTES;
  static final int PADDING = 8;

  /** The whole root, to be stored. Must not be changed. */
  final byte[] bytes;

  /** All flags. */
  final int flags;

  final int blocks;
  final int refs;
  private final int refsBeforeAt;
  private final int nameStartsAt;
  private final int lengthsAt;
  private final int namesAt;

  /** Whether names, which ascend by bytes, also ascend in JGit's order, as in nearly all lists. */
  final boolean inStringOrder;

  /**
   * Makes a root of its bytes.
   *
   * @param bytes the whole root, which must not change any more
   */
  Root(byte[] bytes) {
    this.bytes = bytes;
    if (bytes[VERSION_AT] != VERSION) {
      throw new IllegalStateException("not a root of this format");
    }
    flags = bytes[FLAGS_AT];
    blocks = intAt(BLOCKS_AT);
    refs = intAt(REFS_AT);
    refsBeforeAt = IDS_AT + blocks * ID_BYTES;
    nameStartsAt = refsBeforeAt + (blocks + 1) * Integer.BYTES;
    lengthsAt = nameStartsAt + (blocks + 1) * Integer.BYTES;
    namesAt = lengthsAt + blocks * Short.BYTES;
    inStringOrder = (flags & BlockFormat.BYTES_ONLY) == 0;
  }

  private int intAt(int at) {
    return (int) INT.get(bytes, at);
  }

  private long wordAt(int at) {
    return (long) WORD.get(bytes, at);
  }

  /** The flags of the header that all blocks of the list have. */
  int blockFlags() {
    return flags & BlockFormat.FLAGS;
  }

  long textBytes() {
    return wordAt(TEXT_BYTES_AT);
  }

  ContentDigest digest() {
    return new ContentDigest(wordAt(DIGEST_HI_AT), wordAt(DIGEST_LO_AT));
  }

  long idHi(int block) {
    return wordAt(IDS_AT + block * ID_BYTES);
  }

  long idLo(int block) {
    return wordAt(IDS_AT + block * ID_BYTES + Long.BYTES);
  }

  /** The number of refs in all blocks before one. For {@link #blocks}, the number of all refs. */
  int refsBefore(int block) {
    return intAt(refsBeforeAt + block * Integer.BYTES);
  }

  /** The length in bytes of the text from which a block was made. */
  int textLength(int block) {
    return (short) SHORT.get(bytes, lengthsAt + block * Short.BYTES) & 0xFFFF;
  }

  int firstNameLength(int block) {
    return firstNameAt(block + 1) - firstNameAt(block);
  }

  /** The place of a block's first name in {@link #bytes}. */
  int firstNameAt(int block) {
    return namesAt + (int) INT.get(bytes, nameStartsAt + block * Integer.BYTES);
  }

  /** Finds the last block whose first name is not after a target; -1 if there is none. */
  int blockOf(byte[] target, int offset, int length) {
    int from = 0;
    int to = blocks;
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (compareFirstName(middle, target, offset, length) <= 0) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from - 1;
  }

  /** Compares the first name of a block with a target, which starts at an offset. */
  int compareFirstName(int block, byte[] target, int offset, int length) {
    return Arrays.compareUnsigned(
        bytes, firstNameAt(block), firstNameAt(block + 1), target, offset, offset + length);
  }
}
