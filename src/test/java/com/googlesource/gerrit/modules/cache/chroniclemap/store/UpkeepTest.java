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
import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.blocksIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Hook;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a store does so that nobody has to tune it: evict, expire, shrink, verify, repair. */
class UpkeepTest extends FolderTest {
  private static final long MB = 1 << 20;

  private final AtomicLong clock = new AtomicLong(1_700_000_000_000L);
  private volatile boolean clockFails;

  @Override
  long now() {
    if (clockFails) {
      throw new LinkageError("a test");
    }
    return clock.get();
  }

  @BeforeEach
  void open() throws Exception {
    openFolder(Disk.REAL);
  }

  private Store store(String name, long limit) throws Exception {
    return TestStores.open(directory, settings(name, limit));
  }

  private static byte[] value(int i, int length) {
    return random(length, i);
  }

  private void put(Store store, int i, int length) {
    clock.incrementAndGet();
    store.put(key(i), value(i, length), clock.get());
  }

  private void fill(Store store, int from, int to, int length) {
    for (int i = from; i < to; i++) {
      put(store, i, length);
    }
    store.flush();
  }

  private static int found(Store store, int from, int to, int length) {
    return found(store, from, to, i -> value(i, length));
  }

  /** A store that has a tenth of what was put. */
  private Store thinned(String name) throws Exception {
    Store store = store(name, 16 * MB);
    fill(store, 0, 10_000, 1000);
    for (int i = 1000; i < 10_000; i++) {
      store.remove(key(i));
    }
    store.flush();
    return store;
  }

  // ---- eviction

  @Test
  void whatIsReadStaysAndWhatIsNotGoes() throws Exception {
    Store store = store("lru", 4 * MB);
    fill(store, 0, 2000, 1000);
    int next = 2000;
    for (int round = 0; round < 40; round++) {
      for (int i = 0; i < 500; i++) {
        assertWithMessage("key %s in round %s", i, round).that(store.read(key(i))).isNotNull();
      }
      for (int i = 0; i < 400; i++) {
        put(store, next++, 1000);
      }
      store.flush();
      clock.addAndGet(3_600_000);
    }
    StoreStats stats = store.stats();
    assertThat(stats.counts().evicted.sum()).isGreaterThan(10_000);
    assertThat(stats.counts().notStored.sum()).isEqualTo(0);
    assertThat(stats.entries()).isEqualTo(next - stats.counts().evicted.sum());
    assertThat(blocksIn(folder())).isAtMost(4 * MB);
  }

  /** Half more is read in turns than fits. */
  @Test
  void aFullStoreKnowsHowManyKeysAreInUse() throws Exception {
    Store store = store("full", 4 * MB);
    assertThat(store.stats().keysInUse()).isEqualTo(0);
    for (int round = 0; round < 12; round++) {
      for (int i = 0; i < 6000; i++) {
        if (store.read(key(i)) == null) {
          put(store, i, 1000);
        }
      }
      store.flush();
    }
    assertThat((double) store.stats().keysInUse()).isWithin(300).of(6000);
    assertThat(store.stats().entries()).isLessThan(4000);
  }

  /** Looks at the files of the folder whenever one is opened or gets disk, or is to be deleted. */
  private final class Watched extends TestDisk {
    private long most;
    private int calls;

    Watched() {
      before(Call.OPEN, file -> look());
      before(Call.DELETE, file -> look());
      before(
          Call.ALLOCATING,
          file -> {
            if (calls++ % 50 == 0) {
              look();
            }
          });
    }

