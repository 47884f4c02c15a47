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

package com.googlesource.gerrit.modules.cache.chroniclemap.build;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;

/**
 * Uses a store of the jar, in a class loader that has nothing but the jar and its neighbours: it
 * stores values, and finds them after a restart.
 *
 * <p>Refers to no library of the jar, since the names of those in the jar differ.
 */
public final class StoreUser implements Callable<String> {
  private static final int VALUES = 1000;
  private static final int VALUE_BYTES = 1000;

  /** Bytes of all its values. */
  public static final long BYTES = (long) VALUES * VALUE_BYTES;

  private static final StoreSettings SETTINGS =
      new StoreSettings("neighbours", 1, 8 << 20, Optional.empty());

  private final Path folder;

  public StoreUser(Path folder) {
    this.folder = folder;
  }

  /** Returns what is wrong; empty if nothing is. */
  @Override
  public String call() throws Exception {
    int before = withStore(StoreUser::count);
    withStore(
        store -> {
          for (int i = 0; i < VALUES; i++) {
            store.put(key(i), new byte[VALUE_BYTES], System.currentTimeMillis());
          }
          return VALUES;
        });
    int after = withStore(StoreUser::count);
    return after == VALUES && (before == 0 || before == VALUES)
        ? ""
        : "found " + before + " values before and " + after + " after";
  }

  private interface Work {
    int in(Store store) throws Exception;
  }

  private int withStore(Work work) throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      Store store = directory.openStore(SETTINGS);
      store.awaitOpened();
      int result = work.in(store);
      store.flush();
      return result;
    }
  }

  private static int count(Store store) {
    int count = 0;
    for (int i = 0; i < VALUES; i++) {
      Value value = store.read(key(i));
      count += value != null && value.bytes().length == VALUE_BYTES ? 1 : 0;
    }
    return count;
  }

  private static byte[] key(int i) {
    return new byte[] {(byte) i, (byte) (i >> 8)};
  }
}
