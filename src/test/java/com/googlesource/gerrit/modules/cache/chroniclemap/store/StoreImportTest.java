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

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values from before a store was made come in, unless the store knows better. */
@Timeout(60)
@Tag("locale")
class StoreImportTest {
  private static final StoreSettings SETTINGS =
      new StoreSettings("import", 1, 64 << 20, Optional.empty());

  @TempDir Path temp;
  private Path folder;
  @AutoClose private StoreDirectory directory;
  private Store store;

  @BeforeEach
  void open() throws Exception {
    folder = temp.resolve("stores");
    directory = StoreDirectory.open(folder);
    store = open(ImportMode.BEGIN);
  }

  private Store open(ImportMode mode) throws Exception {
    Store opened = directory.openStore(SETTINGS, mode, report -> {});
    opened.awaitOpened();
    return opened;
  }

  private void restart(ImportMode mode) throws Exception {
    directory.close();
    directory = StoreDirectory.open(folder);
    store = open(mode);
  }

  private void kill(ImportMode mode) throws Exception {
    directory.close();
    TestStores.leaveOpen(folder);
    directory = StoreDirectory.open(folder);
    store = open(mode);
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(8).putInt(number).putInt(~number).array();
  }

  private ImportResult bringIn(int key, int value) {
    return store.importValue(key(key), TestValues.of(value), 1);
  }

  private int read(int key) {
    return TestValues.numberOf(store.read(key(key)));
  }

