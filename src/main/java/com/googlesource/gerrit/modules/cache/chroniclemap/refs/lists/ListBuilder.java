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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The builder of a list from its blocks in order, which come from text or from disk. Blocks that
 * the memory has already are shared.
 *
 * <p>For one thread and one list. A builder must not be used after {@link #finish}.
 */
final class ListBuilder {
  /** The largest size of a slab with more than one block. */
  private static final int MAX_SLAB_BYTES = 1 << 20;

  private static final int FIRST_BYTES = 8 << 10;

  private final ListMemory memory;
  private final Map<ContentDigest, Block> newBlocks = new HashMap<>();
  private final List<Block> blocks = new ArrayList<>();

  /** The last new blocks, whose bytes are not in a slab yet. */
  private final List<Block> unplaced = new ArrayList<>();

  /** Replaced on demand, as most builders stay empty because nothing has changed. */
  private byte[] bytes = {};

  private int used;

  ListBuilder(ListMemory memory) {
    this.memory = memory;
  }

  /** Makes the list of a file without refs, such as a missing file. */
  static ParsedRefs none() {
    // Marked as on disk, as nothing of this list has to be written.
    return new ListBuilder(new ListMemory(0))
        .finish(new RootWriter().finish(0), /* onDisk= */ true);
  }

  /** Starts the list, perhaps again. Blocks that were made before need not be made again. */
  void start() {
    blocks.clear();
  }

  /** The number of blocks that were not in the memory. */
  int newBlocks() {
    return newBlocks.size();
  }

  /** Appends a block of another list. */
  void append(Block block) {
    blocks.add(block);
  }

  /** Appends a block of the memory. Returns false if the memory does not have the block. */
  boolean share(ContentDigest id) {
    Block known = newBlocks.get(id);
    if (known == null) {
      known = memory.block(id);
    }
    return known != null && blocks.add(known);
  }

  /**
   * Appends a block, which is made unless the builder or the memory has it.
   *
   * @param from the bytes between position and limit, which are copied
   */
  void put(ContentDigest id, ByteBuffer from) {
    if (share(id)) {
      return;
    }
    int length = from.remaining();
    if (used + length > MAX_SLAB_BYTES) {
      placeBlocks();
    }
    if (bytes.length < used + length) {
      bytes = Arrays.copyOf(bytes, Math.max(FIRST_BYTES, 2 * (used + length)));
    }
    from.get(from.position(), bytes, used, length);
    used += length;
    Block block = new Block(id, length);
    newBlocks.put(id, block);
    blocks.add(block);
    unplaced.add(block);
  }

  private void placeBlocks() {
    if (used > 0) {
      var unused = new Block.Slab(memory.allocate(used).put(0, bytes, 0, used), unplaced);
      unplaced.clear();
      used = 0;
    }
  }

  /**
   * Makes the list.
   *
   * @param root the root, whose blocks were appended
   * @param onDisk whether the root and all blocks are on disk
   */
  ParsedRefs finish(Root root, boolean onDisk) {
    placeBlocks();
    newBlocks.values().forEach(block -> block.onDisk = onDisk);
    return new ParsedRefs(root, blocks.toArray(Block[]::new), memory, onDisk);
  }
}
