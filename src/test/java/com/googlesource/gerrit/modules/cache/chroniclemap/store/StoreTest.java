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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.fileIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.filesIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Hook;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@link Store} promises to one caller, over clean stops. */
@Tag("locale")
class StoreTest extends FolderTest {
  private static final long LIMIT = 32 << 20;
  private static final StoreSettings SETTINGS = settings("cache", LIMIT);

  @BeforeEach
  void open() throws Exception {
    start(SETTINGS);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private String readText(String key) {
    Value value = store.read(bytes(key));
    return value == null ? null : new String(value.bytes(), UTF_8);
  }

  @Test
  void putIsReadAtOnceAndAfterRestart() throws Exception {
    store.put(bytes("k"), bytes("v"), 123456789012L);
    assertThat(readText("k")).isEqualTo("v");
    open();
    assertThat(store.stats().start().kind())
        .isAnyOf(StartReport.Kind.CLEAN, StartReport.Kind.PENDING);
    assertThat(readText("k")).isEqualTo("v");
    assertThat(store.read(bytes("k")).created()).isEqualTo(123456789012L);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(store.stats().entries()).isEqualTo(1);
  }

  @Test
  void valuesOfAllSizesSurviveRestart() throws Exception {
    int[] sizes = {0, 1, 39, 40, 64, 1000, 10_000, 100_000, 131_072, 1 << 20, 3 << 20};
    for (int size : sizes) {
      store.put(bytes("size " + size), random(size, size), now());
    }
    // A close does not wait long for the file to grow.
    store.flush();
    open();
    for (int size : sizes) {
      Value read = store.read(bytes("size " + size));
      assertWithMessage("value of %s bytes, %s", size, store.stats()).that(read).isNotNull();
      assertThat(read.bytes()).isEqualTo(random(size, size));
    }
    assertThat(store.stats().entries()).isEqualTo(sizes.length);
    assertThat(store.stats().counts().notStored.sum()).isEqualTo(0);
  }

  @Test
  void replacingASplitValueLeavesNoParts() {
    for (int i = 0; i < 20; i++) {
      store.put(bytes("k"), random((2 << 20) + i, i), now());
      assertThat(store.read(bytes("k")).bytes()).isEqualTo(random((2 << 20) + i, i));
    }
    store.put(bytes("k"), bytes("small"), now());
    store.flush();
    assertThat(readText("k")).isEqualTo("small");
    assertThat(store.stats().liveBytes()).isLessThan(100);
    assertThat(store.stats().entries()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 1 << 20, 60 << 20, 300 << 20, Integer.MAX_VALUE - 8})
  void theLimitThatAValueNeedsIsKnown(int bytes) {
    long needed = StoreSettings.megabytesFor(bytes);
    assertThat(settings("a", needed << 20).maxValue()).isAtLeast(bytes);
    // Little more than twice the value, as it must be possible to replace it.
    assertThat(needed << 20).isLessThan((4 << 20) + 5L * bytes / 2);
  }

  @Test
  void aKeyThatFitsNowhereIsLeftOutAndNothingLeavesForIt() throws Exception {
    start(settings("cache", 4 << 20));
    for (int i = 0; i < 1000; i++) {
      store.put(bytes("k" + i), random(1000, i), now());
    }
    store.put(random(2 << 20, 1), bytes("v"), now());
    store.putIfCurrent(random(2 << 20, 2), bytes("v"), now(), store.ticket(random(2 << 20, 2)));
    store.flush();
    assertThat(store.stats().counts().notStored.sum()).isEqualTo(2);
    assertThat(store.stats().counts().evicted.sum()).isEqualTo(0);
    for (int i = 0; i < 1000; i++) {
      assertThat(store.read(bytes("k" + i)).bytes()).isEqualTo(random(1000, i));
    }
    store.put(random(10_000, 3), random(20_000, 3), now());
    assertThat(store.read(random(10_000, 3)).bytes()).isEqualTo(random(20_000, 3));
  }

  @Test
  void largeValueThatIsLoadedAgainIsNoChange() throws Exception {
    byte[] large = random(300_000, 1);
    store.putIfCurrent(bytes("k"), large, now(), store.ticket(bytes("k")));
    store.putIfCurrent(bytes("k"), large.clone(), now(), store.ticket(bytes("k")));
    store.flush();
    directory.close();
    TestStores.leaveOpen(folder());
    start(TestStores.anotherBoot(), SETTINGS);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.RECOVERED);
    assertThat(store.read(bytes("k")).bytes()).isEqualTo(large);
  }

