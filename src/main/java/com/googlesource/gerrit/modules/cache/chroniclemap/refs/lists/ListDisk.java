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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.nio.ByteBuffer;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The blocks of lists on disk. Each is a value of one {@link Store}, by its id. A block for which
 * the store has no room is missing later, and is made from its text again.
 *
 * <p>The store evicts the values that were not read for the longest time. {@link #keep} reads the
 * blocks of a list so that they stay, and writes evicted ones again.
 *
 * <p>Safe for any thread. Reading waits for the store to be opened, for at most a second after this
 * object was made.
 */
final class ListDisk {
  /**
   * The number of bytes after which puts are flushed. A store that cannot grow at once drops queued
   * writes if there are too many.
   */
  private static final int FLUSH_BYTES = 4 << 20;

  private final Store store;

  /** Guarded by this. */
  private int unflushed;

  ListDisk(Store store) {
    this.store = store;
  }

  private static byte[] key(ContentDigest id) {
    return ByteBuffer.allocate(2 * Long.BYTES).putLong(id.hi()).putLong(id.lo()).array();
  }

  /** Returns the bytes of a block, or null if the disk does not have it. */
  @Nullable
  byte[] read(ContentDigest id) {
    Value value = store.read(key(id));
    return value == null || value.bytes()[BlockFormat.VERSION_AT] != BlockFormat.VERSION
        ? null
        : value.bytes();
  }

  /** Writes those blocks of a list that were not written yet. */
  synchronized void write(ParsedRefs list) {
    long now = System.currentTimeMillis();
    for (Block block : list.blocks) {
      if (!block.onDisk) {
        put(block, now);
        block.onDisk = true;
      }
    }
  }

  /** Keeps a list that is in use on disk, and restores its evicted blocks. */
  synchronized void keep(ParsedRefs list) {
    for (Block block : list.blocks) {
      block.onDisk = block.onDisk && read(block.id) != null;
    }
    write(list);
  }

  /** The caller holds this object's lock. */
  private void put(Block block, long now) {
    byte[] bytes = new byte[block.length];
    block.memory.get(0, bytes);
    byte[] key = key(block.id);
    // Any value with the same id is the same. A plain put would invalidate that value until the new
    // one is written, and would have a closed store discard its file.
    try (Ticket ticket = store.ticket(key)) {
      store.putIfCurrent(key, bytes, now, ticket);
    }
    unflushed += bytes.length;
    if (unflushed > FLUSH_BYTES) {
      unflushed = 0;
      store.flush();
    }
  }
}
