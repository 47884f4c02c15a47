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
 * the heap. {@code resources/Documentation/refs-format.md} specifies the layout.
 *
 * <p>Immutable. Any thread may read.
 */
final class Root {
  static final byte VERSION = 3;

  // Flags in addition to those of BlockFormat.

  /** Flag: the header declares {@code sorted}. */
  static final int SORTED = 1 << 5;

  /** Flag: there is a header. */
  static final int HEADER = 1 << 6;

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

  /**
   * Whether names ascend in JGit's order, which is that of {@link String#compareTo}. If not, they
   * ascend by bytes, as native git sorts.
   */
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

  /** Whether all names ascend both by bytes and in JGit's order, as in nearly all lists. */
  boolean ascendsInBothOrders() {
    return inStringOrder && ascendsByBytes();
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

  /** Whether names ascend by bytes, as native git expects of a sorted file. */
  boolean ascendsByBytes() {
    return (flags & BlockFormat.UTF16_ONLY) == 0;
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

  private int nameStart(int block) {
    return intAt(nameStartsAt + block * Integer.BYTES);
  }

  int firstNameLength(int block) {
    return nameStart(block + 1) - nameStart(block);
  }

  void copyFirstName(int block, byte[] target, int offset) {
    System.arraycopy(bytes, namesAt + nameStart(block), target, offset, firstNameLength(block));
  }

  /**
   * Finds the last block whose first name is not after the target; -1 if there is none.
   *
   * @param inStringOrder the order of the names
   */
  int blockOf(byte[] target, int length, boolean inStringOrder) {
    int from = 0;
    int to = blocks;
    int lowMatch = 0;
    int highMatch = 0;
    while (from < to) {
      int middle = (from + to) >>> 1;
      int at = nameStart(middle);
      int firstNameLength = nameStart(middle + 1) - at;
      int match =
          mismatch(
              namesAt + at,
              target,
              Math.min(lowMatch, highMatch),
              Math.min(firstNameLength, length));
      if (order(namesAt + at, firstNameLength, match, target, length, inStringOrder) <= 0) {
        from = middle + 1;
        lowMatch = match;
      } else {
        to = middle;
        highMatch = match;
      }
    }
    return from - 1;
  }

  /**
   * Compares the first name of a block with a target.
   *
   * @param offset the start of the target, which has 8 readable bytes behind its end
   */
  int compareFirstName(int block, byte[] target, int offset, int length) {
    int at = namesAt + nameStart(block);
    int firstNameLength = firstNameLength(block);
    int end = Math.min(firstNameLength, length);
    int match = Arrays.mismatch(bytes, at, at + end, target, offset, offset + end);
    return match < 0
        ? firstNameLength - length
        : Names.compareBytes(bytes[at + match], target[offset + match], inStringOrder);
  }

  /**
   * Compares a name in a text with another name, in the order to be kept by an edit of this list.
   * Names that ascend by bytes have to stay so, as native git relies on that order.
   */
  int compareNames(byte[] text, int from, int to, byte[] name) {
    int match = Arrays.mismatch(text, from, to, name, 0, name.length);
    if (match < 0) {
      return 0;
    }
    int length = to - from;
    return match == Math.min(length, name.length)
        ? length - name.length
        : Names.compareBytes(text[from + match], name[match], !ascendsByBytes());
  }

  /** Finds the block in whose text a name belongs, in the order of {@link #compareNames}. */
  int blockToEdit(byte[] name) {
    byte[] target = Arrays.copyOf(name, name.length + PADDING);
    return Math.max(0, blockOf(target, name.length, !ascendsByBytes()));
  }

  private int order(
      int at, int firstNameLength, int match, byte[] target, int length, boolean inStringOrder) {
    if (match == firstNameLength) {
      return match == length ? 0 : -1;
    }
    if (match == length) {
      return 1;
    }
    return Names.compareBytes(bytes[at + match], target[match], inStringOrder);
  }

  private int mismatch(int at, byte[] target, int from, int end) {
    for (int i = from; i < end; i += Long.BYTES) {
      long differ = (long) WORD.get(bytes, at + i) ^ (long) WORD.get(target, i);
      if (differ != 0) {
        return Math.min(end, i + (Long.numberOfTrailingZeros(differ) >>> 3));
      }
    }
    return end;
  }
}
