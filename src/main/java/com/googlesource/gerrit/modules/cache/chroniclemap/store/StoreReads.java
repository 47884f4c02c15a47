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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.HashedKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.PendingWrite;
import java.util.concurrent.TimeUnit;

/**
 * Finds values: in the writes that wait, or else in the file. What is found there too old or
 * damaged is taken away later, if it still is when the writer's lock is held.
 *
 * <p>Safe for any thread.
 */
final class StoreReads {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often a read looks again when the key is being changed. */
  private static final int READ_ATTEMPTS = 3;

  private final StoreContext context;
  private final FileHolder holder;

  StoreReads(StoreContext context, FileHolder holder) {
    this.context = context;
    this.holder = holder;
  }

  /** Reads a value and counts that; returns null if there is none. */
  Value read(byte[] key) {
    Value value = find(key);
    context.usage.asked(key);
    (value != null ? context.counters.hits : context.counters.misses).increment();
    return value;
  }

  /** As {@link #read}, for a caller whose read a moment ago was counted. */
  Value find(byte[] key) {
    holder.awaitOpenBriefly();
    if (holder.isOver()) {
      // What still waits was changed since, perhaps: those changes are not noted any more.
      return null;
    }
    Value value = findNewest(key);
    if (value != null && context.isTooOld(value.created())) {
      context.counters.expired.increment();
      var unused = context.threads.write(() -> removeIf(key, this::isExpired));
      return null;
    }
    return value;
  }

  private Value findNewest(byte[] key) {
    for (int i = 0; i < READ_ATTEMPTS; i++) {
      PendingWrite waiting =
          context.pending.isEmpty() ? null : context.pending.get(new HashedKey(key));
      if (waiting != null) {
        // Void or not, others may have read it: what is in the file is older.
        return waiting.value() == null || waiting.isVoid(context.tickets)
            ? null
            : new Value(waiting.value(), waiting.created());
      }
      StoredValue stored = findInFile(key);
      if (stored == null || !stored.isVoid()) {
        return stored == null ? null : new Value(stored.payload(), stored.created());
      }
      // The key is just being changed; the new value can be found in a moment.
      context.pending.await(new HashedKey(key));
    }
    return null;
  }

  private StoredValue findInFile(byte[] key) {
    FileInUse file = holder.file();
    if (file == null) {
      return null;
    }
    try {
      return file.read(key);
    } catch (DamagedEntryException e) {
      if (e.isCertain()) {
        countDamaged(e);
      }
      var unused = context.threads.write(() -> removeIf(key, this::isDamaged));
    } catch (StoreBusyException e) {
      // A miss: whoever has the segment waits for the disk.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError e) {
      holder.fail(file, e);
    }
    return null;
  }

  private interface FileCheck {
    boolean holds(FileInUse file, byte[] key) throws DamagedEntryException;
  }

  private boolean isExpired(FileInUse file, byte[] key) throws DamagedEntryException {
    StoredValue value = file.read(key);
    return value != null && !value.isVoid() && context.isTooOld(value.created());
  }

  private void countDamaged(DamagedEntryException e) {
    context.counters.damaged.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
        "Cache %s: a damaged entry was found and is dropped: %s",
        context.settings.name(), e.getMessage());
  }

  private boolean isDamaged(FileInUse file, byte[] key) {
    try {
      var unused = file.read(key);
      return false;
    } catch (DamagedEntryException e) {
      if (!e.isCertain()) {
        // Now that nobody replaces it, it is. What was certain was counted by the reader.
        countDamaged(e);
      }
      return true;
    }
  }

  /** Removes a value from the file, if under the writer's lock it still is what a reader saw. */
  private void removeIf(byte[] key, FileCheck check) {
    context.lock.lock();
    try {
      FileInUse file = holder.file();
      if (file != null && holds(check, file, key)) {
        file.drop(key);
      }
    } catch (StoreBusyException e) {
      // The next reader sees it again.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError e) {
      holder.fail(holder.file(), e);
    } finally {
      context.lock.unlock();
    }
  }

  private static boolean holds(FileCheck check, FileInUse file, byte[] key) {
    try {
      return check.holds(file, key);
    } catch (DamagedEntryException e) {
      return true;
    }
  }
}
