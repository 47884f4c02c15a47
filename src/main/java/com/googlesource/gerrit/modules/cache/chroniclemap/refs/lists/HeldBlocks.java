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

/**
 * Where the blocks of one list lie: as long as anyone has the list, its blocks are there. Immutable
 * but for a note; any thread may read.
 */
public final class HeldBlocks {
  private static final int SLAB_SHIFT = 32;

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

  /** Whether so much of the slabs is of no use to this list that it should be copied. */
  public boolean isScattered(long liveBytes) {
    long all = 0;
    for (Slab slab : slabs) {
      all += slab.bytes();
    }
    return slabs.length > 512 || all > 2 * liveBytes + (1 << 20);
  }
}
