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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.primitives.Ints;
import java.util.Arrays;
import java.util.Locale;
import java.util.Random;

/**
 * Keys and values such as Gerrit's caches hold, each of them following from its number. Of 5,000
 * values one is of 1 MB, as the diff of a large file; each eighth is of 5 KB, as {@code
 * change_notes}; the others are of 250 bytes, as {@code git_file_diff}; all that give or take a
 * half. So a fifth of all bytes is in large values, three fifths in middle ones, one in small ones.
 *
 * <p>The bytes are random, so that nobody could make them smaller, but cut out of one block: to
 * make them costs a copy.
 */
final class Values {
  private static final int SMALL_BYTES = 250;
  private static final int MIDDLE_BYTES = 5 << 10;
  private static final int LARGE_BYTES = 1 << 20;
  private static final int MIDDLE_EACH = 8;
  private static final int LARGE_EACH = 5000;
  private static final int BLOCK_BYTES = 8 << 20;

  /** Bytes of a key and its value on average, about. */
  private static final int MEAN_BYTES =
      SMALL_BYTES + MIDDLE_BYTES / MIDDLE_EACH + LARGE_BYTES / LARGE_EACH + key(0).length();

  private final byte[] block = new byte[BLOCK_BYTES];

  Values() {
    new Random(1).nextBytes(block);
  }

  /** How many of them take so many bytes, about. */
  static int countFor(long bytes) {
    return Math.toIntExact(Math.max(LARGE_EACH, bytes / MEAN_BYTES));
  }

  /** What the values are like, for people. */
  static String mix() {
    return "of 5,000 values one of 1 MB, each eighth of 5 KB, the others of 250 bytes, give or take"
        + " a half";
  }

  /** A key of the length of usual ones. */
  static String key(int number) {
    return String.format(
        Locale.ROOT, "scale/%016x%016x/%09d", mix64(number), mix64(~number), number);
  }

  /** A key as it is stored. */
  static byte[] keyBytes(int number) {
    return key(number).getBytes(UTF_8);
  }

  byte[] value(int number) {
    int length = length(number);
    int from = (int) Math.floorMod(mix64(number), (long) (BLOCK_BYTES - length));
    byte[] value = Arrays.copyOfRange(block, from, from + length);
    System.arraycopy(Ints.toByteArray(number), 0, value, 0, Ints.BYTES);
    return value;
  }

  /** Bytes of a key and its value. */
  static int bytes(int number) {
    return key(number).length() + length(number);
  }

  /** Whether a value is one of the few large ones; the next one is none. */
  static boolean isLarge(int number) {
    return number % LARGE_EACH == 1;
  }

  /** Whether a value is one of the many small ones, which together take a fifth of all bytes. */
  static boolean isSmall(int number) {
    return !isLarge(number) && number % MIDDLE_EACH != 0;
  }

  /** Fails if a value can't be the one of a number. */
  static void check(int number, byte[] found) {
    if (found.length != length(number) || Ints.fromByteArray(found) != number) {
      throw new IllegalStateException("wrong value for " + key(number));
    }
  }

  private static int length(int number) {
    int usual = isLarge(number) ? LARGE_BYTES : isSmall(number) ? SMALL_BYTES : MIDDLE_BYTES;
    return usual / 2 + (int) Math.floorMod(mix64(number), (long) usual);
  }

  /** Stafford's mixer: all bits of the result depend on all of the number. */
  private static long mix64(long number) {
    long z = (number + 1) * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