  @Test
  void takesDiskUpToItsLimitAndKeepsAll() throws Exception {
    assertThat(readText("k0")).isNull();
    long before = store.stats().diskBytes();
    for (int i = 0; i < 1500; i++) {
      store.put(bytes("k" + i), random(10_000, i), now());
    }
    store.flush();
    assertThat(store.verify(false, Progress.NONE).complete()).isTrue();
    StoreStats stats = store.stats();
    assertThat(before).isAtMost(LIMIT / 100);
    assertThat(stats.diskBytes()).isGreaterThan(LIMIT / 2);
    assertThat(stats.diskBytes()).isAtMost(LIMIT);
    assertThat(stats.counts().notStored.sum()).isEqualTo(0);
    assertThat(stats.entries()).isEqualTo(1500);
    open();
    for (int i = 0; i < 1500; i++) {
      assertThat(store.read(bytes("k" + i)).bytes()).isEqualTo(random(10_000, i));
    }
    assertThat(store.stats().entries()).isEqualTo(1500);
    assertThat(filesIn(folder()).stream().filter(f -> f.toString().endsWith(".chm"))).hasSize(1);
  }

  @Test
  void tinyEntriesDoNotRunOutOfSlots() {
    for (int i = 0; i < 150_000; i++) {
      store.put(bytes("key number " + i), new byte[] {1}, now());
    }
    store.flush();
    assertThat(store.stats().entries()).isEqualTo(150_000);
    assertThat(store.stats().counts().notStored.sum()).isEqualTo(0);
  }

