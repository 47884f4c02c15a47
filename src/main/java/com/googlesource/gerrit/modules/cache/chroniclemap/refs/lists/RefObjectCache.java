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

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;

/**
 * The cache of the Ref objects of one list, by blocks that were read as a whole, so that a list
 * that is read again and again is made once. A list that replaces this one takes over those of
 * equal blocks.
 *
 * <p>A ref takes some 140 bytes of heap. {@link ListMemory} bounds the bytes of all lists, and
 * discards refs that were not used for some minutes. Without room, refs are made for each reader.
 *
 * <p>Safe for any thread.
 */
final class RefObjectCache {
  /** The heap of a ref with its name and id, measured with names of the length of changes' refs. */
  static final int BYTES_A_REF = 140;

  private final ListMemory memory;
  private final int blocks;

  /** The refs of each block, or null; null as a whole before the first block. */
  @Nullable private volatile AtomicReferenceArray<Ref[]> kept;

  /** The time of the last use, by {@link ListMemory#seconds}. */
  volatile int lastUse;

  RefObjectCache(ListMemory memory, int blocks) {
    this.memory = memory;
    this.blocks = blocks;
  }

  /** Returns the refs of a block, which must not be changed; null if they were not made. */
  @Nullable
  Ref[] of(int block) {
    AtomicReferenceArray<Ref[]> all = kept;
    return all == null ? null : all.get(block);
  }

  /** Notes a use. */
  void used() {
    lastUse = memory.seconds;
  }

  /** Keeps the refs of a block, if there is room. */
  void keep(int block, Ref[] refs) {
    if (memory.reserveRefObjects((long) refs.length * BYTES_A_REF)) {
      refs().set(block, refs);
    }
  }

  private synchronized AtomicReferenceArray<Ref[]> refs() {
    AtomicReferenceArray<Ref[]> all = kept;
    if (all == null) {
      all = new AtomicReferenceArray<>(blocks);
      kept = all;
    }
    return all;
  }

  /**
   * Takes over the refs of equal blocks.
   *
   * @param moved by a block's number in the older list, its number in this one, or -1
   */
  void takeOver(RefObjectCache older, int[] moved) {
    AtomicReferenceArray<Ref[]> old = older.kept;
    if (old == null) {
      return;
    }
    AtomicReferenceArray<Ref[]> all = new AtomicReferenceArray<>(blocks);
    for (int i = 0; i < moved.length; i++) {
      if (moved[i] >= 0) {
        all.set(moved[i], old.get(i));
      }
    }
    lastUse = older.lastUse;
    kept = all;
  }

  boolean isEmpty() {
    return kept == null;
  }

  void forget() {
    kept = null;
  }

  /** The heap of the refs, in bytes. Costs a look at each block. */
  long bytes() {
    AtomicReferenceArray<Ref[]> all = kept;
    long refs = 0;
    for (int i = 0; all != null && i < blocks; i++) {
      Ref[] some = all.get(i);
      refs += some == null ? 0 : some.length;
    }
    return refs * BYTES_A_REF;
  }
}
