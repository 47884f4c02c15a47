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
 * Which orders names follow: a byte of flags for each block says in which of the two orders, by
 * bytes or by UTF-16 units, its names do not ascend. Nearly all names ascend in both.
 *
 * <p>Each flag stands once for the names within a block and once for its first name and the name
 * before it: a block that is used again behind another one keeps the first.
 */
public final class NamePairs {
  /** Two neighbours ascend by their bytes only. */
  public static final int BYTES_ONLY = 1;

  /** Two neighbours ascend by UTF-16 units only. */
  public static final int UTF16_ONLY = 1 << 1;

  /** Two neighbours ascend in no order, or are the same: a regular file has none such. */
  public static final int NEITHER = -1;

  private static final int WITHIN = BYTES_ONLY | UTF16_ONLY;
  private static final int TO_FIRST = 2;

  private NamePairs() {}

  /**
   * Which order two names follow: 0 for both.
   *
   * @param a the first byte in which they differ, of the former; a line feed if it ends there
   */
  public static int of(byte a, byte b) {
    int x = a & 0xFF;
    int y = b & 0xFF;
    if (y < Names.FIRST_REORDERED) {
      // There, UTF-16 and bytes agree.
      return x < y ? 0 : NEITHER;
    }
    boolean bytes = x < y;
    boolean utf16 = Names.compareBytes(a, b, true) < 0;
    return bytes ? (utf16 ? 0 : BYTES_ONLY) : utf16 ? UTF16_ONLY : NEITHER;
  }

  /** Flags of a block. */
  public static int flags(int within, int toFirst) {
    return within | (toFirst << TO_FIRST);
  }

  /** What is true of the names within a block, whatever is before it. */
  public static int within(int flags) {
    return flags & WITHIN;
  }

  /** All that is true of a block, of its names and of the first and the one before. */
  public static int any(int flags) {
    return (flags | (flags >>> TO_FIRST)) & WITHIN;
  }

  /** Whether the first name and the one before ascend by their bytes only. */
  static boolean isFirstByBytesOnly(int flags) {
    return (flags & (BYTES_ONLY << TO_FIRST)) != 0;
  }
}
