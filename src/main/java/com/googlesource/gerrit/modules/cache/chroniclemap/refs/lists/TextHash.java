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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_WORD;

import java.nio.ByteBuffer;

/**
 * The keyed 128-bit hash that is the id of a chunk of text. It is fast and has a proven bound on
 * collisions.
 *
 * <p>First the text goes through NH with 64-bit words, twice, the second time with the key shifted
 * by two words (Toeplitz): J. Black, S. Halevi, H. Krawczyk, T. Krovetz, P. Rogaway, "UMAC: Fast
 * and Secure Message Authentication", CRYPTO 1999. Unlike there, the lower and the upper halves of
 * the products are summed apart, each modulo 2^64, with no carry between them, which takes a fifth
 * of the time away and a little of the bound. Two different texts of equal length collide in one
 * pass with a probability of at most 2^-61 over the choice of the key: take a pair of words in
 * which they differ, say in its second word, and all key words as given but that of its first word.
 * With c, c' the second words plus their key word, which differ, and a, a' the first words plus
 * theirs, the difference of the halves of c a and c' a' is given. So c a - c' a' has one of four
 * values (each half's difference is known modulo 2^64, so has two), a' - a one of two, and for each
 * of the eight one a at most does it. In both passes they collide with a probability of at most
 * 2^-122: where the pair is the last in which the texts differ, the key word that the second pass
 * depends on so is one that the first pass adds to equal words only.
 *
 * <p>The 256 bits of that, the length and the caller's {@code kind} then go through two independent
 * multilinear hashes modulo 2^128 of which the upper 64 bits are taken; different inputs collide in
 * both with a probability of at most 2^-128: D. Lemire, O. Kaser, "Strongly universal string
 * hashing is fast", The Computer Journal 57 (2014). Together: <b>two different texts chosen without
 * knowledge of the key have the same id with a probability of less than 2^-121</b>, and any two
 * among n texts with less than n^2 * 2^-122.
 *
 * <p>The bound holds for an author of ref names who learns neither the key nor any id and cannot
 * test whether two ids are equal. Therefore ids must not leave the server. (The key is derived from
 * a secret by HMAC-SHA-256, whose output is assumed to be random.)
 *
 * <p>For one thread, which reuses it.
 */
final class TextHash {
  /** The number of words of the finaliser's input. */
  static final int FINAL_WORDS = 5;

  private final long[] nh;
  private final long[] finish;
  private final long[] words = new long[FINAL_WORDS];

  TextHash(SiteKey key) {
    nh = key.nh;
    finish = key.finish;
  }

  /**
   * Computes the id of a chunk.
   *
   * @param text has at least 16 readable bytes after the chunk, and is read by absolute positions
   * @param length at most {@link Chunks#HARD_MAX}
   * @param kind separates ids: the same text with another kind has another id
   */
  ContentDigest of(ByteBuffer text, int offset, int length, int kind) {
    if (length > Chunks.HARD_MAX) {
      throw new IllegalArgumentException("a chunk of " + length + " bytes");
    }
    long[] k = nh;
    long low1 = 0;
    long high1 = 0;
    long low2 = 0;
    long high2 = 0;
    int full = (length >>> 4) << 1;
    for (int i = 0; i < full; i += 2) {
      long m0 = (long) BUFFER_WORD.get(text, offset + (i << 3));
      long m1 = (long) BUFFER_WORD.get(text, offset + (i << 3) + 8);
      long a = m0 + k[i];
      long b = m1 + k[i + 1];
      low1 += a * b;
      high1 += Math.unsignedMultiplyHigh(a, b);
      a = m0 + k[i + 2];
      b = m1 + k[i + 3];
      low2 += a * b;
      high2 += Math.unsignedMultiplyHigh(a, b);
    }
    int rest = length & 15;
    if (rest != 0) {
      // The rest is padded with zeros. The length, which is hashed too, tells padding from text.
      long m0 = (long) BUFFER_WORD.get(text, offset + (full << 3));
      long m1 = (long) BUFFER_WORD.get(text, offset + (full << 3) + 8);
      if (rest < 8) {
        m0 &= lowBytes(rest);
        m1 = 0;
      } else {
        m1 &= lowBytes(rest - 8);
      }
      long a = m0 + k[full];
      long b = m1 + k[full + 1];
      low1 += a * b;
      high1 += Math.unsignedMultiplyHigh(a, b);
      a = m0 + k[full + 2];
      b = m1 + k[full + 3];
      low2 += a * b;
      high2 += Math.unsignedMultiplyHigh(a, b);
    }
    words[0] = low1;
    words[1] = high1;
    words[2] = low2;
    words[3] = high2;
    words[4] = ((long) kind << 32) | length;
    return new ContentDigest(multilinear(0), multilinear(finish.length / 2));
  }

  private long multilinear(int k) {
    long low = finish[k];
    long high = finish[k + 1];
    for (int i = 0; i < FINAL_WORDS; i++) {
      long word = words[i];
      long keyLow = finish[k + 2 * i + 2];
      long keyHigh = finish[k + 2 * i + 3];
      long product = keyLow * word;
      low += product;
      high += Math.unsignedMultiplyHigh(keyLow, word) + keyHigh * word;
      if (Long.compareUnsigned(low, product) < 0) {
        high++;
      }
    }
    return high;
  }

  /** Returns a mask of the 0 to 7 lowest bytes. */
  private static long lowBytes(int count) {
    return (1L << (count * Byte.SIZE)) - 1;
  }
}
