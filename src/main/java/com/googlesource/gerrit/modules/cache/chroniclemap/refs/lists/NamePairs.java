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
 * The orders in which the names of a block ascend: by bytes, by UTF-16 units, or both, as nearly
 * all names do. Each block has a byte of flags that name the orders in which its names do not
 * ascend.
 *
 * <p>Each flag occurs twice: for neighbours within the block, and for its first name and the name
 * before it. Only the former still holds when the block is reused behind another block.
 */
public final class NamePairs {
  /** Two neighbours ascend by their bytes only. */
  public static final int BYTES_ONLY = 1;

  /** Two neighbours ascend by UTF-16 units only. */
  public static final int UTF16_ONLY = 1 << 1;

  /** Two neighbours are equal or ascend in no order, as in no regular file. */
  public static final int NEITHER = -1;

  private static final int WITHIN = BYTES_ONLY | UTF16_ONLY;
  private static final int TO_FIRST = 2;

  private NamePairs() {}

  /**
   * Returns the order in which two names ascend; 0 for both orders.
   *
   * @param a the first different byte of the first name; a line feed if the name ends there
   */
  public static int of(byte a, byte b) {
    int x = a & 0xFF;
    int y = b & 0xFF;
    if (y < Names.FIRST_REORDERED) {
      // Below this byte, both orders agree.
      return x < y ? 0 : NEITHER;
    }
    boolean bytes = x < y;
    boolean utf16 = Names.compareBytes(a, b, true) < 0;
    return bytes ? (utf16 ? 0 : BYTES_ONLY) : utf16 ? UTF16_ONLY : NEITHER;
  }

  /** Combines the flags of a block. */
  public static int flags(int within, int toFirst) {
    return within | (toFirst << TO_FIRST);
  }

  /** The flags of the names within a block, whatever precedes the block. */
  public static int within(int flags) {
    return flags & WITHIN;
  }

  /** The flags of all pairs, within a block and with the name before it. */
  public static int any(int flags) {
    return (flags | (flags >>> TO_FIRST)) & WITHIN;
  }

  /** Whether the first name and the name before it ascend by bytes only. */
  static boolean isFirstByBytesOnly(int flags) {
    return (flags & (BYTES_ONLY << TO_FIRST)) != 0;
  }
}
