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

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Blocks that were made together, one behind the other in direct memory. Never changed and never
 * given back by hand: the memory lives as long as anyone can reach it, so a reader is safe whatever
 * leaves the cache meanwhile.
 */
public final class Slab {
  public final ByteBuffer memory;

  /** Two words for each block. */
  private final long[] ids;

  /** Where each block starts; at last, where they end. */
  private final int[] starts;

  /** How many lists in {@link ListMemory} use it; guarded by that. */
  int users;

  /** Its number in {@link ListMemory}, while it has users; guarded by that. */
  int number = -1;

  /** Whether all of its blocks have been handed to the disk. */
  public volatile boolean onDisk;

  /**
   * Takes over what was collected.
   *
   * @param starts one more than there are blocks
   */
  Slab(ByteBuffer memory, long[] ids, int[] starts) {
    this.memory = memory;
    this.ids = ids;
    this.starts = starts;
  }

  public int blocks() {
    return starts.length - 1;
  }

  public long idHi(int block) {
    return ids[2 * block];
  }

  public long idLo(int block) {
    return ids[2 * block + 1];
  }

  public int start(int block) {
    return starts[block];
  }

  public int length(int block) {
    return starts[block + 1] - starts[block];
  }

  /** Length of the block that starts there. */
  public int lengthAt(int start) {
    int block = Arrays.binarySearch(starts, start);
    return length(block);
  }

  /** Bytes of direct memory. */
  public int bytes() {
    return memory.capacity();
  }
}
