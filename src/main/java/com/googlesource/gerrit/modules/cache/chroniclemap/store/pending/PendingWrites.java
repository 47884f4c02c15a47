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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.pending;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;

/**
 * What was put and is not in the file yet, by key: the newest write of a key replaces an older one,
 * so the queue holds at most one write of each key. Reads look here first.
 *
 * <p>Safe for any thread.
 */
public final class PendingWrites {
  private static final long BYTES_PER_WRITE = 128;

  /**
   * Room for so many that changes of two keys, which may write to the file, seldom wait for each
   * other in one bin: a map without entries would have 16 bins.
   */
  private static final int ROOM = 512;

  /** Heap that the queued writes of all stores may take; beyond it, putters write themselves. */
  private static final long MAX_BYTES_OF_ALL = 16 << 20;

  /**
   * Heap that the queued writes of each store may take, whatever those of the others take: a store
   * that waits for its file to grow must not hold up the others.
   */
  private static final long MIN_BYTES = 256 << 10;

  /** Bytes of the queued writes of all stores of the process. */
  private static final AtomicLong ALL = new AtomicLong();

  private final ConcurrentHashMap<HashedKey, PendingWrite> writes = new ConcurrentHashMap<>(ROOM);
  private final AtomicLong bytes = new AtomicLong();

  /**
   * Writes there are, or more: counted before one can be found, uncounted after it can't be any
   * more. The map's own size may say 0 for a moment while there is one.
   */
  private final AtomicInteger count = new AtomicInteger();

  private volatile boolean closed;

  public boolean isEmpty() {
    return count.get() == 0;
  }

  public int count() {
    return count.get();
  }

  /** Bytes of heap that the waiting writes keep, about. */
  public long bytes() {
    return bytes.get();
  }

  public PendingWrite get(HashedKey key) {
    return writes.get(key);
  }

  /** Whether more may be queued. */
  public boolean hasRoom() {
    return bytes() < MIN_BYTES || ALL.get() < MAX_BYTES_OF_ALL;
  }

  public Iterable<HashedKey> keys() {
    return writes.keySet();
  }

  /**
   * Sets or removes the write of a key. {@code change} gets the present one or null, and runs as
   * one step with respect to other changes of the key. It may look at the file and write to it, but
   * must not take a store's writer lock: that one goes first.
   */
  public void change(HashedKey key, BiFunction<HashedKey, PendingWrite, PendingWrite> change) {
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
      // close() may have looked at this key before.
      change(key, (k, before) -> null);
    }
  }

  /** Returns when no change of the key is under way that was when this was called. */
  public void await(HashedKey key) {
    change(key, (k, before) -> before);
  }

  public void clear() {
    for (HashedKey key : writes.keySet()) {
      change(key, (k, before) -> null);
    }
  }

  /** Drops what is queued now or later: nobody writes it, and its room belongs to other stores. */
  public void close() {
    closed = true;
    clear();
  }

  private static long weight(HashedKey key, PendingWrite write) {
    if (write == null) {
      return 0;
    }
    return BYTES_PER_WRITE + key.bytes.length + (write.value() == null ? 0 : write.value().length);
  }
}
