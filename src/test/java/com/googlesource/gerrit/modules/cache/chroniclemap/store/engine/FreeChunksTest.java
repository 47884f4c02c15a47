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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import static com.google.common.truth.Truth.assertThat;

import java.util.BitSet;
import java.util.Random;
import net.openhft.chronicle.core.OS;
import org.junit.jupiter.api.Test;

class FreeChunksTest {
  @Test
  void answersAsABitSetDoes() {
    Random random = new Random(1);
    for (int round = 0; round < 2000; round++) {
      int chunks = 1 + random.nextInt(400);
      BitSet used = new BitSet();
      int share = 1 + random.nextInt(20);
      for (int i = 0; i < chunks; i++) {
        used.set(i, random.nextInt(20) < share);
      }
      compare(used, chunks, random);
    }
  }

  private static void compare(BitSet used, int chunks, Random random) {
    int words = (chunks + 63) / 64;
    long address = OS.memory().allocate((long) words * Long.BYTES);
    try {
      long[] bits = used.toLongArray();
      for (int i = 0; i < words; i++) {
        OS.memory().writeLong(address + (long) i * Long.BYTES, i < bits.length ? bits[i] : 0);
      }
      FullFileAdvice.FreeChunks found = new FullFileAdvice.FreeChunks(address, chunks);
      int from = random.nextInt(chunks + 1);
      int to = from + random.nextInt(chunks + 1 - from);
      assertThat(found.isAnyFree(from, to)).isEqualTo(used.get(from, to).cardinality() < to - from);
      int length = 1 + random.nextInt(1 + random.nextInt(80));
      assertThat(found.nextRun(from, length)).isEqualTo(nextRun(used, chunks, from, length));
    } finally {
      OS.memory().freeMemory(address, (long) words * Long.BYTES);
    }
  }

  private static int nextRun(BitSet used, int chunks, int from, int length) {
    for (int at = from; at + length <= chunks; at++) {
      if (used.get(at, at + length).isEmpty()) {
        return at;
      }
    }
    return -1;
  }
}