    private void look() {
      try {
        most = Math.max(most, blocksIn(folder()));
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }

  @Test
  void aStoreNeverTakesMoreThanItsLimit() throws Exception {
    Watched disk = new Watched();
    openFolder(disk);
    Store store = store("grow", 32 * MB);
    fill(store, 0, 40_000, 1000);
    assertThat(blocksIn(folder())).isAtMost(32 * MB);
    directory.close();
    assertThat(blocksIn(folder())).isAtMost(32 * MB);
    assertThat(disk.most).isGreaterThan(24 * MB);
    assertThat(disk.most).isAtMost(32 * MB);
  }

  @Test
  void splitValuesAreEvictedWhole() throws Exception {
    Store store = store("split", 4 * MB);
    for (int i = 0; i < 400; i++) {
      put(store, i, 100_000);
      put(store, 1000 + i, 300);
      store.flush();
      clock.addAndGet(60_000);
    }
    int found = found(store, 0, 400, 100_000);
    StoreStats stats = store.stats();
    assertThat(stats.counts().damaged.sum()).isEqualTo(0);
    assertThat(stats.counts().notStored.sum()).isEqualTo(0);
    assertThat(found).isAtLeast(15);
    // No parts are left behind: 4 MB hold them only if what was evicted went whole.
    VerifyReport report = store.verify(false, Progress.NONE);
    assertThat(report.damaged()).isEqualTo(0);
    assertThat(report.values()).isEqualTo(stats.entries());
    assertThat(report.bytes()).isEqualTo(stats.liveBytes());
  }

  /** As a cache does: who puts a value was asked for it before. */
  private void missAndPut(Store store, int number, int length) {
    assertThat(store.read(key(number))).isNull();
    put(store, number, length);
  }

  @Test
  void valuesAHundredTimesSmallerOrLargerNeedNobody() throws Exception {
    Store store = store("sizes", 8 * MB);
    int next = 0;
    for (int length : new int[] {20_000, 200, 20_000, 20, 2_000}) {
      int first = next;
      for (int i = 0; i < 60 * MB / (length + 1000); i++) {
        missAndPut(store, next++, length);
      }
      store.flush();
      for (int i = 0; i < 30 * MB / (length + 1000); i++) {
        missAndPut(store, next++, length);
      }
      store.flush();
      StoreStats stats = store.stats();
      assertWithMessage("%s bytes", length).that(stats.state()).isEqualTo(StoreState.READY);
      assertWithMessage("%s bytes", length).that(stats.counts().notStored.sum()).isEqualTo(0);
      assertWithMessage("%s bytes", length).that(stats.diskBytes()).isAtMost(8 * MB);
      int found = found(store, first, next, length);
      // Room for the newest values in a good part of the file, whatever was in it before; with the
      // slots for the largest values, the smallest ones would get 0.4 MB.
      assertWithMessage("%s bytes", length)
          .that((long) found * (length + 60))
          .isAtLeast(length < 100 ? MB : 2 * MB);
    }
  }

  // ---- expiry

  @Test
  void aClockThatIsSetBackMakesNothingImmortal() throws Exception {
    Store store =
        TestStores.open(
            directory, new StoreSettings("back", 1, 4 * MB, Optional.of(Duration.ofHours(1))));
    put(store, 1, 1000);
    clock.addAndGet(-Duration.ofMinutes(50).toMillis());
    put(store, 2, 1000);
    store.flush();
    assertThat(store.read(key(1))).isNotNull();
    clock.addAndGet(-Duration.ofMinutes(20).toMillis());
    assertThat(store.read(key(2))).isNotNull();
    store.everyMinute();
    awaitEntries(store, 1);
    assertThat(store.read(key(1))).isNull();
  }

  /** Waits for a sweep, which runs in the background. */
  private static void awaitEntries(Store store, long entries) {
    await(() -> store.stats().entries() == entries);
  }

  // ---- sizes

  @Test
  void aLowerLimitKeepsWhatIsUsedMost() throws Exception {
    Store store = store("lower", 16 * MB);
    fill(store, 0, 10_000, 1000);
    clock.addAndGet(3_600_000);
    for (int i = 0; i < 1000; i++) {
      assertThat(store.read(key(i))).isNotNull();
    }
    directory.close();

    open();
    store = store("lower", 4 * MB);
    StoreStats stats = store.stats();
    assertThat(stats.start().kind()).isEqualTo(StartReport.Kind.SHRUNK);
    assertThat(stats.entries()).isAtLeast(2500);
    assertThat(stats.diskBytes()).isAtMost(4 * MB);
    // What is known of the use is there twice while it is saved.
    TestStores.awaitSettled(directory);
    assertThat(blocksIn(folder())).isAtMost(4 * MB);
    assertThat(found(store, 0, 1000, 1000)).isAtLeast(990);
  }

  /** Keeps a copy waiting before it begins. */
  private static final class WaitingCopies extends TestDisk {
    final CountDownLatch made = new CountDownLatch(1);
    final CountDownLatch goOn = new CountDownLatch(1);

    WaitingCopies() {
      before(
          Call.MAPPING,
          file -> {
            if (file.toString().contains("-" + MB + "-") && made.getCount() > 0) {
              made.countDown();
              awaitUninterruptibly(goOn);
            }
          });
    }
  }

  private Store beginCopy(WaitingCopies disk) throws Exception {
    Store store = store("copied", 4 * MB);
    put(store, 1, 1000);
    store.flush();
    begin(disk, settings("copied", MB));
    disk.made.await();
    return this.store;
  }

  @Test
  void whatIsClearedWhileItIsMadeSmallerIsSmall() throws Exception {
    WaitingCopies disk = new WaitingCopies();
    Store store = beginCopy(disk);
    try {
      store.clear();
      put(store, 2, 1000);
    } finally {
      disk.goOn.countDown();
    }
    store.awaitOpened();
    store.flush();
    assertThat(blocksIn(folder())).isAtMost(MB);
    assertThat(store.read(key(1))).isNull();
    assertThat(store.read(key(2))).isNotNull();
  }

  /** A large file may take minutes to be copied. */
  @Test
  void aStopDoesNotWaitForACopy() throws Exception {
    WaitingCopies disk = new WaitingCopies();
    Store copying = beginCopy(disk);
    Thread closer = Thread.ofPlatform().start(directory::close);
    await(() -> copying.context.isClosing);
    disk.goOn.countDown();
    closer.join();
    open();
    Store store = store("copied", 4 * MB);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(store.read(key(1)).bytes()).isEqualTo(value(1, 1000));
  }

  @Test
  void valuesAreSplitAnewForASmallFile() throws Exception {
    Store store = store("tiny", MB);
    for (int i = 0; i < 20; i++) {
      put(store, i, i < 10 ? 12_000 : 30_000);
    }
    store.flush();
    open();
    store = store("tiny", 130_000);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.SHRUNK);
    fill(store, 100, 110, 5000);
    open();
    store = store("tiny", 130_000);
    StoreStats stats = store.stats();
    assertThat(stats.start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(stats.entries()).isAtLeast(8);
    VerifyReport report = store.verify(false, Progress.NONE);
    assertThat(report.damaged()).isEqualTo(0);
    assertThat(report.values()).isEqualTo(stats.entries());
  }

  // ---- verify

  @Test
  void anInterruptOfVerifyDoesNotKeepTheFileFromBeingRebuiltLater() throws Exception {
    Store store = thinned("interrupted");
    VerifyReport report = store.verify(false, (done, total) -> Thread.currentThread().interrupt());
    assertThat(Thread.interrupted()).isTrue();
    assertThat(report.complete()).isFalse();
    flip("interrupted", value(7, 1000));
    assertThat(store.verify(true, Progress.NONE).repaired()).isTrue();
    assertThat(store.read(key(999)).bytes()).isEqualTo(value(999, 1000));
    assertThat(store.verify(false, Progress.NONE).complete()).isTrue();
  }

  /** As Gerrit cancels a verify. An interrupt that is pending closes no channel of the file. */
  @Test
  void interruptsWhileItReadsDoNoHarm() throws Exception {
    Store store = thinned("interrupted");
    Thread verifying = Thread.currentThread();
    AtomicBoolean isOver = new AtomicBoolean();
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!isOver.get()) {
                    verifying.interrupt();
                  }
                });
    try {
      for (int i = 0; i < 100; i++) {
        boolean unused = Thread.interrupted();
        try {
          VerifyReport unusedReport =
              store.verify(
                  true,
                  (done, total) -> {
                    boolean unusedToo = Thread.interrupted();
                  });
        } catch (InterruptedException e) {
          // Before it has begun.
        }
      }
    } finally {
      isOver.set(true);
      Uninterruptibles.joinUninterruptibly(other);
    }
    boolean unused = Thread.interrupted();
    assertThat(store.verify(true, Progress.NONE).complete()).isTrue();
    assertThat(store.stats().counts().faults.sum()).isEqualTo(0);
    assertThat(store.read(key(999)).bytes()).isEqualTo(value(999, 1000));
  }

  @Test
  void verifyFindsDamageAndRepairDropsIt() throws Exception {
    Store store = store("verify", 4 * MB);
    for (int i = 0; i < 1000; i++) {
      put(store, i, i == 500 ? 200_000 : 1000);
    }
    store.flush();
    VerifyReport sound = store.verify(false, Progress.NONE);
    assertThat(sound.complete()).isTrue();
    assertThat(sound.values()).isEqualTo(1000);
    assertThat(sound.damaged()).isEqualTo(0);
    flip("verify", value(7, 1000));
    VerifyReport damaged = store.verify(false, Progress.NONE);
    assertThat(damaged.damaged()).isEqualTo(1);
    assertThat(damaged.values()).isEqualTo(999);
    assertThat(damaged.repaired()).isFalse();
    // What was found is shown as it is now, and counted once, however often it is found.
    assertThat(store.verify(false, Progress.NONE).damaged()).isEqualTo(1);
    assertThat(store.stats().unrepaired()).isEqualTo(1);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(1);
    VerifyReport repaired = store.verify(true, Progress.NONE);
    assertThat(repaired.damaged()).isEqualTo(1);
    assertThat(repaired.repaired()).isTrue();
    assertThat(store.stats().unrepaired()).isEqualTo(0);
    assertThat(store.verify(true, Progress.NONE).damaged()).isEqualTo(0);
    for (int i = 0; i < 1000; i++) {
      Value value = store.read(key(i));
      if (i == 7) {
        assertThat(value).isNull();
      } else {
        assertThat(value.bytes()).isEqualTo(value(i, i == 500 ? 200_000 : 1000));
      }
    }
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(1);
  }

  @Test
  void aDamagedEntryThatIsReadIsCountedOnceAndGone() throws Exception {
    Store store = store("read", 4 * MB);
    fill(store, 0, 100, 1000);
    flip("read", value(7, 1000));
    flip("read", value(8, 1000));
    assertThat(store.verify(false, Progress.NONE).damaged()).isEqualTo(2);
    assertThat(store.read(key(7))).isNull();
    await(() -> store.stats().unrepaired() != 2);
    assertThat(store.stats().unrepaired()).isEqualTo(1);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(2);
    assertThat(store.verify(false, Progress.NONE).damaged()).isEqualTo(1);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(2);
  }

  /** As a disk does that loses a block. */
  @ParameterizedTest
  @CsvSource({"4096, 4096", "8192, 4096", "20480, 8192"})
  void verifyFindsLostBlocksOfTheStructure(long from, int bytes) throws Exception {
    Store store = store("lost", 4 * MB);
    fill(store, 0, 1000, 1000);
    TestStores.zero(folder(), "lost", from, bytes);
    VerifyReport found = store.verify(false, Progress.NONE);
    assertThat(found.complete()).isTrue();
    assertThat(found.damaged()).isAtLeast(1);
    assertThat(found.values() + found.damaged()).isEqualTo(1000);
    assertThat(store.verify(true, Progress.NONE).repaired()).isTrue();
    VerifyReport after = store.verify(false, Progress.NONE);
    assertThat(after.damaged()).isEqualTo(0);
    // A repair reads the whole segment, also where the list of used chunks is lost.
    assertThat(after.values()).isAtLeast(found.values());
    assertThat(found(store, 0, 1000, 1000)).isEqualTo(after.values());
  }

  /** What is mapped does not need it, and the next start replaces the file. */
  @Test
  void aLostHeaderIsFoundAndStays() throws Exception {
    Store store = store("header", 4 * MB);
    put(store, 1, 1000);
    store.flush();
    TestStores.zero(folder(), "header", 0, 1024);
    VerifyReport report = store.verify(true, Progress.NONE);
    assertThat(report.damaged()).isEqualTo(1);
    assertThat(report.repaired()).isFalse();
    assertThat(store.stats().unrepaired()).isEqualTo(1);
    assertThat(store.read(key(1)).bytes()).isEqualTo(value(1, 1000));
    open();
    assertThat(store("header", 4 * MB).stats().start().kind()).isEqualTo(StartReport.Kind.REPLACED);
  }

  private void flip(String store, byte[] value) throws Exception {
    assertThat(TestStores.flip(folder(), store, value)).isTrue();
  }

  @Test
  void anErrorDoesNotEndTheSweeps() throws Exception {
    Store store =
        TestStores.open(
            directory, new StoreSettings("old", 1, 4 * MB, Optional.of(Duration.ofHours(1))));
    put(store, 1, 100);
    store.flush();
    clock.addAndGet(Duration.ofHours(2).toMillis());
    clockFails = true;
    directory.sweep();
    assertThat(store.stats().entries()).isEqualTo(1);
    clockFails = false;
    directory.sweep();
    awaitEntries(store, 0);
  }

  @ParameterizedTest
  @ValueSource(longs = {32, 64, 256})
  void aCopyAfterACrashOfTheMachineKeepsAll(long megabytes) throws Exception {
    Store store = store("crashed", 64 * MB);
    int keys = 6000;
    for (int i = 0; i < keys; i++) {
      // What was put over another value would begin empty.
      store.putIfCurrent(key(i), value(i, 3000), clock.get(), store.ticket(key(i)));
    }
    store.flush();
    directory.close();
    TestStores.leaveOpen(folder());
    openFolder(TestStores.anotherBoot());
    store = store("crashed", megabytes * MB);
    assertThat(store.stats().start().kind())
        .isEqualTo(megabytes < 64 ? StartReport.Kind.SHRUNK : StartReport.Kind.RECOVERED);
    assertThat(found(store, 0, keys, 3000)).isEqualTo(keys);
  }

  /** A kill may come between a smaller file and what that leaves for the saved usage. */
  @Test
  void savedUsageFitsTheFileAfterAKill() throws Exception {
    put(store("a", MB), 1, 2000);
    directory.close();
    TestStores.leaveOpen(folder());
    Path usage = folder().resolve("a-v1.use");
    Files.write(usage, new byte[(int) MB / 2]);
    open();
    CompletableFuture<StartReport> opened = new CompletableFuture<>();
    Store unused = directory.openStore(settings("a", MB), Optional.empty(), opened::complete);
    assertThat(opened.join().kind()).isEqualTo(StartReport.Kind.RECOVERED);
    TestStores.awaitSettled(directory);
    assertThat(usage.toFile().length()).isAtMost(MB / Geometry.SAVED_SHARE);
  }

  /** There is a second for both when a server stops, and what has no time for it is lost. */
  @Test
  void aClosedFileIsOnDiskBeforeItsUsageIsSaved() throws Exception {
    List<String> written = new CopyOnWriteArrayList<>();
    Hook note = file -> written.add(file.getFileName().toString());
    openFolder(new TestDisk().before(Call.FORCE, note).before(Call.CREATE, note));
    Store store = store("a", MB);
    fill(store, 0, 300, 2000);
    assertThat(store.read(key(1))).isNotNull();
    TestStores.awaitSettled(directory);
    written.clear();
    // As the folder does, but however long that takes.
    store.current.close();
    store.current.forceClosed(new AtomicBoolean(true));
    assertThat(written).hasSize(3);
    assertThat(written.get(0)).endsWith(".chm");
    assertThat(written.get(2)).startsWith("a-v1.use");
  }

  /** No keys, no order of access. */
  @Test
  void aMillionValuesTakeNoHeap() throws Exception {
    int first = 200_000;
    int last = 1_200_000;
    Store store = store("heap", 1 << 30);
    fillSmall(store, 0, first);
    long before = TestStores.usedHeap();
    fillSmall(store, first, last);
    long after = TestStores.usedHeap();
    StoreStats stats = store.stats();
    // On a slow disk some leave while the file is about to grow.
    assertThat(stats.entries() + stats.counts().evicted.sum()).isEqualTo(last);
    assertThat(stats.entries()).isGreaterThan(last * 3 / 4);
    // A hundredth of what one reference for each would take: noise of the virtual machine.
    assertThat((after - before) / (double) (last - first)).isLessThan(1.0);
  }

  private static void fillSmall(Store store, int from, int to) {
    byte[] value = new byte[100];
    for (int i = from; i < to; i++) {
      store.put(ByteBuffer.allocate(20).putInt(i).array(), value, 1);
    }
    store.flush();
  }
}
