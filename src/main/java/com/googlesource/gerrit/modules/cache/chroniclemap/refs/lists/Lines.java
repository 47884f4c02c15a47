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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BIG_INT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.HIGH_BITS;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.LOW_BITS;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.WORD;

import com.google.common.base.Utf8;

/**
 * Functions on the lines of a regular {@code packed-refs} file, which handle eight bytes at a time.
 * A text has to end with a line feed and some zeros, since words are loaded from any position.
 */
final class Lines {

  /** The length of an id in hex. */
  static final int HEX_LENGTH = 2 * BlockFormat.ID_BYTES;

  private Lines() {}

  /**
   * Finds the end of a name, which is the line feed or the end of the file. Returns -1 if the name
   * has an irregular byte or is too long.
   */
  static int lineEnd(byte[] text, int nameAt, int end) {
    int limit = Math.min(end + 1, nameAt + Names.MAX_BYTES + 1);
    long any = 0;
    for (int p = nameAt; p < limit; p += Long.BYTES) {
      long word = (long) WORD.get(text, p);
      // The lowest bit that is set marks the first byte below 0E.
      long low = (word - Names.FIRST_PLAIN * LOW_BITS) & ~word & HIGH_BITS;
      if (low == 0) {
        any |= word;
        continue;
      }
      int bits = Long.numberOfTrailingZeros(low) & ~7;
      int lineEnd = p + (bits >>> 3);
      any |= word & ((1L << bits) - 1);
      if (lineEnd >= limit || text[lineEnd] != '\n') {
        return -1;
      }
      return (any & HIGH_BITS) == 0 || Utf8.isWellFormed(text, nameAt, lineEnd - nameAt)
          ? lineEnd
          : -1;
    }
    return -1;
  }

  /** Returns how many bytes a name shares with a later name. A line feed ends each name. */
  static int shared(byte[] text, int name, int other, int end) {
    int i = 0;
    while (other + i <= end) {
      long differ = (long) WORD.get(text, name + i) ^ (long) WORD.get(text, other + i);
      if (differ != 0) {
        return i + (Long.numberOfTrailingZeros(differ) >>> 3);
      }
      i += Long.BYTES;
    }
    return i;
  }

  /**
   * Returns the order in which two names ascend, which share some bytes; see {@link Names#order}.
   */
  static int order(byte[] text, int name, int other, int otherLength, int shared) {
    return shared < otherLength
        ? Names.order(text[name + shared], text[other + shared])
        : Names.NO_ORDER;
  }

  /** Returns the start of the next line, or the end of the text. */
  static int next(byte[] text, int line, int end) {
    int p = line;
    while (p < end && text[p] != '\n') {
      p++;
    }
    return Math.min(end, p + 1);
  }

  /** Returns the end of the comments at the start of a text. */
  static int afterComments(byte[] text, int end) {
    int p = 0;
    while (p < end && text[p] == '#') {
      p = next(text, p, end);
    }
    return p;
  }

  /** Decodes an id in lower-case hex digits. Returns false if another character is found. */
  static boolean hex(byte[] text, int from, byte[] target, int at) {
    for (int i = 0; i < HEX_LENGTH; i += Long.BYTES) {
      long word = (long) WORD.get(text, from + i);
      // This is 1 in each byte with the bit that only letters have.
      long letters = (word >>> 6) & LOW_BITS;
      long digits = (word & (0x0F * LOW_BITS)) + 9 * letters;
      // The digits are encoded again, and the result has to be the same.
      long above9 = ((digits + 6 * LOW_BITS) >>> 4) & LOW_BITS;
      if (digits + 0x30 * LOW_BITS + 0x27 * above9 != word || (digits & (0x10 * LOW_BITS)) != 0) {
        return false;
      }
      // Pairs of digits become bytes, with the first digit in the upper half. Then bytes are
      // joined.
      long pairs = ((digits << 4) | (digits >>> 8)) & 0x00FF00FF00FF00FFL;
      pairs = (pairs | (pairs >>> 8)) & 0x0000FFFF0000FFFFL;
      int value = (int) (pairs | (pairs >>> 16));
      BIG_INT.set(target, at + (i >>> 1), Integer.reverseBytes(value));
    }
    return true;
  }
}
