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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whoever still uses a store that was closed invalidates what the next one of its files reads. */
@Timeout(60)
class LateChangeTest {
  private static final StoreSettings SETTINGS =
      new StoreSettings("late", 1, 8 << 20, Optional.empty());
  private static final byte[] KEY = "key".getBytes(UTF_8);

  @TempDir Path temp;
  private Path folder;
  @AutoClose private StoreDirectory directory;
  private Store closed;

  /** Held by the thread that opens a file, once there is one. */
  private volatile CountDownLatch hold;

  private final CountDownLatch arrived = new CountDownLatch(1);

  private final class HeldDisk extends Disk {
    @Override
    public void mapping(Path file) throws IOException {
      CountDownLatch latch = hold;
      if (latch != null) {
        arrived.countDown();
        try {
          latch.await();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
      super.mapping(file);
    }
  }

  @BeforeEach
  void closeAStore() throws Exception {
    folder = temp.resolve("stores");
    directory = StoreDirectory.open(folder, new HeldDisk(), System::currentTimeMillis);
    closed = TestStores.open(directory, SETTINGS);
    closed.put(KEY, "old".getBytes(UTF_8), 1);
    directory.closeStore(closed);
  }

  private void nextStartHasNothing() throws Exception {
    directory.close();
    directory = StoreDirectory.open(folder);
    assertThat(TestStores.open(directory, SETTINGS).read(KEY)).isNull();
  }

  @Test
  void isMadeInTheStoreThatIsOpen() throws Exception {
    Store next = TestStores.open(directory, SETTINGS);
    assertThat(next.read(KEY)).isNotNull();
    closed.remove(KEY);
    assertThat(next.read(KEY)).isNull();
    nextStartHasNothing();
  }

  @Test
  void isMadeInTheStoreThatIsBeingOpened() throws Exception {
    hold = new CountDownLatch(1);
    Store next = directory.openStore(SETTINGS);
    arrived.await();
    closed.remove(KEY);
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
    Files.createFile(folder.resolve("late-v1.discard"));
    // Its own marker goes when it is open; the other one's must not go before the values do.
    next.put("another".getBytes(UTF_8), KEY, 1);
    hold.countDown();
    next.awaitOpened();
    assertThat(next.read(KEY)).isNull();
    assertThat(next.read("another".getBytes(UTF_8)).bytes()).isEqualTo(KEY);
    nextStartHasNothing();
  }
}
