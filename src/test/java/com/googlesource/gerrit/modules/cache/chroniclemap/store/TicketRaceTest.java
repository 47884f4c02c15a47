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
import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.primitives.Ints;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/**
 * One thread changes the source of a value and then the store, again and again; others load from
 * the source into the store all the time. What is found after a change is never older than it. Many
 * more attempts than in {@link RestartHistoryTest}, since the moments to be met are short.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class TicketRaceTest extends FolderTest {
  private static final int CHANGES = Integer.getInteger("race.changes", 60_000);
  private static final int CHECKS = 8;
  private static final int LOADERS = 2;
  private static final StoreSettings SETTINGS = settings("cache", 1 << 20);

  private static final byte[] KEY = "key".getBytes(UTF_8);

  private final ExecutorService pool = Executors.newFixedThreadPool(LOADERS);
  private final AtomicInteger source = new AtomicInteger();
  private final AtomicBoolean ended = new AtomicBoolean();

  /** Opens the way to the file. */
  private final CountDownLatch mayOpen = new CountDownLatch(1);

  @AfterEach
  void close() {
    mayOpen.countDown();
    ended.set(true);
    pool.close();
  }

  private static byte[] bytes(int number) {
    return Ints.toByteArray(number);
  }

  /** What is loaded is negative, what is put positive. */
  private void load() {
    while (!ended.get()) {
      Ticket ticket = store.ticket(KEY);
      try (ticket) {
        if (store.read(KEY) == null) {
          store.putIfCurrent(KEY, bytes(-source.get()), System.currentTimeMillis(), ticket);
        }
      }
    }
  }

  private void changeAgainAndAgain() throws Exception {
    Future<?>[] loaders = new Future<?>[LOADERS];
    for (int i = 0; i < LOADERS; i++) {
      loaders[i] = pool.submit(this::load);
    }
    for (int i = 1; i <= CHANGES; i++) {
      // Two removals in a row, so that some loads find nothing before and after one.
      boolean put = i % 3 == 0;
      int number = source.incrementAndGet();
      if (put) {
        store.put(KEY, bytes(number), System.currentTimeMillis());
      } else if (i % 120 == 2) {
        store.clear();
      } else {
        store.remove(KEY);
      }
      // Again and again, since a load may still be about to put.
      for (int j = 0; j < CHECKS; j++) {
        check(number, put);
      }
      if (i % 32 == 0) {
        store.flush();
        check(number, put);
      }
    }
    ended.set(true);
    for (Future<?> loader : loaders) {
      loader.get();
    }
  }

  /** After a put its value is found; after a removal nothing, or what was loaded since. */
  private void check(int number, boolean put) {
    Value value = store.read(KEY);
    int found = value == null ? 0 : Ints.fromByteArray(value.bytes());
    assertThat(found).isIn(put ? List.of(number) : List.of(0, -number));
  }

  @Test
  void noLoadBringsAnOlderValueBack() throws Exception {
    start(SETTINGS);
    changeAgainAndAgain();
  }

  @Test
  void noLoadBringsAnOlderValueBackWhileTheFileIsBeingOpened() throws Exception {
    begin(new TestDisk().before(Call.MAPPING, file -> awaitUninterruptibly(mayOpen)), SETTINGS);
    changeAgainAndAgain();
    assertThat(store.stats().state()).isEqualTo(StoreState.OPENING);
    mayOpen.countDown();
    store.awaitOpened();
    store.flush();
    check(CHANGES, CHANGES % 3 == 0);
  }
}
