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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The hash by which the frequencies of keys are counted. */
class FrequenciesTest {
  private static long hash(byte[] key) {
    return Frequencies.hash(key, key.length);
  }

  @Test
  void eachByteAndTheLengthCount() {
    for (int length = 1; length <= 40; length++) {
      byte[] key = new byte[length];
      Set<Long> hashes = new HashSet<>();
      hashes.add(hash(key));
      for (int i = 0; i < length; i++) {
        for (int value : new int[] {1, 2, 0x80, 0xff}) {
          key[i] = (byte) value;
          hashes.add(hash(key));
          key[i] = 0;
        }
      }
      assertWithMessage("hashes of length %s", length).that(hashes).hasSize(1 + 4 * length);
      assertThat(hash(Arrays.copyOf(key, length + 1))).isNotEqualTo(hash(key));
    }
  }

  @Test
  void whatComesAfterTheKeyDoesNotCount() {
    byte[] key = "a key of the cache".getBytes(UTF_8);
    byte[] stored = Arrays.copyOf(key, key.length + 13);
    Arrays.fill(stored, key.length, stored.length, (byte) 7);
    assertThat(Frequencies.hash(stored, key.length)).isEqualTo(hash(key));
  }

  /** Keys that differ in a number only, as most of Gerrit's do, must not share their counters. */
  @Test
  void similarKeysSpread() {
    int keys = 100_000;
    int[] byUpperBits = new int[1024];
    int[] byLowerBits = new int[1024];
    for (int i = 0; i < keys; i++) {
      long hash = hash(("project/refs/changes/" + i).getBytes(UTF_8));
      byUpperBits[(int) (hash >>> 54)]++;
      byLowerBits[(int) (hash & 1023)]++;
    }
    for (int[] counts : new int[][] {byUpperBits, byLowerBits}) {
      // 98 each on average, give or take 10; six times that is never seen by chance.
      assertThat(Arrays.stream(counts).min().getAsInt()).isAtLeast(38);
      assertThat(Arrays.stream(counts).max().getAsInt()).isAtMost(158);
    }
  }

  /** Keys as long as those of real caches, by their numbers. */
  private static void ask(Frequencies frequencies, long number) {
    byte[] key = ByteBuffer.allocate(20).putLong(8, number).array();
    frequencies.increment(hash(key));
  }

  @Test
  void keysInUseAreEstimated() {
    for (int entries : new int[] {1000, 10_000, 100_000}) {
      for (double times : new double[] {0.5, 1.05, 1.5}) {
        Frequencies frequencies = Frequencies.forEntries(entries);
        long keys = (long) (entries * times);
        for (long i = 0; i < 20L * entries; i++) {
          ask(frequencies, i % keys);
        }
        assertThat((double) frequencies.inUse() / keys).isWithin(0.05).of(1);
      }
    }
  }

  /** Of the few that were saved, each becomes several, all of which stay as they are. */
  @Test
  void keysInUseAreEstimatedIfFewerCountersWereSaved() {
    Frequencies frequencies = Frequencies.forEntries(1200);
    for (int i = 0; i < 24_000; i++) {
      if (i == 12_000) {
        frequencies = Frequencies.load(frequencies.save(8192)).orElseThrow();
      }
      ask(frequencies, i % 1000);
    }
    assertThat((double) frequencies.inUse()).isWithin(50).of(1000);
  }

  /** A crawler that reads all values once, beside the readers of a few. */
  @Test
  void keysOfOnePassAreNotInUse() {
    Frequencies frequencies = Frequencies.forEntries(10_000);
    for (int i = 0; i < 300_000; i++) {
      ask(frequencies, 1_000_000 + i);
      ask(frequencies, i % 5000);
      if (i % 10_000 == 0 && i > 100_000) {
        assertThat(frequencies.inUse()).isAtLeast(4500);
        assertThat(frequencies.inUse()).isAtMost(5500);
      }
    }
  }

  @Test
  void whatIsAskedForOftenLooksSo() {
    Frequencies frequencies = Frequencies.forEntries(1000);
    long often = hash("often".getBytes(UTF_8));
    for (int i = 0; i < 10; i++) {
      frequencies.increment(often);
    }
    assertThat(frequencies.of(often)).isEqualTo(10);
    assertThat(frequencies.of(hash("never".getBytes(UTF_8)))).isEqualTo(0);
  }
}
