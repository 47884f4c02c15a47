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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.HashedKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.PendingWrite;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.PendingWrites;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Writes what is queued in {@link PendingWrites} to the file. The writers of one store take turns,
 * because Chronicle-Map's own locks spin.
 *
 * <p>A write is taken from the queue and brought into the file as one step with respect to other
 * changes of the same key: see {@link PendingWrites#change}. So whoever changes a key sees either
 * that an older write of it waits, and replaces it, or that it is in the file, and invalidates it
 * there.
 *
 * <p>All methods are for any thread.
 */
final class StoreWriter {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final long RETRY_SECONDS = 1;

  /** Where a value that does not fit the file as it is may find room. */
  private enum Room {
    /** Nowhere. */
    AS_IT_IS,
    /** In a larger file, which is waited for; if there can't be one, in the place of others. */
    AFTER_GROWTH,
    /** In the place of values of less use. */
    BY_EVICTION
  }

  private final StoreContext context;
  private final FileHolder holder;
  private final StoreGrowth growth;
  private final AtomicBoolean draining = new AtomicBoolean();

  /** Whether a later attempt is scheduled. */
  private final AtomicBoolean retrying = new AtomicBoolean();

  StoreWriter(StoreContext context, FileHolder holder, StoreGrowth growth) {
    this.context = context;
    this.holder = holder;
    this.growth = growth;
  }

  /** Has a background thread write what is queued. */
  void writeSoon() {
    if (holder.file() != null
        && !context.pending.isEmpty()
        && draining.compareAndSet(false, true)) {
      if (!context.threads.write(this::drain)) {
        draining.set(false);
      }
    }
  }

  /** Writes what is queued until nothing is. One thread at a time; others come in between. */
  private void drain() {
    boolean all;
    do {
      try {
        all = writeAll();
      } finally {
        draining.set(false);
      }
    } while (all && !context.pending.isEmpty() && draining.compareAndSet(false, true));
    if (!all && retrying.compareAndSet(false, true)) {
      // Writes that wait for the file to grow are written when it has grown. This is for those that
      // wait for readers to leave a segment.
      context.threads.later(
          () -> {
            retrying.set(false);
            writeSoon();
          },
          RETRY_SECONDS);
    }
  }

  /** Writes what was queued when this was called; returns when it is in the file. */
  void flush() {
    while (!writeAll()) {
      growth.await();
    }
  }

  /** Writes what is queued; returns false if some of it has to wait. */
  boolean writeAll() {
    return writeAll(Room.AFTER_GROWTH);
  }

  /** As above, but what would wait for the file to grow takes the place of values of less use. */
  boolean writeAllNow() {
    return writeAll(Room.BY_EVICTION);
  }

  /** As above, for so long; the rest is left. */
  void writeFor(long nanos) {
    long begun = System.nanoTime();
    for (HashedKey key : context.pending.keys()) {
      if (System.nanoTime() - begun > nanos) {
        return;
      }
      var unused = write(key, Room.BY_EVICTION);
    }
  }

  private boolean writeAll(Room room) {
    boolean all = true;
    for (HashedKey key : context.pending.keys()) {
      context.lock.giveWay();
      all &= write(key, room);
    }
    return all;
  }

  /**
   * Writes what is queued for a key, where nothing more can be queued. Never waits for the file to
   * grow: values of less use go.
   *
   * @return false if the disk keeps it waiting
   */
  boolean writeNow(HashedKey key) {
    return write(key, Room.BY_EVICTION);
  }

  /** Returns false if the write has to wait, for the file to grow or for the disk. */
  private boolean write(HashedKey key, Room room) {
    context.lock.lock();
    try {
      FileInUse file = holder.file();
      if (file == null) {
        return true;
      }
      boolean[] applied = {true};
      context.pending.change(
          key,
          (k, write) -> {
            if (write != null) {
              applied[0] = apply(file, k, write, room);
            }
            return applied[0] ? null : write;
          });
      return applied[0];
    } finally {
      context.lock.unlock();
    }
  }

  /**
   * Brings a change into the file if that takes no more than to write it: nothing is evicted for
   * it. Under the writer's lock, in the middle of a {@link PendingWrites#change}.
   *
   * @return false if it has to wait; then the older value may be in the file as before
   */
  boolean writeAsItIs(FileInUse file, HashedKey key, PendingWrite write) {
    return apply(file, key, write, Room.AS_IT_IS);
  }

  /** Returns false if the write has to wait. */
  private boolean apply(FileInUse file, HashedKey key, PendingWrite write, Room room) {
    try {
      if (write.value() == null) {
        file.remove(key.bytes);
        return true;
      }
      if (room != Room.AS_IT_IS && write.isSuperseded(context.tickets)) {
        // It waited, so others may have read it, and must not find an older one again. To drop that
        // is enough: no change of this key ended the ticket, or that one would wait here; a clear
        // has put an empty file in place.
        file.drop(key.bytes);
        return true;
      }
      if (!write.conditional()) {
        file.noteChange();
      }
      if (file.put(key.bytes, write.value(), write.created(), /* evict= */ false)) {
        context.counters.puts.increment();
        if (file.isFilling() && !growth.request(file, 0)) {
          file.values().expectEviction();
        }
        return true;
      }
      int length = write.value().length;
      boolean grows = growth.request(file, length);
      if (room == Room.AS_IT_IS || (room == Room.AFTER_GROWTH && grows)) {
        return false;
      }
      if (file.put(key.bytes, write.value(), write.created(), /* evict= */ true)) {
        context.counters.puts.increment();
      } else {
        notStored(length);
      }
    } catch (StoreBusyException e) {
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
      return false;
    } catch (IOException | RuntimeException | InternalError e) {
      holder.fail(holder.file(), e);
    }
    return true;
  }

  /** Counts a value that did not fit. */
  void notStored(int length) {
    context.counters.notStored.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
        "Cache %s has no room for a value of %d bytes and keeps it in memory only;"
            + " cache.%s.diskLimit is %d bytes, or the disk is full",
        context.settings.name(), length, context.settings.name(), context.settings.maxBytes());
  }
}
