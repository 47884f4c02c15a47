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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.PendingWrites.PendingWrite;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A file whose recovery takes long: nobody waits for it, and what is changed meanwhile is changed.
 */
@Timeout(60)
class SlowOpeningTest extends FolderTest {
  private static final StoreSettings SETTINGS = settings("cache", 1 << 20);

  private final CountDownLatch goOn = new CountDownLatch(1);

  /** Opens a store that was left by a crash, with a disk that takes its time to map a file. */
  @BeforeEach
  void beginToRecover() throws Exception {
    Path before = temp.resolve("before");
    try (StoreDirectory earlier = StoreDirectory.open(before)) {
      Store filled = TestStores.open(earlier, SETTINGS);
      for (int i = 0; i < 20; i++) {
        filled.put(key(i), bytes("old " + i), 1);
      }
      filled.flush();
      // Otherwise a file that is being written would be gone before it is copied.
      TestStores.awaitSettled(earlier);
      TestStores.copy(before, folder());
    }
    begin(TestStores.ofCopies().before(Call.MAPPING, file -> awaitUninterruptibly(goOn)), SETTINGS);
  }

  @AfterEach
  void goOn() {
    goOn.countDown();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  @Test
  void whatWaitsIsBoundForAllStoresTogether() {
    PendingWrites other = new PendingWrites();
    other.change(
        new HashedKey(key(0)), (key, before) -> PendingWrite.put(new byte[(16 << 20) - 1], 1));
    try {
      // Each has room for a few even so.
      for (int i = 0; i < 13; i++) {
        store.put(key(i), new byte[20 << 10], 1);
      }
      assertThat(store.stats().counts().notStored.sum()).isEqualTo(0);
      store.put(key(13), bytes("new"), 1);
      assertThat(store.stats().counts().notStored.sum()).isEqualTo(1);
    } finally {
      other.close();
    }
    store.put(key(14), bytes("new"), 1);
    assertThat(store.stats().counts().notStored.sum()).isEqualTo(1);
  }

  private static String read(Store store, int number) {
    Value value = store.read(key(number));
    return value == null ? null : new String(value.bytes(), UTF_8);
  }

  private void change() {
    store.put(key(1), bytes("new 1"), 2);
    store.remove(key(2));
    Ticket early = store.ticket(key(3));
    store.remove(key(3));
    store.putIfCurrent(key(3), bytes("stale"), 2, early);
    store.putIfCurrent(key(4), bytes("loaded"), 2, store.ticket(key(4)));
    store.put(key(5), bytes("first"), 2);
    store.put(key(5), bytes("second"), 2);
  }

  /** The old values may be there or not; those that were changed may not. */
  private static void check(Store store) {
    assertThat(read(store, 0)).isIn(Arrays.asList("old 0", null));
    assertThat(read(store, 1)).isIn(Arrays.asList("new 1", null));
    assertThat(read(store, 2)).isNull();
    assertThat(read(store, 3)).isNull();
    assertThat(read(store, 4)).isIn(Arrays.asList("old 4", "loaded", null));
    assertThat(read(store, 5)).isIn(Arrays.asList("second", null));
  }

  @Test
  void requestsGoOnMeanwhileAndHoldAfterwards() throws Exception {
    assertThat(read(store, 0)).isNull();
    change();
    assertThat(store.stats().state()).isEqualTo(StoreState.OPENING);
    check(store);
    assertThat(read(store, 1)).isEqualTo("new 1");
    goOn.countDown();
    store.awaitOpened();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.RECOVERED);
    check(store);
    assertThat(read(store, 0)).isEqualTo("old 0");
    assertThat(read(store, 1)).isEqualTo("new 1");
    assertThat(read(store, 4)).isEqualTo("loaded");
    assertThat(read(store, 5)).isEqualTo("second");
    start(SETTINGS);
    check(store);
    assertThat(read(store, 0)).isEqualTo("old 0");
  }

  @Test
  void clearedMeanwhileIsClearedAfterwards() throws Exception {
    store.put(key(1), bytes("before"), 2);
    store.clear();
    store.put(key(2), bytes("after"), 2);
    assertThat(store.stats().state()).isEqualTo(StoreState.OPENING);
    assertThat(read(store, 1)).isNull();
    goOn.countDown();
    store.awaitOpened();
    for (int i = 0; i < 20; i++) {
      assertThat(read(store, i)).isEqualTo(i == 2 ? "after" : null);
    }
  }

  @Test
  void killedMeanwhileNothingComesBack() throws Exception {
    change();
    assertThat(store.stats().state()).isEqualTo(StoreState.OPENING);
    Path killed = TestStores.copy(folder(), temp.resolve("killed"));
    try (StoreDirectory next = StoreDirectory.open(killed)) {
      check(TestStores.open(next, SETTINGS));
    }
  }
}
