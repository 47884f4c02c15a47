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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A session is invalidated while the disk does not respond to a reader that repairs the segment: a
 * kill does not bring the session back, and once the disk responds, the others are kept.
 */
@Timeout(60)
class SlowRepairTest extends FolderTest {
  /** Of one segment. */
  private static final StoreSettings SETTINGS = settings("sessions", 1 << 20, OldValues.SECRET);

  private final CountDownLatch repairing = new CountDownLatch(1);
  private final CountDownLatch responds = new CountDownLatch(1);

  /** The thread for which the disk does not respond. */
  private volatile Thread repair = new Thread(() -> {});

  private final TestDisk slow =
      TestStores.ofCopies()
          .before(
              Call.READ_OPEN,
              file -> {
                if (Thread.currentThread() == repair && file.toString().endsWith(".chm")) {
                  repairing.countDown();
                  awaitUninterruptibly(responds);
                }
              });

  @BeforeEach
  void signIn() throws Exception {
    start(slow, SETTINGS);
    store.put(key(1), new byte[10], now());
    store.put(key(2), new byte[10], now());
  }

  @AfterEach
  void letTheRepairEnd() throws Exception {
    responds.countDown();
    repair.join();
  }

  private void repair(Runnable read) {
    repair =
        Thread.ofPlatform()
            .daemon()
            .unstarted(
                () -> {
                  TestStores.await(() -> store.isOpen());
                  read.run();
                });
    repair.start();
  }

  private void assertThatOnlyTheFirstIsGone() throws Exception {
    assertThat(store.read(key(1))).isNull();
    try (StoreDirectory killed =
        StoreDirectory.open(
            TestStores.copy(folder(), temp.resolve("killed")), TestStores.ofCopies(), this::now)) {
      assertThat(TestStores.open(killed, SETTINGS).read(key(1))).isNull();
    }
    letTheRepairEnd();
    store.flush();
    directory.sweep();
    TestStores.awaitSettled(directory);
    assertThat(Files.readString(folder().resolve("lock"))).doesNotContain("sessions");
    assertThat(store.read(key(2))).isNotNull();
    Path later = TestStores.copy(folder(), temp.resolve("later"));
    start(slow, SETTINGS);
    assertThat(store.read(key(1))).isNull();
    assertThat(store.read(key(2))).isNotNull();
    directory.close();
    directory = StoreDirectory.open(later, TestStores.ofCopies(), this::now);
    store = TestStores.open(directory, SETTINGS);
    assertThat(store.read(key(1))).isNull();
    assertThat(store.read(key(2))).isNotNull();
  }

  @Test
  void inAFileThatIsOpen() throws Exception {
    repair(() -> store.current.file().values.map.dropDamaged(0));
    repairing.await();
    store.remove(key(1));
    assertThatOnlyTheFirstIsGone();
  }

  @Test
  void justBeforeTheFileIsOpen() throws Exception {
    directory.close();
    TestStores.leaveOpen(folder());
    CountDownLatch removed = new CountDownLatch(1);
    slow.before(Call.MAPPING, file -> awaitUninterruptibly(removed));
    // What was removed is written when the file is open, after a note of that is on disk.
    slow.before(
        Call.FORCE,
        file -> {
          if (store.isOpen()) {
            awaitUninterruptibly(repairing);
          }
        });
    begin(slow, SETTINGS);
    repair(() -> store.read(key(2)));
    store.remove(key(1));
    removed.countDown();
    store.awaitOpened();
    assertThatOnlyTheFirstIsGone();
  }

  /** The note of what was changed before the file was open is taken back however many sign in. */
  @Test
  void whileOthersSignIn() throws Exception {
    directory.close();
    CountDownLatch removed = new CountDownLatch(1);
    Thread other = new Thread(() -> store.put(key(3), new byte[10], now()));
    slow.before(Call.MAPPING, file -> awaitUninterruptibly(removed));
    slow.before(
        Call.FORCE,
        file -> {
          if (store.isOpen() && other.getState() == Thread.State.NEW) {
            other.start();
            TestStores.await(() -> !store.context.pending.isEmpty());
          }
        });
    begin(slow, SETTINGS);
    store.remove(key(1));
    removed.countDown();
    store.awaitOpened();
    other.join();
    assertThat(other.getState()).isEqualTo(Thread.State.TERMINATED);
    assertThat(Files.readString(folder().resolve("lock"))).doesNotContain("sessions");
  }
}
