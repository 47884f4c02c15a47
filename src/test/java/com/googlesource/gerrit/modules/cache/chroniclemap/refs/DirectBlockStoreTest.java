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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DirectBlockStoreTest {
  private static final int BLOCKS = 5000;

  private final DirectBlockStore store = new DirectBlockStore(1 << 16);

  private static byte[] bytes(int number) {
    byte[] bytes = new byte[1 + number % 300];
    new Random(number).nextBytes(bytes);
    return bytes;
  }

  private byte[] read(int number) {
    byte[][] found = new byte[1][];
    boolean there =
        store.read(
            number % 10,
            number,
            (memory, offset, length) -> {
              found[0] = new byte[length];
              memory.get(offset, found[0]);
            });
    assertThat(there).isEqualTo(found[0] != null);
    return found[0];
  }

  private void put(int number) {
    store.put(number % 10, number, ByteBuffer.wrap(bytes(number)));
  }

  @Test
  void keepsWhatIsPut() {
    for (int i = 0; i < BLOCKS; i++) {
      assertThat(read(i)).isNull();
      put(i);
      put(i / 2); // is there
    }
    for (int i = 0; i < BLOCKS; i++) {
      assertThat(read(i)).isEqualTo(bytes(i));
    }
    assertThat(store.blocks()).isEqualTo(BLOCKS);
    assertThat(store.usedMemory()).isAtMost(store.memory());
  }

  @Test
  void takesBlocksLargerThanASlab() {
    byte[] large = new byte[200_000];
    large[199_999] = 1;
    store.put(1, 1, ByteBuffer.wrap(large));
    put(2);
    AtomicInteger last = new AtomicInteger();
    store.read(1, 1, (memory, offset, length) -> last.set(memory.get(offset + length - 1)));
    assertThat(last.get()).isEqualTo(1);
    assertThat(read(2)).isEqualTo(bytes(2));
  }

  @Test
  void refusesAnEmptyBlock() {
    assertThrows(IllegalArgumentException.class, () -> store.put(1, 1, ByteBuffer.allocate(0)));
  }

  @Test
  void readersSeeWholeBlocks() throws Exception {
    AtomicInteger done = new AtomicInteger();
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<Future<?>> readers = new ArrayList<>();
      for (int t = 0; t < 2; t++) {
        readers.add(
            threads.submit(
                () -> {
                  Random random = new Random();
                  int now;
                  do {
                    now = done.get();
                    int any = random.nextInt(BLOCKS);
                    byte[] found = read(any);
                    if (found != null || any < now) {
                      assertThat(found).isEqualTo(bytes(any));
                    }
                  } while (now < BLOCKS);
                }));
      }
      for (int i = 0; i < BLOCKS; i++) {
        put(i);
        done.set(i + 1);
      }
      for (Future<?> reader : readers) {
        reader.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
