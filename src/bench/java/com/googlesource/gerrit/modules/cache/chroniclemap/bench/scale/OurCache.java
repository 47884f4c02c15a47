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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.nio.file.Path;
import java.util.Optional;

/** A store of this module. */
final class OurCache implements ScaledCache {
  private final StoreDirectory directory;
  private final Store store;
  private final long begun = System.nanoTime();

  /** Opens it; returns when it is open. */
  OurCache(Path folder, long maxBytes) throws Exception {
    directory = StoreDirectory.open(folder);
    store = directory.openStore(new StoreSettings("scale", 1, maxBytes, Optional.empty()));
    store.awaitOpened();
    if (store.stats().state() != StoreState.READY) {
      throw new IllegalStateException("the store did not open: " + store.stats());
    }
  }

  Store store() {
    return store;
  }

  @Override
  public long begun() {
    return begun;
  }

  @Override
  @Nullable
  public byte[] read(int number) {
    Value found = store.read(Values.keyBytes(number));
    return found == null ? null : found.bytes();
  }

  @Override
  public void put(int number, byte[] value) {
    store.put(Values.keyBytes(number), value, System.currentTimeMillis());
  }

  @Override
  public void remove(int number) {
    store.remove(Values.keyBytes(number));
  }

  @Override
  public void store(int number, byte[] value) {
    byte[] key = Values.keyBytes(number);
    Ticket ticket = store.ticket(key);
    try (ticket) {
      store.putIfCurrent(key, value, System.currentTimeMillis(), ticket);
    }
  }

  @Override
  public void drain() {
    store.flush();
  }

  @Override
  public boolean queuesWithoutBound() {
    return false;
  }

  @Override
  public long entries() {
    return store.stats().entries();
  }

  @Override
  public long diskBytes() {
    return store.stats().diskBytes();
  }

  @Override
  public long lost() {
    return store.stats().counts().notStored.sum();
  }

  @Override
  public String found() {
    return store.stats().start().kind().name();
  }

  @Override
  public void close() {
    directory.close();
  }
}
