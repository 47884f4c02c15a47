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

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The hash against its definition, computed with big integers. */
class TextHashTest {
  private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);
  private static final BigInteger TWO_128 = BigInteger.ONE.shiftLeft(128);

  private final TextHash hash = new TextHash(Differential.KEY);
  private final Random random = new Random(3);

  @Test
  void isWhatItsDescriptionSays() {
    for (int length : new int[] {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 4711, 24 << 10}) {
      byte[] text = new byte[length + 40];
      random.nextBytes(text);
      if (length % 2 == 1) {
        Arrays.fill(text, (byte) 0xFF); // carries
      }
      ContentDigest id = hash.of(ByteBuffer.wrap(text), 3, length, 5);
      byte[] chunk = Arrays.copyOfRange(text, 3, 3 + length);
      assertThat(id.hi()).isEqualTo(half(chunk, 5, 0));
      assertThat(id.lo()).isEqualTo(half(chunk, 5, Differential.KEY.finish.length / 2));
    }
  }

  private static long half(byte[] chunk, int kind, int finishAt) {
    BigInteger[] words = new BigInteger[5];
    for (int pass = 0; pass < 2; pass++) {
      long[] key = Arrays.copyOfRange(Differential.KEY.nh, 2 * pass, 3074);
      System.arraycopy(nh(chunk, key), 0, words, 2 * pass, 2);
    }
    words[4] = BigInteger.valueOf(kind).shiftLeft(32).add(BigInteger.valueOf(chunk.length));
    long[] k = Differential.KEY.finish;
    BigInteger sum = unsigned(k[finishAt + 1]).shiftLeft(64).add(unsigned(k[finishAt]));
    for (int i = 0; i < 5; i++) {
      int at = finishAt + 2 * i + 2;
      BigInteger factor = unsigned(k[at + 1]).shiftLeft(64).add(unsigned(k[at]));
      sum = sum.add(factor.multiply(words[i]));
    }
    return sum.mod(TWO_128).shiftRight(64).longValue();
  }

  /** The sum of the products' lower halves, and that of the upper ones. */
  private static BigInteger[] nh(byte[] chunk, long[] key) {
    ByteBuffer padded =
        ByteBuffer.wrap(Arrays.copyOf(chunk, (chunk.length + 15) / 16 * 16))
            .order(ByteOrder.LITTLE_ENDIAN);
    BigInteger low = BigInteger.ZERO;
    BigInteger high = BigInteger.ZERO;
    for (int i = 0; padded.hasRemaining(); i += 2) {
      BigInteger a = unsigned(padded.getLong() + key[i]);
      BigInteger b = unsigned(padded.getLong() + key[i + 1]);
      BigInteger product = a.multiply(b);
      low = low.add(product.mod(TWO_64));
      high = high.add(product.shiftRight(64));
    }
    return new BigInteger[] {low.mod(TWO_64), high.mod(TWO_64)};
  }

  private static BigInteger unsigned(long value) {
    return new BigInteger(Long.toUnsignedString(value));
  }

  @Test
  void refusesMoreThanAChunk() {
    assertThrows(
        IllegalArgumentException.class,
        () -> hash.of(ByteBuffer.allocateDirect(30_000), 0, (24 << 10) + 1, 0));
  }

  @Test
  void aSecretHasItsLength() {
    assertThrows(IllegalArgumentException.class, () -> new SiteKey(new byte[16]));
  }
}
