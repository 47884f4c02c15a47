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

import java.util.Arrays;

/**
 * Ref names as UTF-8 bytes. They ascend by bytes, as native git sorts them. JGit sorts by UTF-16
 * units, as Java orders strings.
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

  /** The order of two names that do not ascend by bytes, as in no regular file. */
  static final int NO_ORDER = -1;

  /**
   * Returns in which order two names ascend, by their first different bytes; of a name's end, a
   * line feed.
   *
   * @return 0 for both orders, as nearly always; {@link BlockFormat#BYTES_ONLY} or {@link
   *     #NO_ORDER}
   */
  static int order(byte a, byte b) {
    int x = a & 0xFF;
    int y = b & 0xFF;
    return x >= y ? NO_ORDER : x >= 0xEE && x < 0xF0 && y >= 0xF0 ? BlockFormat.BYTES_ONLY : 0;
  }

  /** The same for names as a whole. */
  static int order(byte[] a, byte[] b) {
    int shared = Arrays.mismatch(a, b);
    return shared < 0 || shared == b.length
        ? NO_ORDER
        : shared == a.length ? 0 : order(a[shared], b[shared]);
  }

  /** Whether any other name is before or after a name in both orders alike. */
  static boolean ascendAlike(String name) {
    return name.chars().noneMatch(c -> c >= Character.MIN_SURROGATE);
  }
}
