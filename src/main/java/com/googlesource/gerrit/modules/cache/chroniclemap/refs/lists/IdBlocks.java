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

import java.util.BitSet;
import java.util.stream.IntStream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;

/**
 * Which blocks of a list may have an id, by the {@link IdIndex} of this list or of an earlier one
 * with mostly the same blocks. Blocks that the index doesn't know always may.
 *
 * <p>Immutable. Any thread may read.
 *
 * @param numbers by the block's number in the index, its number in the list; -1 if it is not in the
 *     list
 * @param unknown the blocks of the list that are not in the index
 */
record IdBlocks(IdIndex index, int[] numbers, int[] unknown) {
  /** So many blocks are read as fast as an index answers (10 microseconds). */
  static final int MAX_UNINDEXED_BLOCKS = 16;

  /** Makes the blocks of the list of which the index was made. */
  static IdBlocks of(IdIndex index) {
    return new IdBlocks(index, IntStream.range(0, index.blocks()).toArray(), new int[0]);
  }

  /**
   * The blocks of another list; null if the index knows too few of them.
   *
   * @param moved by a block's number in this list, its number in the other; -1 if it is not there
   */
  @Nullable
  IdBlocks in(Root other, int[] moved) {
    int[] now = new int[index.blocks()];
    BitSet known = new BitSet(other.blocks);
    for (int i = 0; i < now.length; i++) {
      now[i] = numbers[i] < 0 ? -1 : moved[numbers[i]];
      if (now[i] >= 0) {
        known.set(now[i]);
      }
    }
    if (other.blocks - known.cardinality() > MAX_UNINDEXED_BLOCKS) {
      return null;
    }
    known.flip(0, other.blocks);
    return new IdBlocks(index, now, known.stream().toArray());
  }

  /** Returns the blocks between two that may have an id, in the order of the list. */
  int[] thatMayHave(AnyObjectId id, int first, int last) {
    return IntStream.concat(
            IntStream.of(unknown), IntStream.of(index.find(id)).map(block -> numbers[block]))
        .filter(block -> block >= first && block <= last)
        .sorted()
        .distinct()
        .toArray();
  }
}
