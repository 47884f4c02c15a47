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

/**
 * Ref names as UTF-8 bytes, and their two orders: by UTF-16 units, as Java orders strings and JGit
 * orders refs, or by bytes, as native git orders refs.
 *
 * <p>The orders only differ for characters outside the basic plane. UTF-16 puts them (surrogates,
 * D800 to DFFF) before U+E000 to U+FFFF. UTF-8 puts them (first byte F0 to F4) after these
 * characters (first byte EE or EF).
 */
final class Names {
  /** The longest name that is parsed. No file system allows a loose ref with a longer name. */
  static final int MAX_BYTES = 4096;

  /** The lowest byte in a regular name. Lower bytes are line ends or invalid for git itself. */
  static final int FIRST_PLAIN = 0x0E;

  /** A byte that occurs in no name and is greater than all bytes that do. */
  static final byte AFTER_ALL = (byte) 0xFF;

  private Names() {}

  /** The orders can only differ if the first different bytes of both names are at least this. */
  static final int FIRST_REORDERED = 0xEE;

  /** The lowest first byte of the characters that UTF-16 orders before others. */
  static final int FIRST_SURROGATE = 0xF0;

  /**
   * Compares two names by their first different bytes.
   *
   * @param inStringOrder whether to order by UTF-16 units instead of bytes
   */
  static int compareBytes(byte a, byte b, boolean inStringOrder) {
    int x = a & 0xFF;
    int y = b & 0xFF;
    return inStringOrder && x >= FIRST_REORDERED && y >= FIRST_REORDERED
        ? rank(x) - rank(y)
        : x - y;
  }

  /** The order of two names that ascend in neither order, as in no regular file. */
  static final int NO_ORDER = -1;

  /**
   * Returns in which order two names ascend, by their first different bytes; of a name's end, a
   * line feed.
   *
   * @return 0 for both orders, as nearly always; {@link BlockFormat#BYTES_ONLY}, {@link
   *     BlockFormat#UTF16_ONLY} or {@link #NO_ORDER}
   */
  static int order(byte a, byte b) {
    boolean byBytes = compareBytes(a, b, false) < 0;
    boolean inStringOrder = compareBytes(a, b, true) < 0;
    return inStringOrder
        ? (byBytes ? 0 : BlockFormat.UTF16_ONLY)
        : (byBytes ? BlockFormat.BYTES_ONLY : NO_ORDER);
  }

  /** The rank of a byte from EE on: first F0 to F4, then EE and EF, then all others. */
  private static int rank(int b) {
    return b < FIRST_SURROGATE ? b + 7 : b <= 0xF4 ? b - 2 : b;
  }

  /**
   * Writes a name as UTF-8.
   *
   * @param target has room for three bytes for each char
   * @return the number of bytes, or -1 if the name has a lone surrogate and thus no UTF-8 form
   */
  static int encode(String name, byte[] target) {
    int length = name.length();
    int n = 0;
    for (int i = 0; i < length; i++) {
      char c = name.charAt(i);
      if (c < 0x80) {
        target[n++] = (byte) c;
      } else if (c < 0x800) {
        target[n++] = (byte) (0xC0 | (c >> 6));
        target[n++] = (byte) (0x80 | (c & 0x3F));
      } else if (!Character.isSurrogate(c)) {
        target[n++] = (byte) (0xE0 | (c >> 12));
        target[n++] = (byte) (0x80 | ((c >> 6) & 0x3F));
        target[n++] = (byte) (0x80 | (c & 0x3F));
      } else {
        int point = name.codePointAt(i);
        if (!Character.isSupplementaryCodePoint(point)) {
          return -1;
        }
        target[n++] = (byte) (0xF0 | (point >> 18));
        target[n++] = (byte) (0x80 | ((point >> 12) & 0x3F));
        target[n++] = (byte) (0x80 | ((point >> 6) & 0x3F));
        target[n++] = (byte) (0x80 | (point & 0x3F));
        i++;
      }
    }
    return n;
  }
}
