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

import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;

/**
 * Which blocks of a list may have an id, by the {@link IdIndex} of this list or of an earlier one
 * with mostly the same blocks. Blocks that the index doesn't know always may.
 *
 * <p>Immutable. Any thread may read.
 */
final class IdBlocks {
  /** So many blocks are read as fast as an index answers (10 microseconds). */
  static final int FEW = 16;

  private final IdIndex index;

  /** By the block's number in the index, its number in the list; -1 if it is not in the list. */
  private final int[] numbers;

  /** The blocks of the list that are not in the index. */
  private final int[] unknown;

  private IdBlocks(IdIndex index, int[] numbers, int[] unknown) {
    this.index = index;
    this.numbers = numbers;
    this.unknown = unknown;
  }

  /** Makes the blocks of the list of which the index was made. */
  static IdBlocks of(IdIndex index) {
    return new IdBlocks(index, IntStream.range(0, index.blocks()).toArray(), new int[0]);
  }

  IdIndex index() {
    return index;
  }

  /** The blocks of another list; null if the index knows too few of them. */
  @Nullable
  IdBlocks in(Root other, Root list) {
    int[] moved = moved(list, other);
    int[] now = new int[index.blocks()];
    BitSet known = new BitSet(other.blocks());
    for (int i = 0; i < now.length; i++) {
      now[i] = numbers[i] < 0 ? -1 : moved[numbers[i]];
      if (now[i] >= 0) {
        known.set(now[i]);
      }
    }
    if (other.blocks() - known.cardinality() > FEW) {
      return null;
    }
    known.flip(0, other.blocks());
    return new IdBlocks(index, now, known.stream().toArray());
  }

  /** By a block's number in one list, its number in the other; -1 if it is not in the other. */
  private static int[] moved(Root from, Root to) {
    int[] moved = new int[from.blocks()];
    Arrays.fill(moved, -1);
    // Lists differ in few places, so most blocks are before the first or behind the last of them.
    int most = Math.min(from.blocks(), to.blocks());
    int head = 0;
    while (head < most && isSame(from, head, to, head)) {
      moved[head] = head++;
    }
    int end = from.blocks();
    int toEnd = to.blocks();
    while (Math.min(end, toEnd) > head && isSame(from, end - 1, to, toEnd - 1)) {
      moved[--end] = --toEnd;
    }
    Map<ContentDigest, Integer> between = new HashMap<>();
    for (int i = head; i < toEnd; i++) {
      between.put(digest(to, i), i);
    }
    for (int i = head; i < end; i++) {
      moved[i] = between.getOrDefault(digest(from, i), -1);
    }
    return moved;
  }

  private static boolean isSame(Root a, int blockOfA, Root b, int blockOfB) {
    return a.idLo(blockOfA) == b.idLo(blockOfB) && a.idHi(blockOfA) == b.idHi(blockOfB);
  }

  private static ContentDigest digest(Root root, int block) {
    return new ContentDigest(root.idHi(block), root.idLo(block));
  }

  /** Returns the blocks that may have an id, in the order of the list. */
  int[] thatMayHave(AnyObjectId id) {
    int[] found = index.find(id);
    int[] all = Arrays.copyOf(unknown, unknown.length + found.length);
    int count = unknown.length;
    for (int number : found) {
      if (numbers[number] >= 0) {
        all[count++] = numbers[number];
      }
    }
    Arrays.sort(all, 0, count);
    int distinct = 0;
    for (int i = 0; i < count; i++) {
      if (i == 0 || all[i] != all[i - 1]) {
        all[distinct++] = all[i];
      }
    }
    return Arrays.copyOf(all, distinct);
  }
}
