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

import com.google.common.primitives.ImmutableIntArray;
import com.google.common.primitives.ImmutableLongArray;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The builder of a list from its blocks, which come from text or from disk. Blocks that the memory
 * has already are shared. The others are collected into new {@link Slab}s, which have no unused
 * bytes.
 *
 * <p>For one thread and one list. A builder must not be used after {@link #finish}.
 */
final class ListBuilder {
  /** The largest size of a slab with more than one block. */
  static final int MAX_SLAB_BYTES = 1 << 20;

  private static final int FIRST_BYTES = 8 << 10;

  // Replaced on demand, as most drafts stay empty because nothing has changed.
  private static final byte[] NO_BYTES = {};

  private final ListMemory memory;
  private final boolean shares;
  private final Map<ContentDigest, Place> places = new HashMap<>();
  private final List<Slab> slabs = new ArrayList<>();

  // The blocks that are not in a slab yet.
  private byte[] bytes = NO_BYTES;
  private int used;
  private ImmutableLongArray.Builder ids = ImmutableLongArray.builder();
  private ImmutableIntArray.Builder starts = ImmutableIntArray.builder();

  /** The number of blocks that were not in the memory. */
  int made;

  /**
   * The place of a block.
   *
   * @param slab a slab of another list; null for a slab of this builder
   * @param number the number of the builder's slab
   * @param start the start of the block in the slab
   */
  private record Place(@Nullable Slab slab, int number, int start) {}

  /**
   * Makes an empty builder.
   *
   * @param shares whether to share the blocks of the memory
   */
  ListBuilder(ListMemory memory, boolean shares) {
    this.memory = memory;
    this.shares = shares;
  }

  /** Makes the list of a file without refs, such as a missing file. */
  static ParsedRefs none() {
    // Marked as on disk, as nothing of this list has to be written.
    return new ListBuilder(new ListMemory(0), true)
        .finish(new RootWriter().finish(0), null, /* onDisk= */ true);
  }

  /** Takes a block from the memory. Returns false if the memory does not have the block. */
  boolean share(long idHi, long idLo) {
    ContentDigest id = new ContentDigest(idHi, idLo);
    if (places.containsKey(id)) {
      return true;
    }
    ListMemory.HeldBlock found = shares ? memory.find(idHi, idLo) : null;
    if (found == null) {
      return false;
    }
    places.put(id, new Place(found.slab(), 0, found.start()));
    return true;
  }

  /**
   * Adds a block, unless the builder or the memory has it.
   *
   * @param block the bytes between position and limit, which are copied
   */
  void put(long idHi, long idLo, ByteBuffer block) {
    if (share(idHi, idLo)) {
      return;
    }
    int length = block.remaining();
    if (used > 0 && used + length > MAX_SLAB_BYTES) {
      closeSlab();
    }
    if (bytes.length < used + length) {
      bytes = Arrays.copyOf(bytes, Math.max(FIRST_BYTES, 2 * (used + length)));
    }
    block.get(block.position(), bytes, used, length);
    ids.add(idHi).add(idLo);
    starts.add(used);
    places.put(new ContentDigest(idHi, idLo), new Place(null, slabs.size(), used));
    used += length;
    made++;
  }

  private void closeSlab() {
    ByteBuffer slab = memory.allocate(used);
    slab.put(0, bytes, 0, used);
    slabs.add(new Slab(slab, ids.build().toArray(), starts.add(used).build().toArray()));
    used = 0;
    ids = ImmutableLongArray.builder();
    starts = ImmutableIntArray.builder();
  }

  /**
   * Makes the list.
   *
   * @param root the root, whose blocks were put here or belong to {@code old}
   * @param old a list whose blocks may be reused; null if there is none
   * @param onDisk whether the root and all blocks are on disk
   */
  ParsedRefs finish(Root root, @Nullable ParsedRefs old, boolean onDisk) {
    if (used > 0) {
      closeSlab();
    }
    slabs.forEach(slab -> slab.onDisk = onDisk);
    ListBlocks held = held(root, old);
    held.rootOnDisk = onDisk;
    return new ParsedRefs(root, held, memory);
  }

  private ListBlocks held(Root root, @Nullable ParsedRefs old) {
    // Each slab with its number, in the order of the numbers.
    Map<Slab, Integer> numbers = new LinkedHashMap<>();
    long[] at = new long[root.blocks];
    int next = 0;
    for (int i = 0; i < at.length; i++) {
      Place place = places.get(new ContentDigest(root.idHi(i), root.idLo(i)));
      Slab slab;
      int start;
      if (place != null) {
        slab = place.slab != null ? place.slab : slabs.get(place.number);
        start = place.start;
      } else {
        next = findIn(old, next, root.idHi(i), root.idLo(i));
        slab = old.held.slab(next);
        start = old.held.start(next);
      }
      int number = numbers.computeIfAbsent(slab, s -> numbers.size());
      at[i] = ListBlocks.place(number, start);
    }
    return new ListBlocks(numbers.keySet().toArray(Slab[]::new), at);
  }

  /** Finds a reused block, as the older list has the reused blocks in the same order. */
  private static int findIn(@Nullable ParsedRefs old, int from, long idHi, long idLo) {
    for (int i = from; old != null && i < old.root.blocks; i++) {
      if (old.root.idHi(i) == idHi && old.root.idLo(i) == idLo) {
        return i;
      }
    }
    throw new IllegalStateException("a block of the list is missing");
  }
}