  @Test
  void aFileOfAnyLengthIsClosedCleanly() throws Exception {
    for (long limit : new long[] {65_536, 100_001, 1_130_321, 2_260_642, 4_220_359, 9_999_999}) {
      StoreSettings odd = settings("odd" + limit, limit);
      Store first = TestStores.open(directory, odd);
      for (int i = 0; i < 3000; i++) {
        first.put(bytes("k" + i), new byte[500], now());
      }
      first.flush();
      directory.closeStore(first);
      Store second = TestStores.open(directory, odd);
      assertThat(second.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
      directory.closeStore(second);
    }
  }

  @Test
  void cachesWithSimilarNamesDoNotMeet() throws Exception {
    Store other = TestStores.open(directory, settings("cache-v1-00000000.chm", LIMIT));
    Store slashed = TestStores.open(directory, settings("../plugin/cache", LIMIT));
    store.put(bytes("k"), bytes("one"), now());
    other.put(bytes("k"), bytes("two"), now());
    slashed.put(bytes("k"), bytes("three"), now());
    assertThat(readText("k")).isEqualTo("one");
    assertThat(new String(other.read(bytes("k")).bytes(), UTF_8)).isEqualTo("two");
    assertThat(filesIn(folder()).stream().filter(f -> f.toString().endsWith(".chm"))).hasSize(3);
  }

  @Test
  void clearEndsAllTicketsAndWhatWaitsForThem() {
    store.put(bytes("k"), bytes("old"), now());
    Ticket ofPut = store.beginPut(bytes("l"), bytes("old"), now());
    Ticket beforeRead = store.ticket(bytes("k"));
    Ticket beforeLoad = store.ticket(bytes("m"));
    store.clear();
    // A value on its way to the heap tier, and one that was computed from what was there before.
    assertThat(ofPut.hasEnded()).isTrue();
    assertThat(beforeRead.hasEnded()).isTrue();
    store.putIfCurrent(bytes("m"), bytes("stale"), now(), beforeLoad);
    store.flush();
    assertThat(readText("m")).isNull();
    assertThat(store.stats().entries()).isEqualTo(0);
    Ticket afterwards = store.ticket(bytes("m"));
    store.putIfCurrent(bytes("m"), bytes("new"), now(), afterwards);
    assertThat(readText("m")).isEqualTo("new");
  }

  @Test
  void noPutIsLostBelowTheLimit() throws Exception {
    Store growing = TestStores.open(directory, settings("growing", 1 << 28));
    int puts = 20;
    for (int i = 0; i < puts; i++) {
      // Together more than may wait in the queue.
      byte[] value = random(i == 0 ? 5 << 20 : 2 << 20, i);
      Ticket ticket = growing.ticket(bytes("k" + i));
      growing.putIfCurrent(bytes("k" + i), value, now(), ticket);
      ticket.close();
    }
    growing.flush();
    for (int i = 0; i < puts; i++) {
      assertThat(growing.read(bytes("k" + i))).isNotNull();
    }
    assertThat(growing.stats().counts().notStored.sum()).isEqualTo(0);
    assertThat(growing.stats().counts().evicted.sum()).isEqualTo(0);
  }

  @Test
  void onlyTheOwnerCanReadTheFiles() throws Exception {
    store.put(bytes("k"), bytes("v"), now());
    assertThat(readText("k")).isEqualTo("v");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder())))
        .isEqualTo("rwx------");
    Path file = fileIn(folder(), ".chm");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
  }

  @Test
  void allBlocksAreTakenAndTheBoundHolds() throws Exception {
    assertThat(readText("k")).isNull();
    long allocated = TestStores.blocks(fileIn(folder(), ".chm"));
    assertThat(allocated).isAtLeast(store.stats().diskBytes() / 4096 * 4096);
    assertThat(allocated).isAtMost(LIMIT);
  }

  @Test
  void aStoreOpenedTwiceIsShared() throws Exception {
    Store second = TestStores.open(directory, SETTINGS);
    assertThat(second).isSameInstanceAs(store);
    directory.closeStore(second);
    store.put(bytes("k"), bytes("v"), now());
    assertThat(readText("k")).isEqualTo("v");
  }

  private enum Change {
    REMOVE,
    PUT,
    CLEAR
  }

  @ParameterizedTest
  @EnumSource
  void whatIsChangedAfterCloseStaysAwayAfterRestart(Change change) throws Exception {
    store.put(bytes("k"), bytes("v"), now());
    directory.close();
    switch (change) {
      case REMOVE -> store.remove(bytes("k"));
      case PUT -> store.put(bytes("k"), bytes("w"), now());
      case CLEAR -> store.clear();
    }
    open();
    assertThat(readText("k")).isNull();
  }

  /** Unmapped in the middle of a read, the file would end the process. */
  @Test
  @Timeout(60)
  void aFileStaysUntilItIsRead() throws Exception {
    CountDownLatch reading = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicReference<Value> found = new AtomicReference<>();
    Thread reader = new Thread(() -> found.set(store.read(bytes("k"))));
    Hook stop =
        file -> {
          if (Thread.currentThread() == reader) {
            reading.countDown();
            awaitUninterruptibly(goOn);
          }
        };
    start(new TestDisk().before(Call.TOUCHING, stop), SETTINGS);
    store.put(bytes("k"), bytes("v"), now());
    store.flush();
    reader.start();
    reading.await();
    Thread closer = Thread.ofPlatform().start(directory::close);
    // If it does not wait for the reader, it ends.
    assertThat(closer.join(Duration.ofSeconds(1))).isFalse();
    assertThat(found.get()).isNull();
    goOn.countDown();
    reader.join();
    closer.join();
    assertThat(new String(found.get().bytes(), UTF_8)).isEqualTo("v");
    assertThat(store.read(bytes("k"))).isNull();
  }

  @Test
  void aStoreThatCanNotBeClosedDoesNotKeepTheOthersOpen() throws Exception {
    AtomicBoolean failing = new AtomicBoolean();
    openFolder(
        new TestDisk()
            .before(
                Call.SIZE,
                file -> {
                  if (failing.get() && file.getFileName().toString().startsWith("cache3-")) {
                    throw new OutOfMemoryError("a test");
                  }
                }));
    List<Store> stores = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Store each = TestStores.open(directory, settings("cache" + i, LIMIT));
      each.put(bytes("k"), bytes("v"), now());
      each.flush();
      stores.add(each);
    }
    failing.set(true);
    directory.close();
    failing.set(false);
    for (Store each : stores) {
      assertThat(each.stats().state()).isEqualTo(StoreState.CLOSED);
    }
    openFolder(Disk.REAL);
    for (int i = 0; i < 8; i++) {
      Store each = TestStores.open(directory, settings("cache" + i, LIMIT));
      assertThat(each.stats().start().kind())
          .isEqualTo(i == 3 ? StartReport.Kind.RECOVERED : StartReport.Kind.CLEAN);
      assertThat(new String(each.read(bytes("k")).bytes(), UTF_8)).isEqualTo("v");
    }
  }

  @Test
  void aFolderThatWasClosedOpensNoStore() throws Exception {
    directory.close();
    assertThrows(StoreUnavailableException.class, () -> directory.openStore(SETTINGS));
    open();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }

  // ---- a store of the same files in place of another one

  private static StoreSettings half() {
    return settings("cache", LIMIT / 2);
  }

  @Test
  void whatIsChangedByWayOfTheOldStoreIsChangedInTheNewOne() throws Exception {
    for (String key : List.of("k", "l", "m", "n")) {
      store.put(bytes(key), bytes("v"), now());
    }
    Store old = store;
    store = TestStores.open(directory, half());
    assertThat(store).isNotSameInstanceAs(old);
    assertThat(readText("k")).isEqualTo("v");
    Ticket ticket = store.ticket(bytes("k"));
    old.remove(bytes("k"));
    assertThat(readText("k")).isNull();
    assertThat(ticket.hasEnded()).isTrue();
    old.put(bytes("l"), bytes("w"), now());
    assertThat(readText("l")).isEqualTo("w");
    old.put(bytes("m"), new byte[(int) LIMIT], now());
    assertThat(readText("m")).isNull();
    assertThat(readText("n")).isEqualTo("v");
    // Over two steps as well.
    store = TestStores.open(directory, SETTINGS);
    old.remove(bytes("l"));
    assertThat(readText("l")).isNull();
    old.clear();
    assertThat(readText("n")).isNull();
    store.put(bytes("k"), bytes("x"), now());
    open();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(readText("k")).isEqualTo("x");
    assertThat(readText("n")).isNull();
  }

  @Test
  void whatIsRemovedWhileAnotherStoreTakesTheFilesIsGone() throws Exception {
    int keys = 3000;
    for (int i = 0; i < keys; i++) {
      store.put(bytes("k" + i), bytes("v"), now());
    }
    store.flush();
    Store old = store;
    CountDownLatch begun = new CountDownLatch(1);
    Thread remover =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; i < keys; i++) {
                    old.remove(bytes("k" + i));
                    begun.countDown();
                  }
                });
    begun.await();
    store = TestStores.open(directory, half());
    remover.join();
    for (int i = 0; i < keys; i++) {
      assertThat(readText("k" + i)).isNull();
    }
    start(half());
    for (int i = 0; i < keys; i++) {
      assertThat(readText("k" + i)).isNull();
    }
    // One that was made void just when the old store was closed may still take room.
    assertThat(store.stats().entries()).isAtMost(1);
  }

  @Test
  void theLogSaysOnceThatAChangeCameAfterTheClose() throws Exception {
    directory.close();
    List<String> said =
        TestStores.logged(
            CurrentFile.class,
            () -> {
              store.put(bytes("k"), bytes("v"), now());
              store.remove(bytes("k"));
              store.clear();
            });
    assertThat(said).hasSize(1);
    assertThat(said.get(0)).contains("Cache cache was changed without its file");
  }
}
