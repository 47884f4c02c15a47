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

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.PendingWrites.PendingWrite;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable.Evict;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The writer of a store: writes to the file what is queued in {@link PendingWrites}. The threads
 * that write to one store take turns, because Chronicle-Map's own locks spin.
 *
 * <p>To take a write from the queue and bring it into the file is one step with respect to other
 * changes of the same key: see {@link PendingWrites#change}. So a thread that changes a key either
 * finds an older write in the queue and replaces it, or finds that write in the file and
 * invalidates it there.
 *
 * <p>Safe for any thread.
 */
final class StoreWriter {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** If so many queued writes have to wait for the disk, the others most likely have to, too. */
  private static final int MAX_WAITING = 50;

  private final StoreContext context;
  private final CurrentFile current;
  private final AtomicBoolean draining = new AtomicBoolean();

  StoreWriter(StoreContext context, CurrentFile current) {
    this.context = context;
    this.current = current;
  }

  /** Has a background thread write what is queued. */
  void writeSoon() {
    if (current.file() != null
        && !context.pending.isEmpty()
        && draining.compareAndSet(false, true)) {
      if (!context.threads.write(this::drain)) {
        draining.set(false);
      }
    }
  }

  /** Writes what is queued, on one thread at a time. */
  private void drain() {
    boolean all = false;
    try {
      all = writeAll(Long.MAX_VALUE);
    } finally {
      draining.set(false);
    }
    if (all) {
      // What was queued meanwhile is written after the writes of other stores. Writes that wait for
      // readers of their segments are tried again with the next ones, or each minute.
      writeSoon();
    }
  }

  /** Writes all that is queued at the call; returns when it is in the file. */
  void flush() {
    while (!writeAll(Long.MAX_VALUE)) {
      // Each attempt has waited for the readers of a segment.
      Thread.onSpinWait();
    }
  }

  /**
   * Writes what is queued.
   *
   * @param nanos after which the rest stays queued
   * @return false if some of it has to wait
   */
  boolean writeAll(long nanos) {
    long begun = System.nanoTime();
    int waiting = 0;
    for (HashedKey key : context.pending.keys()) {
      if (System.nanoTime() - begun > nanos || waiting == MAX_WAITING) {
        return false;
      }
      context.yieldToWaiters();
      waiting += write(key) ? 0 : 1;
    }
    return waiting == 0;
  }

  /**
   * Writes what is queued for a key.
   *
   * @return false if the write has to wait for the disk
   */
  boolean write(HashedKey key) {
    context.lock.lock();
    try {
      StoreFile file = current.file();
      if (file == null) {
        return true;
      }
      boolean[] applied = {true};
      context.pending.change(
          key,
          (k, write) -> {
            if (write != null) {
              applied[0] = apply(file, k, write, /* mayEvict= */ true);
            }
            return applied[0] ? null : write;
          });
      return applied[0];
    } finally {
      context.lock.unlock();
    }
  }

  /**
   * Writes a change to the file. Under the writer lock, inside a {@link PendingWrites#change}.
   *
   * @param mayEvict whether others may be evicted for it, which takes a while
   * @return false if the write has to wait; the older value may then still be in the file
   */
  boolean apply(StoreFile file, HashedKey key, PendingWrite write, boolean mayEvict) {
    byte[] value = write.value();
    try {
      if (value == null) {
        file.values.invalidate(key.bytes);
        file.values.remove(key.bytes);
        return true;
      }
      if (write.isSuperseded(context.tickets.removals.get())) {
        // The file was emptied since. A change of the key would have replaced this write.
        return true;
      }
      if (!write.conditional()) {
        // The value that is replaced may have been evicted.
        file.state().noteChange();
      }
      Evict evict =
          !mayEvict
              ? Evict.NONE
              : context.pending.isFilling() ? Evict.LEAST_USED_IN_HASTE : Evict.LEAST_USED;
      if (put(file, key, value, write.created(), evict)) {
        countPut(key);
      } else if (!mayEvict) {
        return false;
      } else if (context.isDiskRefused()) {
        // That was logged.
        context.counts.notStored.increment();
      } else {
        notStored(value.length, overLimit(value.length));
      }
    } catch (StoreBusyException e) {
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
      return false;
    } catch (IOException | RuntimeException | InternalError | LinkageError e) {
      current.fail(current.file(), e);
    }
    return true;
  }

  private void countPut(HashedKey key) {
    if (!Arrays.equals(key.bytes, StoredKey.NOTE)) {
      context.counts.puts.increment();
    }
  }

  /**
   * Stores a value if it has room, or else in place of others.
   *
   * @param evict which ones
   */
  boolean put(StoreFile file, HashedKey key, byte[] value, long created, Evict evict) {
    file.values.expectEvictionIfDue();
    return file.values.put(key.bytes, value, created, Evict.NONE)
        || (evict != Evict.NONE
            && !file.values.isTooLarge(value)
            && file.values.put(key.bytes, value, created, evict));
  }

  /** The reason why a value does not fit that is larger than the limit allows. */
  String overLimit(int length) {
    long maxBytes = context.settings.maxBytes();
    long needed = StoreSettings.megabytesFor(length);
    return lenientFormat(
        "cache.%s.diskLimit is %s bytes%s",
        context.settings.name(),
        maxBytes,
        (needed << 20) > maxBytes ? ", and would have to be " + needed + "m or more" : "");
  }

  /** Counts and logs a value that is left out, and why. */
  void notStored(int length, String why) {
    context.counts.notStored.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
        "Cache %s has no room for a value of %d bytes and keeps it in memory only: %s",
        context.settings.name(), length, why);
  }
}
