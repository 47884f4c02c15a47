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
import java.nio.ByteOrder;

/**
 * An index of blocks by id: an open hash table in direct memory. A slot has 24 bytes: the id (16),
 * the number of the slab plus one (4; 0 in a free slot) and the start of the block in the slab (4).
 *
 * <p>For one thread at a time.
 */
final class BlockIndex {
  private static final int SLOT = 24;
  private static final int SLAB_AT = 16;
  private static final int START_AT = 20;
  private static final int FIRST_SLOTS = 1 << 10;

  private ByteBuffer table = table(FIRST_SLOTS);
  private int slots = FIRST_SLOTS;
  private int size;

  private static ByteBuffer table(int slots) {
    return ByteBuffer.allocateDirect(slots * SLOT).order(ByteOrder.nativeOrder());
  }

  int size() {
    return size;
  }

  /** Bytes of direct memory. */
  int bytes() {
    return table.capacity();
  }

  /** Returns the slab's number and the start of the block, or -1 if the id is not known. */
  long find(long idHi, long idLo) {
    int at = slot(idHi, idLo) * SLOT;
    int slab = table.getInt(at + SLAB_AT);
    return slab == 0 ? -1 : ListBlocks.place(slab - 1, table.getInt(at + START_AT));
  }

  /**
   * Makes room for so many more blocks, so that adding them cannot fail.
   *
   * @throws OutOfMemoryError if there is not enough direct memory; nothing has changed then
   */
  void reserve(int more) {
    int needed = slots;
    while (2 * (size + more) > needed) {
      needed *= 2;
    }
    if (needed > slots) {
      resize(needed);
    }
  }

  /** Adds a block, unless the index has the block already. */
  void add(long idHi, long idLo, int slab, int start) {
    reserve(1);
    int at = slot(idHi, idLo) * SLOT;
    if (table.getInt(at + SLAB_AT) == 0) {
      table.putLong(at, idHi).putLong(at + Long.BYTES, idLo);
      table.putInt(at + SLAB_AT, slab + 1).putInt(at + START_AT, start);
      size++;
    }
  }

  /** Removes a block of a slab, unless the index has the block in another slab. */
  void remove(long idHi, long idLo, int slab) {
    int hole = slot(idHi, idLo);
    if (table.getInt(hole * SLOT + SLAB_AT) != slab + 1) {
      return;
    }
    size--;
    // Later entries that were displaced move up, so that searches still find them.
    int mask = slots - 1;
    for (int i = (hole + 1) & mask; table.getInt(i * SLOT + SLAB_AT) != 0; i = (i + 1) & mask) {
      int home = home(table.getLong(i * SLOT + Long.BYTES), mask);
      if (((i - home) & mask) >= ((i - hole) & mask)) {
        table.put(hole * SLOT, table, i * SLOT, SLOT);
        hole = i;
      }
    }
    table.putInt(hole * SLOT + SLAB_AT, 0);
    if (slots > FIRST_SLOTS && 8 * size < slots) {
      try {
        resize(slots / 2);
      } catch (OutOfMemoryError e) {
        // The larger table works, too.
      }
    }
  }

  private void resize(int newSlots) {
    ByteBuffer old = table;
    int oldSlots = slots;
    // The allocation may fail, so it comes first.
    table = table(newSlots);
    slots = newSlots;
    for (int i = 0; i < oldSlots; i++) {
      int from = i * SLOT;
      if (old.getInt(from + SLAB_AT) != 0) {
        int to = slot(old.getLong(from), old.getLong(from + Long.BYTES)) * SLOT;
        table.put(to, old, from, SLOT);
      }
    }
  }

  /** The first slot to try for an id. Ids are hashes already. */
  private static int home(long idLo, int mask) {
    return (int) idLo & mask;
  }

  /** The slot of an id, or the free slot in which to put the id. */
  private int slot(long idHi, long idLo) {
    int mask = slots - 1;
    int i = home(idLo, mask);
    while (table.getInt(i * SLOT + SLAB_AT) != 0
        && (table.getLong(i * SLOT) != idHi || table.getLong(i * SLOT + Long.BYTES) != idLo)) {
      i = (i + 1) & mask;
    }
    return i;
  }
}
