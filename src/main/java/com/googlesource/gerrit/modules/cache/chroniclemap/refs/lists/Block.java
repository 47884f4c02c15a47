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
import java.util.List;

/**
 * The refs of some lines in direct memory, laid out as in {@link BlockFormat}. Lists with the same
 * lines share the block. Its bytes never change.
 *
 * <p>Nothing frees the memory: Java does, when neither a block nor a reader can reach it any more.
 * For example, thread T1 opens a block of a list in a {@link BlockView}, and T2 replaces or evicts
 * the list, or moves the block. {@link ListMemory} then no longer counts that memory, but T1 reads
 * on, as its view has the buffer. Only when T1 has dropped the view is the memory freed.
 */
final class Block {
  /** The heap of a block in use, in bytes, about. */
  static final int HEAP_BYTES = 200;

  final ContentDigest id;

  /** The length in bytes of the text from which the block was made. */
  final int textLength;

  final int length;

  /** The number of refs; below, the {@link Names#order} of their names. */
  final int count;

  final int order;

  /** A part of a slab. Set before the block is published; another one when the block is moved. */
  volatile ByteBuffer memory;

  /** Guarded by the {@link ListMemory}, as below. */
  Slab slab;

  /** The number of lists in the memory that have this block. */
  int users;

  /** Whether the block has been handed to the disk, or came from it. */
  volatile boolean onDisk;

  Block(ContentDigest id, int textLength, byte[] block, int at, int length) {
    this.id = id;
    this.textLength = textLength;
    this.length = length;
    this.count = (short) Words.SHORT.get(block, at + BlockFormat.COUNT_AT) & 0xFFFF;
    this.order = block[at + BlockFormat.FLAGS_AT] & ~BlockFormat.FLAGS;
  }

  /**
   * Direct memory that is allocated for blocks together, as an allocation takes as long as parsing
   * a third of a block. It is in use as long as one of them is.
   */
  static final class Slab {
    final List<Block> blocks;
    final int bytes;

    /** The bytes of those blocks that are in use here. */
    int used;

    /** Makes a slab from the bytes of blocks, one after the other. */
    Slab(ByteBuffer memory, List<Block> blocks) {
      this.blocks = List.copyOf(blocks);
      this.bytes = memory.capacity();
      int start = 0;
      for (Block block : blocks) {
        block.slab = this;
        block.memory = memory.slice(start, block.length);
        start += block.length;
      }
    }
  }
}
