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

/**
 * The root of a parsed list, on the heap: the first names of its blocks, and how many refs are
 * before each.
 *
 * <p>Immutable. Any thread may read.
 */
final class Root {
  /** Of the header, and {@link BlockFormat#BYTES_ONLY} if two neighbours ascend by bytes only. */
  final int flags;

  final int blocks;
  final int refs;

  /** The length of the file. */
  final long textBytes;

  /** Whether names, which ascend by bytes, also ascend in JGit's order, as in nearly all lists. */
  final boolean inStringOrder;

  private final int[] refsBefore;

  /** Where each block's first name starts in {@link #names}, and where the last one ends. */
  private final int[] nameStarts;

  private final byte[] names;

  /**
   * Makes a root.
   *
   * @param refsBefore of each block, and of the end
   * @param nameStarts of each block, and the end of the last one
   */
  Root(int flags, long textBytes, int[] refsBefore, int[] nameStarts, byte[] names) {
    this.flags = flags;
    this.blocks = refsBefore.length - 1;
    this.refs = refsBefore[blocks];
    this.textBytes = textBytes;
    this.inStringOrder = (flags & BlockFormat.BYTES_ONLY) == 0;
    this.refsBefore = refsBefore;
    this.nameStarts = nameStarts;
    this.names = names;
  }

  /** The flags of the header that all blocks of the list have. */
  int blockFlags() {
    return flags & BlockFormat.FLAGS;
  }

  /** The heap of this object, in bytes, about. */
  int heapBytes() {
    return names.length + 2 * Integer.BYTES * refsBefore.length;
  }

  /** The number of refs in all blocks before one. For {@link #blocks}, the number of all refs. */
  int refsBefore(int block) {
    return refsBefore[block];
  }

  /** Finds the last block whose first name is not after a target; -1 if there is none. */
  int blockOf(Target target) {
    return BinarySearch.first(0, blocks, block -> compare(block, target) > 0) - 1;
  }

  private int compare(int block, Target target) {
    return Arrays.compareUnsigned(
        names, nameStarts[block], nameStarts[block + 1], target.bytes(), 0, target.length());
  }
}
