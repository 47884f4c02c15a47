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

import static com.google.common.truth.Truth.assertThat;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * No further thread can be started, as where the limit of processes is reached: no caller of a
 * store fails, no store is lost, and none evicts anything for that.
 */
@Timeout(60)
class FewThreadsTest {
  private static final StoreSettings SETTINGS = settings("cache", 32 << 20);

  /** What needs more than half of the file, in values of {@link #put}. */
  private static final int MANY = 200;

  @TempDir Path folder;

  /** How many threads may be started. */
  private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);

  @AutoClose private StoreDirectory directory;

  private ThreadFactory few(String prefix) {
    ThreadFactory threads = StoreThreads.named(prefix);
    return task -> {
      if (left.getAndUpdate(number -> Math.max(0, number - 1)) == 0) {
        throw new OutOfMemoryError("unable to create native thread (a test)");
      }
      return threads.newThread(task);
    };
  }

  private Store open() throws Exception {
    directory =
        new StoreDirectory(
            folder, Disk.REAL, System::currentTimeMillis, this::few, locked -> {}, () -> false);
    directory.openWhenFree(Duration.ZERO, who -> {});
    return TestStores.open(directory, SETTINGS);
  }

  private static void put(Store store, int number) {
    store.put(key(number), new byte[100_000], 1);
    assertThat(store.read(key(number)).bytes()).hasLength(100_000);
  }

  private static void putMany(Store store, int from) {
    for (int i = from; i < from + MANY; i++) {
      put(store, i);
    }
  }

  @Test
  void aStoreWithoutAnyThreadGoesOn() throws Exception {
    left.set(0);
    Store store = open();
    putMany(store, 0);
    store.remove(key(MANY - 1));
    store.flush();
    directory.sweep();
    assertThat(store.read(key(MANY - 1))).isNull();
    assertThat(store.stats().counts().evicted.sum()).isEqualTo(0);
    directory.close();
    store = open();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(store.stats().entries()).isEqualTo(MANY - 1);
  }

  /** One thread of each kind is there from the start. */
  @Test
  void aStoreIsFilledWithoutFurtherThreads() throws Exception {
    Store store = open();
    left.set(0);
    putMany(store, 0);
    store.flush();
    assertThat(store.stats().counts().evicted.sum()).isEqualTo(0);
    directory.close();
    assertThat(open().stats().entries()).isEqualTo(MANY);
  }

  /** Whatever the number of threads that can be started, nobody fails. */
  @Test
  void noNumberOfThreadsFailsACaller() throws Exception {
    for (int number = 1; number < 8; number++) {
      left.set(number);
      Store store = open();
      for (int i = 0; i < MANY; i++) {
        // While the file is being opened, only so many bytes wait: some values may be left out.
        store.put(key(i), new byte[100_000], 1);
      }
      store.clear();
      put(store, 1);
      directory.close();
      left.set(number);
      store = open();
      assertThat(store.stats().entries()).isEqualTo(1);
      store.clear();
      directory.close();
    }
  }
}
