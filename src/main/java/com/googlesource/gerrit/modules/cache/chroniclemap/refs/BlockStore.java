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

import java.nio.ByteBuffer;

/**
 * Where blocks of parsed ref lists are kept: immutable byte strings by 128-bit id, off-heap.
 *
 * <p>Equal ids mean equal bytes, so a put of an id that is there may be left out. A store may
 * forget blocks at any time; whoever misses one parses {@code packed-refs} again. It must never
 * give out other bytes than were put.
 *
 * <p>All methods may be called from any thread.
 */
interface BlockStore {
  /** Takes a look at the bytes of a block. */
  interface Visitor {
    /**
     * Called with the store's own memory, or a copy; valid until this returns.
     *
     * <p>It is short, does not wait and does not call the store.
     *
     * @param memory read by absolute positions only; of any byte order
     */
    void visit(ByteBuffer memory, int offset, int length);
  }

  /**
   * Shows a block to the visitor, unless it is not there.
   *
   * <p>For speed no garbage should be made here, and no copy.
   *
   * @return whether the block is there
   */
  boolean read(long idHi, long idLo, Visitor visitor);

  /**
   * Stores a block, if there is room.
   *
   * @param block the bytes between position and limit; the buffer may be used again when this
   *     returns
   */
  void put(long idHi, long idLo, ByteBuffer block);

  /**
   * Stores the root of a list all of whose blocks have been put.
   *
   * @param root as in {@link #put}
   */
  default void putRoot(long idHi, long idLo, ByteBuffer root) {
    put(idHi, idLo, root);
  }

  /** Whether a new list may use the blocks of that one again without putting them. */
  default boolean mayReuse(ParsedRefs list) {
    return list.store() == this;
  }
}