  @Test
  void whatIsBroughtInIsFoundAlsoAfterARestart() throws Exception {
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.STORED);
    assertThat(read(1)).isEqualTo(11);
    assertThat(store.read(key(1)).created()).isEqualTo(1);
    restart(ImportMode.NONE);
    assertThat(read(1)).isEqualTo(11);
  }

  @Test
  void whatWasPutWins() {
    store.put(key(1), TestValues.of(2), 5);
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.KNOWN);
    assertThat(read(1)).isEqualTo(2);
  }

  @Test
  void whatWasComputedWins() {
    Ticket ticket = store.ticket(key(1));
    store.putIfCurrent(key(1), TestValues.of(2), 5, ticket);
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.KNOWN);
    assertThat(read(1)).isEqualTo(2);
  }

  @Test
  void whatWasRemovedStaysAway() {
    store.remove(key(1));
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.KNOWN);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.STORED);
    assertThat(read(1)).isEqualTo(KeyHistory.NONE);
  }

  @Test
  void nothingComesInAfterAllWasRemoved() {
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.STORED);
    store.clear();
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.KNOWN);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.KNOWN);
    assertThat(read(1)).isEqualTo(KeyHistory.NONE);
  }

  @Test
  void whatWasTooOldIsNotFound() throws Exception {
    directory.close();
    directory = StoreDirectory.open(folder);
    StoreSettings aged = new StoreSettings("aged", 1, 8 << 20, Optional.of(Duration.ofHours(1)));
    store = directory.openStore(aged, ImportMode.BEGIN, report -> {});
    store.awaitOpened();
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.TOO_OLD);
    assertThat(store.importValue(key(2), TestValues.of(12), System.currentTimeMillis()))
        .isEqualTo(ImportResult.STORED);
  }

  @Test
  void goesOnAfterARestartAndAfterAKillIfNothingWasChanged() throws Exception {
    bringIn(1, 11);
    restart(ImportMode.RESUME);
    assertThat(store.importGuard().mayImport()).isTrue();
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.KNOWN);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.STORED);
    kill(ImportMode.RESUME);
    assertThat(bringIn(3, 13)).isEqualTo(ImportResult.STORED);
    assertThat(read(1)).isEqualTo(11);
    assertThat(read(2)).isEqualTo(12);
  }

  @Test
  void goesOnThoughValuesWereComputed() throws Exception {
    store.putIfCurrent(key(1), TestValues.of(2), 5, store.ticket(key(1)));
    kill(ImportMode.RESUME);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.STORED);
  }

  @Test
  void isOverAfterAKillIfAKeyWasRemoved() throws Exception {
    store.remove(key(1));
    kill(ImportMode.BEGIN);
    assertThat(store.importGuard().mayImport()).isFalse();
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.OVER);
  }

  @Test
  void isOverAfterAKillIfAKeyWasPut() throws Exception {
    store.put(key(1), TestValues.of(2), 5);
    kill(ImportMode.BEGIN);
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.OVER);
  }

  @Test
  void isOverAfterAKillIfAllWasRemoved() throws Exception {
    store.clear();
    kill(ImportMode.BEGIN);
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.OVER);
  }

  /** A larger file knows nothing any more of what was removed from the one before. */
  @Test
  void isOverAfterARemovalAlsoIfTheFileGrewSince() throws Exception {
    store.remove(key(1));
    for (int i = 2; i < 3000; i++) {
      store.put(key(i), new byte[5000], 5);
    }
    store.flush();
    TestStores.awaitRebuilt(store);
    assertThat(store.stats().counts().growths.sum()).isGreaterThan(0);
    restart(ImportMode.BEGIN);
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.OVER);
  }

  @Test
  void isOverWhenItIsSaidSo() throws Exception {
    bringIn(1, 11);
    store.importGuard().end();
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.OVER);
    restart(ImportMode.RESUME);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.OVER);
  }

  @Test
  void isOverWhereThereIsNothingAnyMore() throws Exception {
    restart(ImportMode.NONE);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.OVER);
    restart(ImportMode.RESUME);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.OVER);
  }

  @Test
  void isNotBegunInAFileThatWasInUse() throws Exception {
    directory.close();
    directory = StoreDirectory.open(folder);
    store = open(ImportMode.NONE);
    store.put(key(1), TestValues.of(2), 5);
    restart(ImportMode.BEGIN);
    assertThat(store.importGuard().mayImport()).isFalse();
  }

  @Test
  void isNotResumedInANewFile() throws Exception {
    directory.close();
    directory = StoreDirectory.open(temp.resolve("others"));
    store = open(ImportMode.RESUME);
    assertThat(store.importGuard().mayImport()).isFalse();
  }

  @Test
  void theFileGrowsForIt() throws Exception {
    int brought = 0;
    for (int i = 0; i < 4000; i++) {
      ImportResult result = store.importValue(key(i), new byte[5000], 1);
      while (result == ImportResult.LATER) {
        TestStores.awaitRebuilt(store);
        result = store.importValue(key(i), new byte[5000], 1);
      }
      brought += result == ImportResult.STORED ? 1 : 0;
    }
    assertThat(brought).isEqualTo(4000);
    assertThat(store.stats().counts().growths.sum()).isGreaterThan(0);
    for (int i = 0; i < 4000; i++) {
      assertThat(store.read(key(i))).isNotNull();
    }
  }

  @Test
  void nothingLeavesForIt() throws Exception {
    ImportResult last = ImportResult.STORED;
    int brought = 0;
    for (int i = 0; last != ImportResult.NO_ROOM; i++) {
      last = store.importValue(key(i), new byte[50_000], 1);
      if (last == ImportResult.LATER) {
        TestStores.awaitRebuilt(store);
      }
      brought += last == ImportResult.STORED ? 1 : 0;
    }
    assertThat(brought).isGreaterThan(500);
    assertThat(store.stats().counts().evicted.sum()).isEqualTo(0);
    assertThat(store.importValue(key(-1), new byte[48 << 20], 1)).isEqualTo(ImportResult.TOO_LARGE);
  }

  @Test
  void deletedStoresAreEmpty() throws Exception {
    bringIn(1, 11);
    directory.close();
    directory = StoreDirectory.open(folder);
    directory.deleteAllBut(Set.of());
    store = open(ImportMode.BEGIN);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.NEW);
    assertThat(read(1)).isEqualTo(KeyHistory.NONE);
    assertThat(bringIn(1, 12)).isEqualTo(ImportResult.STORED);
  }

  @Test
  void whatSomebodyWasToldIsNotThereDoesNotComeIn() throws Exception {
    assertThat(store.readAndBarImport(key(1))).isNull();
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.KNOWN);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.STORED);
    assertThat(TestValues.numberOf(store.readAndBarImport(key(2)))).isEqualTo(12);
    // The next process does not know who asked for what.
    kill(ImportMode.BEGIN);
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.OVER);
    assertThat(read(2)).isEqualTo(12);
  }

  /** As it is where nothing is brought in: nothing may be lost, at no price. */
  @Test
  void aReadForGoodChangesNothing() throws Exception {
    store.put(key(1), TestValues.of(2), 5);
    store.importGuard().end();
    assertThat(store.importGuard().isNoting()).isFalse();
    assertThat(TestValues.numberOf(store.readAndBarImport(key(1)))).isEqualTo(2);
    restart(ImportMode.NONE);
    assertThat(store.importGuard().isNoting()).isFalse();
    assertThat(store.readAndBarImport(key(3))).isNull();
    directory.close();
    assertThat(store.readAndBarImport(key(1))).isNull();
    directory = StoreDirectory.open(folder);
    store = open(ImportMode.NONE);
    assertThat(read(1)).isEqualTo(2);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
  }

  /** A disk that cannot delete anything while it is stuck, or cannot sync folders. */
  private Disk stickyDisk(AtomicBoolean stuck, AtomicBoolean unsynced) {
    return new FolderDisk(Disk.REAL) {
      @Override
      public void delete(Path file) throws IOException {
        if (stuck.get()) {
          throw new IOException("on purpose");
        }
        super.delete(file);
      }

      @Override
      public void sync(Path synced) throws IOException {
        if (unsynced.get()) {
          throw new FileSystemException(synced.toString(), null, "Too many open files");
        }
        super.sync(synced);
      }
    };
  }

  /** The file itself says that it was changed. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingIsImportedWhereTheMarkerForImportCannotBeDeleted(boolean missed) throws Exception {
    bringIn(1, 11);
    AtomicBoolean stuck = new AtomicBoolean();
    directory.close();
    directory =
        StoreDirectory.open(
            folder, stickyDisk(stuck, new AtomicBoolean()), System::currentTimeMillis);
    store = open(ImportMode.RESUME);
    stuck.set(true);
    int key = missed ? 2 : 1;
    if (missed) {
      assertThat(store.readAndBarImport(key(key))).isNull();
    } else {
      store.remove(key(key));
    }
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(read(key)).isEqualTo(KeyHistory.NONE);
    assertThat(bringIn(key, 11)).isNotEqualTo(ImportResult.STORED);
    kill(ImportMode.RESUME);
    assertThat(bringIn(key, 11)).isNotEqualTo(ImportResult.STORED);
    assertThat(read(key)).isEqualTo(KeyHistory.NONE);
    assertThat(store.importGuard().isNoting()).isFalse();
  }

  /** A new file, in which nothing is, cannot say that anything was changed. */
  @Test
  void nothingIsImportedForAKeyThatWasRemovedWhileTheNewFileCouldNotBeUsed() throws Exception {
    directory.close();
    AtomicBoolean fails = new AtomicBoolean();
    Disk failing =
        new FolderDisk(Disk.REAL) {
          @Override
          public void create(Path file) throws IOException {
            super.create(file);
            fails.compareAndSet(false, file.toString().endsWith(".import"));
          }

          @Override
          public boolean exists(Path file) throws IOException {
            if (fails.get()) {
              throw new IOException("Input/output error (a test)");
            }
            return super.exists(file);
          }
        };
    folder = temp.resolve("new");
    directory = StoreDirectory.open(folder, failing, System::currentTimeMillis);
    store = open(ImportMode.BEGIN);
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    store.remove(key(1));
    restart(ImportMode.RESUME);
    assertThat(bringIn(1, 11)).isNotEqualTo(ImportResult.STORED);
    assertThat(read(1)).isEqualTo(KeyHistory.NONE);
  }

  /** A miss must cost no other value, whatever the state of the file. */
  @Test
  void aMissBeforeTheFileIsOpenKeepsItAndIsNotImported() throws Exception {
    bringIn(1, 11);
    directory.close();
    CountDownLatch reading = new CountDownLatch(1);
    Disk slow =
        new FolderDisk(Disk.REAL) {
          @Override
          public long size(Path file) throws IOException {
            Uninterruptibles.awaitUninterruptibly(reading);
            return super.size(file);
          }
        };
    directory = StoreDirectory.open(folder, slow, System::currentTimeMillis);
    store = directory.openStore(SETTINGS, ImportMode.RESUME, report -> {});
    assertThat(store.readAndBarImport(key(2))).isNull();
    reading.countDown();
    store.awaitOpened();
    assertThat(bringIn(2, 12)).isNotEqualTo(ImportResult.STORED);
    assertThat(read(1)).isEqualTo(11);
    restart(ImportMode.RESUME);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.OVER);
    assertThat(read(1)).isEqualTo(11);
  }

  /** As without file handles: the marker goes, but nobody can know if it is gone for good. */
  @Test
  void aMissWhileTheFileCannotBeOpenedKeepsIt() throws Exception {
    bringIn(1, 11);
    directory.close();
    AtomicBoolean unreadable = new AtomicBoolean(true);
    Disk disk =
        new FolderDisk(stickyDisk(new AtomicBoolean(), unreadable)) {
          @Override
          public List<Path> list(Path listed) throws IOException {
            if (unreadable.get()) {
              throw new FileSystemException(listed.toString(), null, "Too many open files");
            }
            return super.list(listed);
          }
        };
    directory = StoreDirectory.open(folder, disk, System::currentTimeMillis);
    store = open(ImportMode.RESUME);
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    assertThat(store.readAndBarImport(key(2))).isNull();
    unreadable.set(false);
    store.lifecycle.heal();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(read(1)).isEqualTo(11);
    assertThat(bringIn(2, 12)).isNotEqualTo(ImportResult.STORED);
    // The next one has it forced to the disk.
    assertThat(store.readAndBarImport(key(3))).isNull();
    assertThat(store.importGuard().isNoting()).isFalse();
    restart(ImportMode.RESUME);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.OVER);
    assertThat(read(1)).isEqualTo(11);
  }

  /** So that misses are noted, as the file may say later that the import goes on. */
  @Test
  void anUnreadableMarkerCountsAsThere() throws Exception {
    bringIn(1, 11);
    directory.close();
    Disk disk =
        new FolderDisk(Disk.REAL) {
          @Override
          public boolean exists(Path file) throws IOException {
            if (file.toString().endsWith(".import")) {
              throw new IOException("on purpose");
            }
            return super.exists(file);
          }
        };
    directory = StoreDirectory.open(folder, disk, System::currentTimeMillis);
    assertThat(directory.mayResumeImport("import", 1)).isTrue();
    store = open(ImportMode.RESUME);
    assertThat(store.importGuard().mayImport()).isFalse();
    assertThat(store.importGuard().isNoting()).isTrue();
    assertThat(store.readAndBarImport(key(2))).isNull();
    kill(ImportMode.RESUME);
    assertThat(bringIn(2, 12)).isEqualTo(ImportResult.OVER);
    assertThat(read(1)).isEqualTo(11);
  }

  /** A file that could not be opened may have held anything. */
  @Test
  void nothingComesIntoAFileThatTookThePlaceOfOneThatCouldNotBeOpened() throws Exception {
    bringIn(1, 11);
    store.remove(key(1));
    directory.close();
    AtomicBoolean full = new AtomicBoolean(true);
    Disk disk =
        new FolderDisk(Disk.REAL) {
          @Override
          public List<Path> list(Path listed) throws IOException {
            if (full.get() && listed.equals(folder)) {
              throw new IOException("on purpose");
            }
            return super.list(listed);
          }
        };
    directory = StoreDirectory.open(folder, disk, System::currentTimeMillis);
    store = open(ImportMode.BEGIN);
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    full.set(false);
    store.lifecycle.heal();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.importGuard().mayImport()).isFalse();
    assertThat(bringIn(1, 11)).isEqualTo(ImportResult.OVER);
  }

  /** Three threads change keys while a fourth brings older values of them in. */
  @Test
  void changesWinWhateverTheOrder() throws Exception {
    // So many that the file grows.
    int keys = 3000;
    int old = 1;
    int changers = 3;
    ExecutorService executor = Executors.newFixedThreadPool(changers + 1);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int c = 0; c < changers; c++) {
        int changer = c;
        running.add(
            executor.submit(
                () -> {
                  for (int i = changer; i < keys; i += changers) {
                    int key = (i * 7919) % keys;
                    switch (key % 3) {
                      case 0 -> {
                        store.remove(key(key));
                      }
                      case 1 -> store.put(key(key), TestValues.of(100_000 + key), 5);
                      default -> {}
                    }
                  }
                }));
      }
      running.add(
          executor.submit(
              () -> {
                for (int key = 0; key < keys; key++) {
                  ImportResult result = bringIn(key, old);
                  while (result == ImportResult.LATER) {
                    Thread.onSpinWait();
                    result = bringIn(key, old);
                  }
                }
              }));
      for (Future<?> one : running) {
        one.get();
      }
    } finally {
      executor.shutdownNow();
    }
    store.flush();
    TestStores.awaitRebuilt(store);
    assertThat(store.stats().counts().growths.sum()).isGreaterThan(0);
    int brought = 0;
    for (int key = 0; key < keys; key++) {
      int value = read(key);
      switch (key % 3) {
        case 0 -> assertWithMessage("key %s", key).that(value).isEqualTo(KeyHistory.NONE);
        case 1 ->
            assertWithMessage("key %s", key).that(value).isAnyOf(100_000 + key, KeyHistory.NONE);
        default -> brought += value == old ? 1 : 0;
      }
    }
    assertThat(brought).isGreaterThan(keys / 4);
  }

  /** A disk that has room for some doublings, and none for what is expected. */
  @Test
  void takesWhatRoomTheDiskHas() throws Exception {
    directory.close();
    Disk small =
        new FolderDisk(Disk.REAL) {
          @Override
          public void mapping(Path file) throws IOException {
            Matcher bytes = Pattern.compile("-g\\d+-(\\d+)-").matcher(file.toString());
            if (bytes.find() && Long.parseLong(bytes.group(1)) > 16 << 20) {
              throw new IOException("No space left on device (a test)");
            }
            super.mapping(file);
          }
        };
    directory = StoreDirectory.open(temp.resolve("small"), small, System::currentTimeMillis);
    store = open(ImportMode.BEGIN);
    assertGetsItsRoom(1200, 12 << 20);
  }

  /** Values come in until the file is so large, though more are expected than there is room for. */
  private void assertGetsItsRoom(int values, long bytes) throws Exception {
    int stored = 0;
    for (int i = 0; i < values; i++) {
      ImportResult result = store.importValue(key(i), new byte[10_000], 1);
      boolean isLarge = false;
      while (result == ImportResult.LATER && !isLarge) {
        // While it grows, the bytes of both files count.
        TestStores.awaitRebuilt(store);
        isLarge = store.stats().diskBytes() > bytes;
        result = store.importValue(key(i), new byte[10_000], 1);
      }
      stored += result == ImportResult.STORED ? 1 : 0;
    }
    assertThat(stored).isAtLeast(1000);
  }
}
