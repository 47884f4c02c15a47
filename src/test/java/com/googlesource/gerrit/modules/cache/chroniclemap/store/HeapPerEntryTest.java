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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertThat;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The heap does not hold anything per stored value: no keys, no order of access. */
class HeapPerEntryTest {
  private static final int FIRST = 200_000;
  private static final int LAST = 1_200_000;

  @TempDir Path temp;

  @Test
  void aMillionValuesTakeNoHeap() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(temp.resolve("stores"))) {
      Store store = TestStores.open(directory, settings("heap", 1 << 30));
      fill(store, 0, FIRST);
      long before = TestStores.usedHeap();
      fill(store, FIRST, LAST);
      long after = TestStores.usedHeap();
      StoreStats stats = store.stats();
      // On a slow disk some leave while the file is about to grow.
      assertThat(stats.entries() + stats.counts().evicted.sum()).isEqualTo(LAST);
      assertThat(stats.entries()).isGreaterThan(LAST * 3 / 4);
      // A hundredth of what one reference for each would take: noise of the virtual machine.
      double perEntry = (after - before) / (double) (LAST - FIRST);
      System.out.printf(Locale.ROOT, "heap per entry: %.3f bytes%n", perEntry);
      assertThat(perEntry).isLessThan(1.0);
    }
  }

  private static void fill(Store store, int from, int to) {
    byte[] value = new byte[100];
    for (int i = from; i < to; i++) {
      store.put(ByteBuffer.allocate(20).putInt(i).array(), value, 1);
    }
    store.flush();
  }
}
