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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The lists on disk. Each root and each block is a value of one {@link Store}, by its id. Contract:
 *
 * <ul>
 *   <li>{@link #load} returns a complete list or none. If a block is missing, the blocks that were
 *       loaded before are in the builder and can be reused.
 *   <li>{@link #write} puts all blocks before the root. Values for which the store has no room are
 *       missing later, which is harmless.
 *   <li>The store evicts the values that were not read for the longest time. {@link #keep} reads a
 *       list so that it stays, and writes evicted parts again.
 * </ul>
 *
 * <p>Safe for any thread. Loading waits for the store to be opened, for at most a second after this
 * object was made.
 */
final class ListDisk {
  /** The combined version of roots and blocks, which is that of the store. */
  static final int VERSION = (Root.VERSION << 8) | BlockFormat.VERSION;

  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /**
   * The number of bytes after which puts are flushed. A store that cannot grow at once drops queued
   * writes if there are too many, and a list that lacks a block is useless.
   */
  private static final int FLUSH_BYTES = 4 << 20;

  private final Store store;

  /** Guarded by this. */
  private int unflushed;

  /** The number of lists that were loaded. */
  final LongAdder loads = new LongAdder();

  ListDisk(Store store) {
    this.store = store;
  }

  private static byte[] key(ContentDigest id) {
    return ByteBuffer.allocate(2 * Long.BYTES).putLong(id.hi()).putLong(id.lo()).array();
  }

  /** Whether the disk has a block or a root. */
  boolean has(ContentDigest id) {
    return store.read(key(id)) != null;
  }

  /** Returns the list of a content, or null if the disk does not have all of its parts. */
  @Nullable
  ParsedRefs load(ContentDigest digest, ListBuilder builder) {
    Value value = store.read(key(digest));
    if (value == null) {
      return null;
    }
    try {
      Root root = new Root(value.bytes());
      if (!root.digest().equals(digest)) {
        return null;
      }
      for (int i = 0; i < root.blocks; i++) {
        ContentDigest id = new ContentDigest(root.idHi(i), root.idLo(i));
        if (!builder.share(id)) {
          Value block = store.read(key(id));
          if (block == null) {
            return null;
          }
          builder.put(id, ByteBuffer.wrap(block.bytes()));
        }
      }
      loads.increment();
      return builder.finish(root, /* onDisk= */ true);
    } catch (RuntimeException e) {
      // The checksums are right, so another version of this module may have written the list.
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "A parsed ref list on disk cannot be used; it is parsed again");
      return null;
    }
  }

  /** Writes those parts of a list that were not written yet. */
  synchronized void write(ParsedRefs list) {
    if (list.onDisk) {
      return;
    }
    long now = System.currentTimeMillis();
    for (Block block : list.blocks) {
      if (!block.onDisk) {
        byte[] bytes = new byte[block.length];
        block.memory.get(0, bytes);
        put(block.id, bytes, now);
        block.onDisk = true;
      }
    }
    put(list.digest(), list.root.bytes, now);
    list.onDisk = true;
  }

  /** Keeps a list that is in use on disk, and restores its evicted parts. */
  synchronized void keep(ParsedRefs list) {
    boolean onDisk = list.onDisk && has(list.digest());
    for (Block block : list.blocks) {
      block.onDisk = block.onDisk && has(block.id);
      onDisk &= block.onDisk;
    }
    list.onDisk = onDisk;
    write(list);
  }

  /** The caller holds this object's lock. */
  private void put(ContentDigest id, byte[] bytes, long now) {
    byte[] key = key(id);
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
