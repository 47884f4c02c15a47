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
 * Where the blocks of one list lie: as long as anyone has the list, its blocks are there. Immutable
 * but for a note; any thread may read.
 */
public final class HeldBlocks {
  private static final int SLAB_SHIFT = 32;

  /** How many slabs may be used by less than half of what a slab can hold. */
  static final int MOST_POOR = 512;

  /** Unused bytes that a list may have beyond as many as it uses. */
  private static final int SPARE_BYTES = 1 << 20;

  private final Slab[] slabs;

  /** For each block the number of its slab, and where it starts there. */
  private final long[] places;

  /** Whether the root has been handed to the disk. */
  public volatile boolean rootOnDisk;

  /** Takes over places. */
  HeldBlocks(Slab[] slabs, long[] places) {
    this.slabs = slabs;
    this.places = places;
  }

  static long place(int slab, int start) {
    return ((long) slab << SLAB_SHIFT) | start;
  }

  public Slab slab(int block) {
    return slabs[(int) (places[block] >>> SLAB_SHIFT)];
  }

  public int start(int block) {
    return (int) places[block];
  }

  /** The slabs of all blocks, each once. Not to be changed. */
  public Slab[] slabs() {
    return slabs;
  }

  /**
   * Returns the slabs out of which blocks should be copied into fewer and fuller ones: those of
   * which this list uses little, once there are many of them or they hold much that it does not
   * use. So what is copied grows with what was changed, and not with the list.
   */
  public Set<Slab> toGather() {
    long[] used = new long[slabs.length];
    for (long place : places) {
      int number = (int) (place >>> SLAB_SHIFT);
      used[number] += slabs[number].lengthAt((int) place);
    }
    Set<Slab> poor = Collections.newSetFromMap(new IdentityHashMap<>());
    long unused = -SPARE_BYTES;
    for (int i = 0; i < used.length; i++) {
      unused += slabs[i].bytes() - 2 * used[i];
      if (used[i] < Draft.MOST_SLAB_BYTES / 2) {
        poor.add(slabs[i]);
      }
    }
    return poor.size() > MOST_POOR || unused > 0 ? poor : Set.of();
  }
}
