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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.common.cache.Cache;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.concurrent.locks.LockSupport;

/** Lets a benchmark wait for what the caches do in the background. */
public final class Stores {
  private static final long POLL_NANOS = 1_000_000;

  private Stores() {}

  /** Returns when the file of a cache is open. */
  public static void awaitOpen(Cache<?, ?> cache) {
    Store store = store(cache);
    while (store.stats().state() == StoreState.OPENING) {
      LockSupport.parkNanos(POLL_NANOS);
    }
    if (store.stats().state() != StoreState.READY) {
      throw new IllegalStateException("the store did not open: " + store.stats());
    }
  }

  /** Returns when all that was put to a cache is in its file. */
  public static void flush(Cache<?, ?> cache) {
    store(cache).flush();
  }

  private static Store store(Cache<?, ?> cache) {
    return ((ChronicleMapCache<?, ?>) cache).disk.store;
  }
}
