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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The root of a parsed list: which blocks it has, their first names and counts, in one byte string.
 * Layout specified in {@code resources/Documentation/refs-format.md}.
 *
 * <p>Immutable; any thread may read it.
 */
final class Root {
  static final byte VERSION = 1;

  /** Flags beside those of {@link BlockFormat}: the blocks' text is not the file's. */
  static final int IRREGULAR = 1 << 2;

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

  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle ARRAY_WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final ByteBuffer bytes;
  private final int flags;
  private final int blocks;
  private final int refs;
  private final int firstsAt;
  private final int fencesAt;
  private final int lengthsAt;
  private final int namesAt;

  /**
   * Reads a root.
   *
   * @param bytes the whole root from position 0 to the limit, in direct memory; not changed any
   *     more
   */
  Root(ByteBuffer bytes) {
    this.bytes = bytes.order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.get(VERSION_AT) != VERSION) {
      throw new IllegalStateException("not a root of this format");
    }
    flags = bytes.get(FLAGS_AT);
    blocks = bytes.getInt(BLOCKS_AT);
    refs = bytes.getInt(REFS_AT);
    firstsAt = IDS_AT + blocks * ID_BYTES;
    fencesAt = firstsAt + (blocks + 1) * Integer.BYTES;
    lengthsAt = fencesAt + (blocks + 1) * Integer.BYTES;
    namesAt = lengthsAt + blocks * Short.BYTES;
  }

  /** What is to be stored: the whole root. */
  ByteBuffer bytes() {
    return bytes.duplicate().position(0);
  }

  /** Flags of the list, which its blocks have too, and {@link #IRREGULAR}. */
  int flags() {
    return flags;
  }

  boolean irregular() {
    return (flags & IRREGULAR) != 0;
  }

  int blocks() {
    return blocks;
  }

  int refs() {
    return refs;
  }

  long textBytes() {
    return bytes.getLong(TEXT_BYTES_AT);
  }

  ContentDigest digest() {
    return new ContentDigest(bytes.getLong(DIGEST_HI_AT), bytes.getLong(DIGEST_LO_AT));
  }

  long idHi(int block) {
    return bytes.getLong(IDS_AT + block * ID_BYTES);
  }

  long idLo(int block) {
    return bytes.getLong(IDS_AT + block * ID_BYTES + Long.BYTES);
  }

  /** How many refs stand in the blocks before; of {@link #blocks} all. */
  int first(int block) {
    return bytes.getInt(firstsAt + block * Integer.BYTES);
  }

  /** Bytes of the text from which a block was made. */
  int textLength(int block) {
    return bytes.getShort(lengthsAt + block * Short.BYTES) & 0xFFFF;
  }

  private int fence(int block) {
    return bytes.getInt(fencesAt + block * Integer.BYTES);
  }

  int fenceLength(int block) {
    return fence(block + 1) - fence(block);
  }

  void copyFence(int block, byte[] target, int offset) {
    bytes.get(namesAt + fence(block), target, offset, fenceLength(block));
  }

  /** The last block whose first name is not after the target; -1 if there is none. */
  int blockOf(byte[] target, int length) {
    int low = 0;
    int high = blocks;
    int lowMatch = 0;
    int highMatch = 0;
    while (low < high) {
      int middle = (low + high) >>> 1;
      int at = fence(middle);
      int fenceLength = fence(middle + 1) - at;
      int match =
          mismatch(
              namesAt + at, target, Math.min(lowMatch, highMatch), Math.min(fenceLength, length));
      if (order(namesAt + at, fenceLength, match, target, length) <= 0) {
        low = middle + 1;
        lowMatch = match;
      } else {
        high = middle;
        highMatch = match;
      }
    }
    return low - 1;
  }

  /**
   * Order of a block's first name and a target.
   *
   * @param offset where the target starts; it has 8 readable bytes more than its length
   */
  int compareFence(int block, byte[] target, int offset, int length) {
    int at = namesAt + fence(block);
    int fenceLength = fenceLength(block);
    int end = Math.min(fenceLength, length);
    for (int i = 0; i < end; i++) {
      byte b = bytes.get(at + i);
      if (b != target[offset + i]) {
        return Names.compareBytes(b, target[offset + i]);
      }
    }
    return fenceLength - length;
  }

  /** Order of two names in this list: one that stands in a text, and another one. */
  int compareNames(byte[] text, int from, int to, byte[] name) {
    int length = to - from;
    int end = Math.min(length, name.length);
    for (int i = 0; i < end; i++) {
      if (text[from + i] != name[i]) {
        return Names.compareBytes(text[from + i], name[i]);
      }
    }
    return length - name.length;
  }

  /** What the ids of the blocks' text depend on beside the text. */
  int textKind() {
    return flags & ~IRREGULAR;
  }

  private int order(int at, int fenceLength, int match, byte[] target, int length) {
    if (match == fenceLength) {
      return match == length ? 0 : -1;
    }
    if (match == length) {
      return 1;
    }
    return Names.compareBytes(bytes.get(at + match), target[match]);
  }

  private int mismatch(int at, byte[] target, int from, int end) {
    for (int i = from; i < end; i += Long.BYTES) {
      long differ = (long) WORD.get(bytes, at + i) ^ (long) ARRAY_WORD.get(target, i);
      if (differ != 0) {
        return Math.min(end, i + (Long.numberOfTrailingZeros(differ) >>> 3));
      }
    }
    return end;
  }
}
