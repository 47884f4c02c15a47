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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.blocksIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A store is cleared while its file stays in use: nothing that was put before is found again. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class ClearTest extends FolderTest {
  private static final long LIMIT = 16 << 20;
  private static final int COUNT = 500;

  private static StoreSettings ofKind(OldValues kind) {
    return settings("cache", LIMIT, kind);
  }

  private void fill(int from) {
    for (int i = from; i < from + COUNT; i++) {
      store.put(key(i), TestValues.of(i + 1), System.currentTimeMillis());
    }
    store.flush();
  }

  private static int found(Store store, int from) {
    int found = 0;
    for (int i = from; i < from + COUNT; i++) {
      int number = TestValues.numberOf(store.read(key(i)));
      assertThat(number).isAnyOf(KeyHistory.NONE, i + 1);
      found += number == KeyHistory.NONE ? 0 : 1;
    }
    return found;
  }

  /** Values put, by thread; and those of them for which no clear had begun when it had put them. */
  private static final int THREADS = 2;

  private final AtomicIntegerArray put = new AtomicIntegerArray(THREADS);
  private final AtomicIntegerArray cleared = new AtomicIntegerArray(THREADS);
  private final AtomicBoolean ended = new AtomicBoolean();

  @Test
  void whatThreadsPutBeforeIsGoneAndWhatTheyPutLaterIsWhole() throws Exception {
    start(ofKind(OldValues.MUTABLE));
    try (ExecutorService pool = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        int thread = i;
        all.add(pool.submit(() -> putAndRead(thread, new Random(thread))));
      }
      try {
        for (int round = 1; round <= 40; round++) {
          while (put.get(0) < 50 * round && !all.get(0).isDone()) {
            Thread.onSpinWait();
          }
          int[] before = {put.get(0), put.get(1)};
          store.clear();
          for (int i = 0; i < THREADS; i++) {
            cleared.set(i, before[i]);
          }
        }
      } finally {
        ended.set(true);
      }
      for (Future<?> one : all) {
        one.get();
      }
    }
    store.clear();
    store.flush();
    assertThat(store.stats().entries()).isEqualTo(0);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(0);
    assertThat(store.stats().counts().faults.sum()).isEqualTo(0);
    fill(0);
    assertThat(found(store, 0)).isEqualTo(COUNT);
    assertThat(store.verify(false, Progress.NONE).damaged()).isEqualTo(0);
  }

  private void putAndRead(int thread, Random random) {
    for (int number = 1; !ended.get(); number++) {
      byte[] key = key(thread * COUNT + random.nextInt(COUNT));
      store.put(key, TestValues.of(number), System.currentTimeMillis());
      put.set(thread, number);
      int last = cleared.get(thread);
      int any = thread * COUNT + random.nextInt(COUNT);
      int found = TestValues.numberOf(store.read(key(any)));
      if (found != KeyHistory.NONE) {
        assertWithMessage("key %s", any).that(found).isGreaterThan(last);
      }
    }
  }

  /** What is left of the folder if the process is killed before some calls of the disk. */
  private final List<Path> copies = new CopyOnWriteArrayList<>();

  private volatile boolean isCopied;

  private int tries;

  private synchronized void copy() throws IOException {
    Path copy = null;
    byte[] state = null;
    // As they were at one moment: other threads empty segments meanwhile, and note that.
    while (isCopied && !Arrays.equals(state, state())) {
      state = state();
      copy = TestStores.copy(folder(), temp.resolve("copy" + tries++));
    }
    if (copy != null) {
      copies.add(copy);
    }
  }

  private byte[] state() throws IOException {
    return Files.readAllBytes(TestStores.fileIn(folder(), ".state"));
  }

  @ParameterizedTest
  @EnumSource
  void noKillBringsItBack(OldValues kind) throws Exception {
    TestDisk disk = new TestDisk();
    for (Call call :
        List.of(Call.WRITE_OPEN, Call.LENGTHEN_OPEN, Call.FORCE, Call.SYNC, Call.ALLOCATING)) {
      disk.before(call, file -> copy());
    }
    start(disk, ofKind(kind));
    fill(0);
    isCopied = true;
    store.clear();
    int during = copies.size();
    copy();
    assertThat(found(store, 0)).isEqualTo(0);
    for (int i = COUNT; i < 2 * COUNT && copies.size() < during + 100; i++) {
      store.put(key(i), TestValues.of(i + 1), now());
    }
    store.flush();
    isCopied = false;
    assertThat(copies.size() - during).isAtLeast(16);
    for (int i = 0; i < copies.size(); i++) {
      try (StoreDirectory next =
          StoreDirectory.open(copies.get(i), TestStores.ofCopies(), System::currentTimeMillis)) {
        Store left = TestStores.open(next, ofKind(kind));
        assertThat(left.stats().start().kind()).isEqualTo(StartReport.Kind.RECOVERED);
        int found = found(left, 0);
        assertWithMessage("copy %s of %s", i, during).that(found).isAtMost(i < during ? COUNT : 0);
        int unused = found(left, COUNT);
      }
    }
  }

  /** It does not even have room for an empty file. */
  @ParameterizedTest
  @EnumSource
  void aFullDiskIsNoObstacle(OldValues kind) throws Exception {
    AtomicBoolean isFull = new AtomicBoolean();
    Disk disk =
        new TestDisk()
            .failing(Call.ALLOCATING, isFull::get, "No space left on device")
            .failing(Call.CREATE, isFull::get, "No space left on device");
    start(disk, ofKind(kind));
    fill(0);
    isFull.set(true);
    store.clear();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.stats().entries()).isEqualTo(0);
    assertThat(found(store, 0)).isEqualTo(0);
    fill(COUNT);
    assertThat(found(store, COUNT)).isEqualTo(0);
    isFull.set(false);
    start(ofKind(kind));
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(found(store, 0)).isEqualTo(0);
    fill(COUNT);
    assertThat(found(store, COUNT)).isEqualTo(COUNT);
  }

  @Test
  void nothingComesBackWhereTheDiskDoesNotTakeTheNote() throws Exception {
    AtomicBoolean isBroken = new AtomicBoolean();
    Disk disk =
        new TestDisk()
            .failing(Call.SYNC, () -> isBroken.compareAndSet(true, false), "Input/output error");
    start(disk, ofKind(OldValues.PURE));
    long now = System.currentTimeMillis();
    store.put(key(1), TestValues.of(1), now);
    store.flush();
    isBroken.set(true);
    store.clear();
    assertThat(isBroken.get()).isFalse();
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    assertThat(store.read(key(1))).isNull();
    store.everyMinute();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.read(key(1))).isNull();
  }

  /** That is done in the background, and by puts for their segments. */
  @Test
  void theDiskIsGivenBack() throws Exception {
    start(ofKind(OldValues.MUTABLE));
    fill(0);
    long before = blocksIn(folder());
    assertThat(before).isAtLeast(1 << 20);
    store.clear();
    store.put(key(0), TestValues.of(1), System.currentTimeMillis());
    store.flush();
    await(() -> store.stats().diskBytes() <= 256 << 10);
    assertThat(blocksIn(folder())).isLessThan(before / 4);
    start(ofKind(OldValues.MUTABLE));
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(TestValues.numberOf(store.read(key(0)))).isEqualTo(1);
  }

  /** What was not emptied when the store was closed is emptied by the next one. */
  @Test
  void whatWasNotUsedSinceIsGoneAfterAStart() throws Exception {
    start(ofKind(OldValues.MUTABLE));
    fill(0);
    // So nothing is emptied in the background.
    directory.threads.stop(System.nanoTime());
    store.clear();
    start(ofKind(OldValues.MUTABLE));
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(store.stats().entries()).isEqualTo(0);
    assertThat(found(store, 0)).isEqualTo(0);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(0);
    fill(0);
    assertThat(found(store, 0)).isEqualTo(COUNT);
  }
}
