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
 * A piece of direct memory with blocks that were made together. It never changes and is never freed
 * explicitly. The memory stays as long as it is reachable, so readers are safe whatever is evicted
 * meanwhile.
 */
final class Slab {
  final ByteBuffer memory;

  /** Two words of id for each block. */
  private final long[] ids;

  /** The start of each block, followed by the end of the last block. */
  private final int[] starts;

  /** The number of lists in {@link ListMemory} that use this slab. Guarded by that object. */
  int users;

  /** The number of this slab in {@link ListMemory} while it has users. Guarded by that object. */
  int number = -1;

  /** Whether all blocks have been passed to the disk. */
  volatile boolean onDisk;

  /**
   * Makes a slab.
   *
   * @param starts the start of each block and the end of the last block
   */
  Slab(ByteBuffer memory, long[] ids, int[] starts) {
    this.memory = memory;
    this.ids = ids;
    this.starts = starts;
  }

  int blocks() {
    return starts.length - 1;
  }

  long idHi(int block) {
    return ids[2 * block];
  }

  long idLo(int block) {
    return ids[2 * block + 1];
  }

  int start(int block) {
    return starts[block];
  }

  int length(int block) {
    return starts[block + 1] - starts[block];
  }

  /** Returns the length of the block with a start. */
  int lengthAt(int start) {
    return length(Arrays.binarySearch(starts, start));
  }

  /** Bytes of direct memory. */
  int bytes() {
    return memory.capacity();
  }
}
