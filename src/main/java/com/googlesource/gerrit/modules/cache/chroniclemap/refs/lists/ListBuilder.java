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

import com.google.common.primitives.Bytes;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The builder of a list from its blocks in order. Each block is found in memory or on disk by the
 * id of its text, or made from the text.
 *
 * <p>For one thread and one list.
 */
final class ListBuilder {
  /** The largest size of a slab with more than one block. */
  private static final int MAX_SLAB_BYTES = 1 << 20;

  private static final int FIRST_BYTES = 8 << 10;

  /** After so many blocks in a row that it does not have, the disk has hardly any of the list. */
  private static final int MAX_MISSES = 8;

  private final ListMemory memory;
  @Nullable private final ListDisk disk;
  private final List<Block> blocks = new ArrayList<>();

  /** The last new blocks, whose bytes are not in a slab yet. */
  private final List<Block> unplaced = new ArrayList<>();

  /** Replaced on demand, as most builders stay empty because nothing has changed. */
  private byte[] bytes = {};

  private int used;
  private int misses;

  /** Of each block. */
  private final List<byte[]> firstNames = new ArrayList<>();

  /** The last name of the last block. */
  private byte[] last = {};

  /** The {@link Names#order} of all names. */
  private int order;

  /** The number of blocks that were made from text; below, that came from disk. */
  int parsed;

  int loaded;

  /**
   * Makes an empty builder.
   *
   * @param disk null if nothing of the list is likely to be there
   */
  ListBuilder(ListMemory memory, @Nullable ListDisk disk) {
    this.memory = memory;
    this.disk = disk;
  }

  /** Makes the list of a file without refs, such as a missing file. */
  static ParsedRefs none() {
    return new ListBuilder(new ListMemory(0), null)
        .finish(0, ContentDigest.finish(ContentDigest.start()));
  }

  /** Finds the block of a text; null if it has to be made. */
  @Nullable
  Block find(ContentDigest id, int textLength) {
    Block known = memory.block(id);
    if (known != null || disk == null || misses == MAX_MISSES) {
      return known;
    }
    byte[] stored = disk.read(id);
    if (stored == null) {
      misses++;
      return null;
    }
    misses = 0;
    loaded++;
    Block block = place(id, textLength, ByteBuffer.wrap(stored));
    block.onDisk = true;
    return block;
  }

  /**
   * Makes a block.
   *
   * @param from the bytes between position and limit, which are copied
   */
  Block make(ContentDigest id, int textLength, ByteBuffer from) {
    parsed++;
    return place(id, textLength, from);
  }

  private Block place(ContentDigest id, int textLength, ByteBuffer from) {
    int length = from.remaining();
    if (used + length > MAX_SLAB_BYTES) {
      placeBlocks();
    }
    if (bytes.length < used + length) {
      bytes = Arrays.copyOf(bytes, Math.max(FIRST_BYTES, 2 * (used + length)));
    }
    from.get(from.position(), bytes, used, length);
    Block block = new Block(id, textLength, bytes, used, length);
    used += length;
    unplaced.add(block);
    return block;
  }

  /**
   * Appends a block, with its first and its last name. Returns false if its first name does not
   * follow the name before it.
   */
  boolean append(Block block, byte[] firstName, byte[] lastName) {
    int between = blocks.isEmpty() ? 0 : Names.order(last, firstName);
    order |= between | block.order;
    last = lastName;
    firstNames.add(firstName);
    blocks.add(block);
    return between != Names.NO_ORDER;
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
   * @param flags of the header
   */
  ParsedRefs finish(int flags, ContentDigest digest) {
    placeBlocks();
    int[] refsBefore = new int[blocks.size() + 1];
    int[] nameStarts = new int[refsBefore.length];
    long textBytes = 0;
    for (int i = 0; i < blocks.size(); i++) {
      refsBefore[i + 1] = refsBefore[i] + blocks.get(i).count;
      nameStarts[i + 1] = nameStarts[i] + firstNames.get(i).length;
      textBytes += blocks.get(i).textLength;
    }
    byte[] names = Bytes.concat(firstNames.toArray(byte[][]::new));
    Root root = new Root(flags | order, textBytes, refsBefore, nameStarts, names);
    return new ParsedRefs(root, digest, blocks.toArray(Block[]::new), memory);
  }
}
