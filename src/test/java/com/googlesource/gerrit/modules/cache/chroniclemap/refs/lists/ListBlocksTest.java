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

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which slabs of a list are copied into fewer ones. */
class ListBlocksTest {
  private static final int BLOCK = 32 << 10;
  private static final int FULL = ListBuilder.MAX_SLAB_BYTES / BLOCK;

  /** All slabs of a test may share it: what is in it does not matter. */
  private static final ByteBuffer MEMORY = ByteBuffer.allocateDirect(ListBuilder.MAX_SLAB_BYTES);

  private final List<Slab> slabs = new ArrayList<>();
  private final List<Long> places = new ArrayList<>();

  /** Adds a slab of so many blocks, of which the list has some. */
  private Slab add(int blocks, int used) {
    int[] starts = new int[blocks + 1];
    for (int i = 0; i <= blocks; i++) {
      starts[i] = i * BLOCK;
    }
    Slab slab = new Slab(MEMORY.slice(0, blocks * BLOCK), new long[2 * blocks], starts);
    for (int i = 0; i < used; i++) {
      places.add(ListBlocks.place(slabs.size(), starts[i]));
    }
    slabs.add(slab);
    return slab;
  }

  private ListBlocks held() {
    return new ListBlocks(
        slabs.toArray(Slab[]::new), places.stream().mapToLong(Long::longValue).toArray());
  }

  /** A list of a gigabyte that changes costs what changes. */
  @Test
  void aListOfManyFullSlabsIsNotCopied() {
    for (int i = 0; i < 2 * ListBlocks.MAX_POOR; i++) {
      add(FULL, FULL - i % 3);
    }
    assertThat(held().toGather()).isEmpty();
    List<Slab> small = new ArrayList<>();
    for (int i = 0; i < ListBlocks.MAX_POOR; i++) {
      small.add(add(1 + i % 3, 1));
      assertThat(held().toGather()).isEmpty();
    }
    small.add(add(1, 1));
    assertThat(held().toGather()).containsExactlyElementsIn(small);
  }

  @Test
  void slabsThatAreHardlyUsedGo() {
    add(FULL, FULL);
    Slab hardly = add(FULL, 1);
    assertThat(held().toGather()).isEmpty();
    List<Slab> more = List.of(hardly, add(FULL, 2), add(FULL, 3));
    assertThat(held().toGather()).containsExactlyElementsIn(more);
  }

  @Test
  void aSmallListStaysAsItIs() {
    add(1, 1);
    add(2, 1);
    assertThat(held().toGather()).isEmpty();
  }
}
