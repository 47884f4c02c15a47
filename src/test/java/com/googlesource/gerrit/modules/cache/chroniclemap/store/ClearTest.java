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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A store is cleared while its file stays in use: nothing that was put before is found again. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class ClearTest {
  private static final long LIMIT = 16 << 20;
  private static final int COUNT = 500;

  @TempDir Path temp;
  private StoreDirectory directory;
  private Store store;

  private void open(Disk disk, OldValues kind) throws Exception {
    directory = StoreDirectory.open(temp.resolve("stores"), disk, System::currentTimeMillis);
    store = openIn(directory, kind);
  }

  private static Store openIn(StoreDirectory directory, OldValues kind) throws Exception {
    return TestStores.open(directory, new StoreSettings("cache", 1, LIMIT, Optional.empty(), kind));
  }

  @AfterEach
  void close() {
    directory.close();
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
    open(Disk.REAL, OldValues.MUTABLE);
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

  /** Copies the folder before each call that could fail or be the last one. */
  private final class CopyingDisk extends Disk {
    final List<Path> copies = new ArrayList<>();
    boolean isOn;

    synchronized void copy() throws IOException {
      if (isOn) {
        Path copy = Files.createDirectory(temp.resolve("copy" + copies.size()));
        for (Path file : TestStores.filesIn(temp.resolve("stores"))) {
          Files.copy(file, copy.resolve(file.getFileName()));
        }
        copies.add(copy);
      }
    }

    @Override
    public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
      return new ForwardingChannel(super.open(file, options)) {
        @Override
        public int write(ByteBuffer src, long position) throws IOException {
          copy();
          return super.write(src, position);
        }
      };
    }

    @Override
    public void force(Path file, FileChannel open) throws IOException {
      copy();
      super.force(file, open);
    }

    @Override
    public void sync(Path folder) throws IOException {
      copy();
      super.sync(folder);
    }

    @Override
    public void allocating(Path file) throws IOException {
      copy();
      super.allocating(file);
    }
  }

  /** Takes a copy for the file that it is a copy of: what a kill leaves. */
  private static Disk killed() {
    return new Disk() {
      @Override
      public boolean hasKey(Path file, String key) {
        return true;
      }
    };
  }

  @ParameterizedTest
  @EnumSource
  void noKillBringsItBack(OldValues kind) throws Exception {
    CopyingDisk disk = new CopyingDisk();
    open(disk, kind);
    fill(0);
    disk.isOn = true;
    store.clear();
    int during = disk.copies.size();
    disk.copy();
    assertThat(found(store, 0)).isEqualTo(0);
    fill(COUNT);
    synchronized (disk) {
      disk.isOn = false;
    }
    assertThat(disk.copies.size() - during).isAtLeast(16);
    for (int i = 0; i < disk.copies.size(); i++) {
      try (StoreDirectory next =
          StoreDirectory.open(disk.copies.get(i), killed(), System::currentTimeMillis)) {
        Store left = openIn(next, kind);
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
        new Disk() {
          @Override
          public void allocating(Path file) throws IOException {
            throwIfFull();
            super.allocating(file);
          }

          @Override
          public void create(Path file) throws IOException {
            throwIfFull();
            super.create(file);
          }

          private void throwIfFull() throws IOException {
            if (isFull.get()) {
              throw new IOException("No space left on device (a test)");
            }
          }
        };
    open(disk, kind);
    fill(0);
    isFull.set(true);
    store.clear();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.stats().entries()).isEqualTo(0);
    assertThat(found(store, 0)).isEqualTo(0);
    fill(COUNT);
    assertThat(found(store, COUNT)).isEqualTo(0);
    isFull.set(false);
    directory.close();
    open(Disk.REAL, kind);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(found(store, 0)).isEqualTo(0);
    fill(COUNT);
    assertThat(found(store, COUNT)).isEqualTo(COUNT);
  }

  @Test
  void nothingComesBackWhereTheDiskDoesNotTakeTheNote() throws Exception {
    AtomicBoolean isBroken = new AtomicBoolean();
    Disk disk =
        new Disk() {
          @Override
          public void sync(Path folder) throws IOException {
            if (isBroken.compareAndSet(true, false)) {
              throw new IOException("Input/output error (a test)");
            }
            super.sync(folder);
          }
        };
    open(disk, OldValues.PURE);
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
    open(Disk.REAL, OldValues.MUTABLE);
    fill(0);
    long before = blocks();
    assertThat(before).isAtLeast(1 << 20);
    store.clear();
    store.put(key(0), TestValues.of(1), System.currentTimeMillis());
    store.flush();
    while (store.stats().diskBytes() > 256 << 10) {
      Thread.onSpinWait();
    }
    assertThat(blocks()).isLessThan(before / 4);
    directory.close();
    open(Disk.REAL, OldValues.MUTABLE);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(TestValues.numberOf(store.read(key(0)))).isEqualTo(1);
  }

  private long blocks() throws Exception {
    long sum = 0;
    for (Path file : TestStores.filesIn(temp.resolve("stores"))) {
      sum += TestStores.blocks(file);
    }
    return sum;
  }

  /** What was not emptied when the store was closed is emptied by the next one. */
  @Test
  void whatWasNotUsedSinceIsGoneAfterAStart() throws Exception {
    open(Disk.REAL, OldValues.MUTABLE);
    fill(0);
    // So nothing is emptied in the background.
    directory.threads.stop(System.nanoTime());
    store.clear();
    directory.close();
    open(Disk.REAL, OldValues.MUTABLE);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(store.stats().entries()).isEqualTo(0);
    assertThat(found(store, 0)).isEqualTo(0);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(0);
    fill(0);
    assertThat(found(store, 0)).isEqualTo(COUNT);
  }
}
