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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whoever still uses a store that was closed invalidates what the next one of its files reads. */
@Timeout(60)
class LateChangeTest extends FolderTest {
  private static final StoreSettings SETTINGS = settings("late", 8 << 20);
  private static final byte[] KEY = "key".getBytes(UTF_8);

  private Store closed;

  /** Held by the thread that opens a file, once there is one. */
  private volatile CountDownLatch hold;

  private final CountDownLatch arrived = new CountDownLatch(1);

  private void hold(Path file) {
    CountDownLatch latch = hold;
    if (latch != null) {
      arrived.countDown();
      awaitUninterruptibly(latch);
    }
  }

  @BeforeEach
  void closeAStore() throws Exception {
    start(new TestDisk().before(Call.MAPPING, this::hold), SETTINGS);
    closed = store;
    closed.put(KEY, "old".getBytes(UTF_8), 1);
    directory.closeStore(closed);
  }

  private void nextStartHasNothing() throws Exception {
    start(SETTINGS);
    assertThat(store.read(KEY)).isNull();
  }

  @Test
  void isMadeInTheStoreThatIsOpen() throws Exception {
    Store next = TestStores.open(directory, SETTINGS);
    assertThat(next.read(KEY)).isNotNull();
    closed.remove(KEY);
    assertThat(next.read(KEY)).isNull();
    nextStartHasNothing();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isMadeInTheStoreThatIsBeingOpened(boolean isReplaced) throws Exception {
    StoreSettings settings = SETTINGS;
    if (isReplaced) {
      // In its place comes one of another limit.
      closed = TestStores.open(directory, SETTINGS);
      settings = settings("late", 4 << 20);
    }
    hold = new CountDownLatch(1);
    Store next = directory.openStore(settings);
    arrived.await();
    closed.remove(KEY);
    assertThat(next.read(KEY)).isNull();
    hold.countDown();
    next.awaitOpened();
    assertThat(next.read(KEY)).isNull();
    nextStartHasNothing();
  }

  @Test
  void ofAnotherProcessEmptiesTheFileThatIsBeingOpened() throws Exception {
    hold = new CountDownLatch(1);
    Store next = directory.openStore(SETTINGS);
    arrived.await();
    Files.createFile(folder().resolve("late-v1.discard"));
    // Its own marker goes when it is open; the other one's must not go before the values do.
    next.put("another".getBytes(UTF_8), KEY, 1);
    hold.countDown();
    next.awaitOpened();
    assertThat(next.read(KEY)).isNull();
    assertThat(next.read("another".getBytes(UTF_8)).bytes()).isEqualTo(KEY);
    nextStartHasNothing();
  }
}
