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

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * The blocks of one list, which stay in memory as long as the list is reachable. Immutable except
 * for the flag {@link #rootOnDisk}. Any thread may read.
 */
final class ListBlocks {
  private static final int SLAB_SHIFT = 32;

  /** How many slabs may be less than half used. */
  static final int MAX_POOR = 512;

  /** How many unused bytes a list may hold in addition to the bytes that it uses. */
  private static final int MAX_SPARE_BYTES = 1 << 20;

  /** The slabs of all blocks, each once. Must not be changed. */
  final Slab[] slabs;

  /** For each block, the number of its slab and its start in the slab. */
  private final long[] places;

  /** Whether the root has been handed to the disk. */
  volatile boolean rootOnDisk;

  ListBlocks(Slab[] slabs, long[] places) {
    this.slabs = slabs;
    this.places = places;
  }

  static long place(int slab, int start) {
    return ((long) slab << SLAB_SHIFT) | start;
  }

  Slab slab(int block) {
    return slabs[(int) (places[block] >>> SLAB_SHIFT)];
  }

  int start(int block) {
    return (int) places[block];
  }

  /**
   * Returns the slabs whose blocks should be copied into fewer, fuller slabs. These are the slabs
   * of which the list uses little, once there are many of them or they hold many unused bytes. The
   * cost of copying thus grows with the changes and not with the list.
   */
  Set<Slab> toGather() {
    long[] used = new long[slabs.length];
    for (long place : places) {
      int number = (int) (place >>> SLAB_SHIFT);
      used[number] += slabs[number].lengthAt((int) place);
    }
    Set<Slab> poor = Collections.newSetFromMap(new IdentityHashMap<>());
    long unused = -MAX_SPARE_BYTES;
    for (int i = 0; i < used.length; i++) {
      unused += slabs[i].bytes() - 2 * used[i];
      if (used[i] < ListBuilder.MAX_SLAB_BYTES / 2) {
        poor.add(slabs[i]);
      }
    }
    return poor.size() > MAX_POOR || unused > 0 ? poor : Set.of();
  }
}
