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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** A cache for tests with a real store, without what Gerrit puts above it. */
public record StoreCache(Store store) implements SharedCache {
  public static final String NAME = MemoryCache.NAME;

  /** Opens the cache's store. */
  public static StoreCache open(StoreDirectory directory, long maxBytes) throws Exception {
    Store store =
        directory.openStore(new StoreSettings(NAME, 1, maxBytes, Optional.empty(), OldValues.PURE));
    store.awaitOpened();
    return new StoreCache(store);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public int version() {
    return 1;
  }

  @Override
  public boolean isOpen() {
    return store.isOpen();
  }

  @Override
  public StartReport start() {
    return store.stats().start();
  }

  @Override
  public byte[] resumePoint() {
    Value note = store.note();
    return note == null ? null : note.bytes();
  }

  @Override
  public void setResumePoint(byte[] note) {
    store.setNote(note);
  }

  @Override
  public ImportResult putIfAbsent(
      byte[] key, byte[] value, long created, BooleanSupplier isWanted) {
    Ticket ticket = store.ticket(key);
    try (ticket) {
      return isWanted.getAsBoolean()
          ? store.putIfAbsent(key, value, created, ticket)
          : ImportResult.OVER;
    }
  }
}
