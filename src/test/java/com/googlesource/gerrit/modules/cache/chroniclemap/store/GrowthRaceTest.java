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
import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * A file takes disk up to its limit while threads change keys of their own; each knows what it must
 * find at its keys, and finds nothing else. In the middle of that all is cleared.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class GrowthRaceTest {
  private static final long LIMIT = 64 << 20;
  private static final int THREADS = 2;
  private static final int KEYS = 200;
  private static final int FILLERS = 1000;
  private static final int FILLER_BYTES = 60_000;

  @TempDir Path temp;

  private final ExecutorService pool = Executors.newFixedThreadPool(THREADS);
  private final AtomicBoolean ended = new AtomicBoolean();

  /** Shared by who changes a key; not with who clears. */
  private final ReadWriteLock clearing = new ReentrantReadWriteLock();

  /** What is to be found at each key. */
  private final int[] expected = new int[THREADS * KEYS];

  /** Values put, and those of them that were not found any more. */
  private final AtomicInteger values = new AtomicInteger();

  private final AtomicInteger lost = new AtomicInteger();
  private StoreDirectory directory;
  private Store store;

  @BeforeEach
  void open() throws Exception {
    directory = StoreDirectory.open(temp.resolve("stores"));
    store = TestStores.open(directory, new StoreSettings("cache", 1, LIMIT, Optional.empty()));
  }

  @AfterEach
  void close() {
    ended.set(true);
    pool.close();
    directory.close();
  }

  @RepeatedTest(2)
  void noKeyHasWhatWasChangedOrCleared() throws Exception {
    List<Future<?>> changing = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int first = i * KEYS;
      changing.add(pool.submit(() -> changeUntilEnded(first, new Random(first))));
    }
    growToTheLimit();
    ended.set(true);
    for (Future<?> done : changing) {
      done.get();
    }
    store.flush();
    checkAll();
    assertThat(lost.get()).isAtMost(values.get() / 10);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(0);
  }

  private void changeUntilEnded(int first, Random random) {
    while (!ended.get()) {
      int key = first + random.nextInt(KEYS);
      clearing.readLock().lock();
      try {
        check(key);
        if (random.nextInt(3) == 0) {
          store.remove(key(key));
          expected[key] = KeyHistory.NONE;
        } else {
          int number = values.incrementAndGet();
          store.put(key(key), TestValues.of(number), System.currentTimeMillis());
          expected[key] = number;
        }
        check(key);
      } finally {
        clearing.readLock().unlock();
      }
    }
  }

  private void growToTheLimit() {
    for (int tenths = 1; tenths < 10; tenths++) {
      for (int i = 0; store.stats().diskBytes() < LIMIT * tenths / 10; i++) {
        byte[] filler = ("filler " + i % FILLERS).getBytes(UTF_8);
        store.put(filler, new byte[FILLER_BYTES], System.currentTimeMillis());
      }
      if (tenths % 3 == 0) {
        clearAll();
      }
    }
  }

  private void clearAll() {
    clearing.writeLock().lock();
    try {
      checkAll();
      store.clear();
      for (int key = 0; key < expected.length; key++) {
        expected[key] = KeyHistory.NONE;
      }
      checkAll();
    } finally {
      clearing.writeLock().unlock();
    }
  }

  private void checkAll() {
    for (int key = 0; key < expected.length; key++) {
      check(key);
    }
  }

  private void check(int key) {
    int found = TestValues.numberOf(store.read(key(key)));
    if (found != expected[key]) {
      // There may have been no room for it. Then it must not come back.
      assertWithMessage("key %s, expected %s", key, expected[key])
          .that(found)
          .isEqualTo(KeyHistory.NONE);
      expected[key] = KeyHistory.NONE;
      lost.incrementAndGet();
    }
  }
}
