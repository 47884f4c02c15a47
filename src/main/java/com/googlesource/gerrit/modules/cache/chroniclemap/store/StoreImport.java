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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.HashedKey;
import java.io.IOException;

/**
 * Brings in values from before a store was made. Whatever the store knows of a key wins: a value
 * that is there, one that waits, and a change of which {@link ImportGuard} knows. Nothing leaves
 * for what is brought in.
 *
 * <p>Safe for any thread. Costs what a put costs, under the writer's lock.
 */
final class StoreImport {
  private final StoreContext context;
  private final FileHolder holder;
  private final StoreGrowth growth;

  StoreImport(StoreContext context, FileHolder holder, StoreGrowth growth) {
    this.context = context;
    this.holder = holder;
    this.growth = growth;
  }

  /** Whether values may be brought in; asked when the store was opened. */
  boolean isPossible() {
    return context.importGuard.mayImport() && holder.file() != null;
  }

  /** Nothing more is to be brought in. */
  void end() {
    try {
      context.importGuard.end();
    } catch (IOException e) {
      context.faults.warn(e, "cannot note that all was imported; the next start looks again");
    }
  }

  /** Brings a value in unless the store knows better; see {@link ImportResult}. */
  ImportResult put(byte[] keyBytes, byte[] value, long created) {
    if (context.isTooOld(created)) {
      return ImportResult.TOO_OLD;
    }
    if (keyBytes.length > context.settings.maxKey() || value.length > context.settings.maxValue()) {
      return ImportResult.TOO_LARGE;
    }
    HashedKey key = new HashedKey(keyBytes);
    ImportResult[] result = {ImportResult.OVER};
    context.lock.giveWay();
    context.lock.lock();
    try {
      FileInUse file = holder.file();
      if (file != null && context.importGuard.mayImport()) {
        context.pending.change(
            key,
            (k, before) -> {
              result[0] = before != null ? ImportResult.KNOWN : put(file, k, value, created);
              return before;
            });
      }
    } finally {
      context.lock.unlock();
    }
    return result[0];
  }

  private ImportResult put(FileInUse file, HashedKey key, byte[] value, long created) {
    if (context.importGuard.wasChanged(key.bytes)) {
      return ImportResult.KNOWN;
    }
    try {
      if (isThere(file, key)) {
        return ImportResult.KNOWN;
      }
      if (file.put(key.bytes, value, created, /* evict= */ false)) {
        if (file.isFilling() && !growth.request(file, 0)) {
          file.expectEviction();
        }
        return ImportResult.STORED;
      }
      boolean grows = growth.request(file, value.length);
      // Where it is not as large as it may be, there may be disk for that later.
      return grows || file.bytes() <= context.settings.maxBytes() / 2
          ? ImportResult.LATER
          : ImportResult.NO_ROOM;
    } catch (StoreBusyException e) {
      return ImportResult.LATER;
    } catch (RuntimeException | InternalError e) {
      holder.fail(file, e);
      return ImportResult.OVER;
    }
  }

  private static boolean isThere(FileInUse file, HashedKey key) {
    try {
      return file.read(key.bytes) != null;
    } catch (DamagedEntryException e) {
      // What is in its place is better.
      return false;
    }
  }
}
