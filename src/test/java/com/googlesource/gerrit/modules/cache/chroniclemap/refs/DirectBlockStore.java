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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A block store in direct memory that keeps all it is given until it is garbage itself: for tests
 * and benchmarks of what lies above a store.
 *
 * <p>Blocks lie one behind the other in slabs. The index is an open hash table of 32-byte slots: id
 * (16 bytes), slab (4), offset (4), length (4, 0 in a free slot). A slot's length is written last,
 * so a reader sees a whole slot or a free one.
 */
final class DirectBlockStore implements BlockStore {
  private static final int SLOT = 32;
  private static final int SLAB_AT = 16;
  private static final int OFFSET_AT = 20;
  private static final int LENGTH_AT = 24;
  private static final int FIRST_SLOTS = 1 << 10;

  private static final VarHandle INT =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

  private final int slabBytes;
  private volatile State state;

  /** Guarded by this. */
  private int blocks;

  private int used;

  /** What readers see; replaced when the index or the slabs grow. */
  private record State(ByteBuffer index, int slots, ByteBuffer[] slabs) {}

  /**
   * Makes an empty store.
   *
   * @param slabBytes size of the parts in which memory is taken
   */
  public DirectBlockStore(int slabBytes) {
    this.slabBytes = slabBytes;
    state = new State(index(FIRST_SLOTS), FIRST_SLOTS, new ByteBuffer[0]);
    used = slabBytes;
  }

  @Override
  public boolean read(long idHi, long idLo, Visitor visitor) {
    State now = state;
    int slot = find(now, idHi, idLo);
    int length = (int) INT.getAcquire(now.index, slot + LENGTH_AT);
    // A slot that was free when it was found may have been taken for another block since.
    if (length == 0 || !isOf(now, slot, idHi, idLo)) {
      return false;
    }
    // Not of the state above: the slot may be newer than that.
    ByteBuffer slab = state.slabs[now.index.getInt(slot + SLAB_AT)];
    visitor.visit(slab, now.index.getInt(slot + OFFSET_AT), length);
    return true;
  }

  @Override
  public synchronized void put(long idHi, long idLo, ByteBuffer block) {
    int length = block.remaining();
    if (length == 0) {
      throw new IllegalArgumentException("an empty block");
    }
    State now = state;
    if (now.index.getInt(find(now, idHi, idLo) + LENGTH_AT) != 0) {
      return;
    }
    if (used + length > slabBytes) {
      now = withSlab(now, ByteBuffer.allocateDirect(Math.max(slabBytes, length)));
      used = 0;
    }
    if (2 * (blocks + 1) > now.slots) {
      now = withIndex(now, 2 * now.slots);
    }
    state = now;
    int slab = now.slabs.length - 1;
    now.slabs[slab].put(used, block, block.position(), length);
    int slot = find(now, idHi, idLo);
    now.index.putLong(slot, idHi).putLong(slot + Long.BYTES, idLo);
    now.index.putInt(slot + SLAB_AT, slab).putInt(slot + OFFSET_AT, used);
    INT.setRelease(now.index, slot + LENGTH_AT, length);
    used += length;
    blocks++;
  }

  /** Number of blocks. */
  public synchronized int blocks() {
    return blocks;
  }

  /** Bytes of direct memory taken, for blocks, free space and index. */
  public synchronized long memory() {
    long slabs = 0;
    for (ByteBuffer slab : state.slabs) {
      slabs += slab.capacity();
    }
    return slabs + state.index.capacity();
  }

  /** Bytes of the blocks alone and of their slots. */
  public synchronized long usedMemory() {
    long full = Math.max(0, state.slabs.length - 1) * (long) slabBytes;
    return full + (state.slabs.length == 0 ? 0 : used) + (long) blocks * SLOT;
  }

  private static State withSlab(State old, ByteBuffer slab) {
    ByteBuffer[] slabs = Arrays.copyOf(old.slabs, old.slabs.length + 1);
    slabs[old.slabs.length] = slab;
    return new State(old.index, old.slots, slabs);
  }

  private static State withIndex(State old, int slots) {
    State grown = new State(index(slots), slots, old.slabs);
    for (int from = 0; from < old.slots * SLOT; from += SLOT) {
      if (old.index.getInt(from + LENGTH_AT) != 0) {
        int to = find(grown, old.index.getLong(from), old.index.getLong(from + Long.BYTES));
        grown.index.put(to, old.index, from, SLOT);
      }
    }
    return grown;
  }

  private static ByteBuffer index(int slots) {
    return ByteBuffer.allocateDirect(slots * SLOT).order(ByteOrder.nativeOrder());
  }

  /** Position of the slot of an id, or of the free slot for it. */
  private static int find(State in, long idHi, long idLo) {
    int mask = in.slots - 1;
    for (int i = (int) idLo & mask; ; i = (i + 1) & mask) {
      int slot = i * SLOT;
      if ((int) INT.getAcquire(in.index, slot + LENGTH_AT) == 0 || isOf(in, slot, idHi, idLo)) {
        return slot;
      }
    }
  }

  private static boolean isOf(State in, int slot, long idHi, long idLo) {
    return in.index.getLong(slot) == idHi && in.index.getLong(slot + Long.BYTES) == idLo;
  }
}
