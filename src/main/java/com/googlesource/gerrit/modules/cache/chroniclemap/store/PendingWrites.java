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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;

/**
 * The queued writes of a store, by key. A newer write of a key replaces the older one, so the queue
 * holds at most one write of each key. Reads look here before they look into the file.
 *
 * <p>Safe for any thread.
 */
final class PendingWrites {
  /**
   * A queued write.
   *
   * @param value null if the key is to be removed
   * @param created milliseconds since the epoch at which the value was made
   * @param conditional whether the write is superseded by a removal of all values
   * @param removals how many of those there were before the value was computed
   */
  record PendingWrite(byte[] value, long created, boolean conditional, long removals) {
    static PendingWrite put(byte[] value, long created) {
      return new PendingWrite(value, created, false, 0);
    }

    static PendingWrite remove() {
      return new PendingWrite(null, 0, false, 0);
    }

    /**
     * Whether all values were removed after this one was computed, given the number of removals.
     */
    boolean isSuperseded(long removalsNow) {
      return conditional && removals != removalsNow;
    }
  }

  private static final long BYTES_PER_WRITE = 128;

  /**
   * Initial capacity: in so many bins, changes of two keys seldom wait for each other. They would
   * in the default 16 bins, as a change may write to the file.
   */
  private static final int ROOM = 512;

  /** Heap for the queued writes of all stores; beyond that, callers write to the file. */
  private static final long MAX_BYTES_OF_ALL = 16 << 20;

  /**
   * Heap for the queued writes of each store, however much the others use: a store that waits for
   * its file to be opened must not hold up the others.
   */
  private static final long MIN_BYTES = 256 << 10;

  /** Bytes of the queued writes of all stores of the process. */
  private static final AtomicLong ALL = new AtomicLong();

  private final ConcurrentHashMap<HashedKey, PendingWrite> writes = new ConcurrentHashMap<>(ROOM);
  private final AtomicLong bytes = new AtomicLong();

  /**
   * An upper bound of the number of writes: raised before a write can be found, lowered after it
   * was removed. The map itself may briefly report a size of 0 while it holds a write.
   */
  private final AtomicInteger count = new AtomicInteger();

  private volatile boolean closed;

  boolean isEmpty() {
    return count.get() == 0;
  }

  int count() {
    return count.get();
  }

  /** Approximate bytes of heap that the queued writes use. */
  long bytes() {
    return bytes.get();
  }

  PendingWrite get(HashedKey key) {
    return writes.get(key);
  }

  /**
   * Whether a write may be queued. A value that would take all of the room may not: the writes of
   * all other stores would then have to be made by their callers.
   *
   * @param valueBytes bytes of its value
   */
  boolean hasRoom(int valueBytes) {
    return bytes() + valueBytes < MIN_BYTES || ALL.get() + valueBytes < MAX_BYTES_OF_ALL;
  }

  /** Whether much is queued by this store, so that it should be written in a hurry. */
  boolean isFilling() {
    return bytes() > MAX_BYTES_OF_ALL / 4;
  }

  /**
   * Whether a removal may be queued, for which there is more room: it takes little, and a request
   * would wait for the writes of others while the disk is slow.
   */
  boolean hasRoomToRemove() {
    return bytes() < MIN_BYTES || ALL.get() < 2 * MAX_BYTES_OF_ALL;
  }

  Iterable<HashedKey> keys() {
    return writes.keySet();
  }

  /**
   * Sets or removes the queued write of a key. {@code change} gets the present write or null, and
   * runs atomically with respect to other changes of the key. It may read and write the file, but
   * must not take a store's writer lock, which has to be taken first.
   */
  void change(HashedKey key, BiFunction<HashedKey, PendingWrite, PendingWrite> change) {
    boolean[] removed = new boolean[1];
    PendingWrite queued =
        writes.compute(
            key,
            (k, before) -> {
              PendingWrite after = change.apply(k, before);
              long more = weight(k, after) - weight(k, before);
              if (more != 0) {
                bytes.addAndGet(more);
                ALL.addAndGet(more);
              }
              if (before == null && after != null) {
                count.incrementAndGet();
              }
              removed[0] = before != null && after == null;
              return after;
            });
    if (removed[0]) {
      count.decrementAndGet();
    }
    if (queued != null && closed) {
      // close() may have passed this key before the write was queued.
      change(key, (k, before) -> null);
    }
  }

  /** Waits for the changes of a key that are under way. */
  void await(HashedKey key) {
    change(key, (k, before) -> before);
  }

  void clear() {
    writes.keySet().forEach(key -> change(key, (k, before) -> null));
  }

  /** Drops all queued writes, now and later, and frees their share of the heap for other stores. */
  void close() {
    closed = true;
    clear();
  }

  private static long weight(HashedKey key, PendingWrite write) {
    if (write == null) {
      return 0;
    }
    int value = write.value() == null ? 0 : write.value().length;
    // Whoever puts a larger one writes it at once, and must not have all others wait for that.
    return BYTES_PER_WRITE + key.bytes.length + (value < MAX_BYTES_OF_ALL ? value : 0);
  }
}
