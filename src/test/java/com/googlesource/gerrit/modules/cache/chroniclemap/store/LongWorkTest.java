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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Work on large files holds up no other store. */
@Timeout(60)
class LongWorkTest {
  private static final long LIMIT = 32 << 20;
  private static final int VALUE_BYTES = 100_000;

  private static final int VALUES = 2000;

  /** More than two segments take, and less than half of the segments of a file. */
  private static final int READS_OF_TWO_STEPS = 30;

  private static final Duration MAX_AGE = Duration.ofHours(1);

  @TempDir Path folder;

  private final AtomicLong now = new AtomicLong(System.currentTimeMillis());

  private static StoreSettings aging(String name) {
    return new StoreSettings(name, 1, LIMIT, Optional.of(MAX_AGE));
  }

  private static void fill(Store store, int values) {
    for (int i = 0; i < values; i++) {
      store.put(key(i), new byte[VALUE_BYTES], 1);
    }
  }

  private StoreDirectory open(Disk disk) throws Exception {
    return StoreDirectory.open(folder, disk, now::get);
  }

  /** A disk on which the copies of large files do not begin before they may. */
  private static Disk slow(CountDownLatch begun, CountDownLatch mayEnd) {
    return new TestDisk()
        .before(
            Call.MAPPING,
            file -> {
              String name = file.getFileName().toString();
              if (name.startsWith("large") && name.contains("-" + 2 * LIMIT + "-")) {
                begun.countDown();
                awaitUninterruptibly(mayEnd);
              }
            });
  }

  @Test
  void aStoreOpensWhileOthersAreCopied() throws Exception {
    List<String> large = List.of("large1", "large2", "large3");
    try (StoreDirectory directory = open(Disk.REAL)) {
      for (String name : large) {
        fill(TestStores.open(directory, settings(name, LIMIT)), 10);
      }
    }
    CountDownLatch begun = new CountDownLatch(large.size());
    CountDownLatch mayEnd = new CountDownLatch(1);
    try (StoreDirectory directory = open(slow(begun, mayEnd))) {
      try {
        for (String name : large) {
          Store unused = directory.openStore(settings(name, 2 * LIMIT));
        }
        begun.await();
        Store small = TestStores.open(directory, settings("small", LIMIT));
        fill(small, 10);
        assertThat(small.read(key(9))).isNotNull();
      } finally {
        mayEnd.countDown();
      }
    }
  }

  /** The disk after a crash of the machine, with a hook for each read of a file. */
  private static Disk watched(Runnable onRead) {
    return TestStores.anotherBoot()
        .before(
            Call.READ_OPEN,
            file -> {
              if (file.toString().endsWith(".chm")) {
                onRead.run();
              }
            });
  }

  /** Two files are checked after a crash of the machine. */
  @Test
  void checksOfWholeFilesTakeTurnsWithOtherUpkeep() throws Exception {
    takesTurns(store -> store.upkeep.sweep(), VALUES);
  }

  @Test
  void sweepsOfWholeFilesTakeTurnsWithOtherUpkeep() throws Exception {
    takesTurns(
        store -> {
          now.addAndGet(2 * MAX_AGE.toMillis());
          store.upkeep.sweep();
        },
        0);
  }

  /**
   * Work on two files at a time, which is as many as there are threads; other upkeep is queued when
   * that begins, and is to be done before it ends.
   */
  private void takesTurns(Consumer<Store> work, int left) throws Exception {
    List<String> names = List.of("one", "two");
    try (StoreDirectory directory = open(Disk.REAL)) {
      for (String name : names) {
        Store store = TestStores.open(directory, aging(name));
        for (int i = 0; i < VALUES; i++) {
          store.putIfCurrent(key(i), new byte[VALUE_BYTES / 10], now.get(), store.ticket(key(i)));
        }
        store.flush();
      }
    }
    TestStores.leaveToCrash(folder);
    CountDownLatch other = new CountDownLatch(1);
    AtomicReference<Runnable> onRead = new AtomicReference<>(() -> {});
    try (StoreDirectory directory = open(watched(() -> onRead.get().run()))) {
      try {
        List<Store> stores = new ArrayList<>();
        for (String name : names) {
          stores.add(TestStores.open(directory, aging(name)));
        }
        AtomicInteger reads = new AtomicInteger();
        onRead.set(
            () -> {
              if (reads.incrementAndGet() == 1) {
                boolean unused = directory.threads.maintain(other::countDown);
              } else if (reads.get() > READS_OF_TWO_STEPS) {
                awaitUninterruptibly(other);
              }
            });
        stores.forEach(work);
        other.await();
        onRead.set(() -> {});
        for (Store store : stores) {
          assertThat(store.read(key(1)) != null).isEqualTo(left > 0);
          TestStores.await(() -> store.stats().entries() == left);
        }
      } finally {
        other.countDown();
      }
    }
  }

  /** Steps of other work wait for the timer. */
  @Test
  void theTimerGoesOnWhileUpkeepWaitsForADisk() throws Exception {
    CountDownLatch mayEnd = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch later = new CountDownLatch(1);
    try (StoreDirectory directory = open(Disk.REAL)) {
      try {
        directory.threads.repeat(
            () -> {
              begun.countDown();
              awaitUninterruptibly(mayEnd);
            },
            1);
        begun.await();
        for (int i = 0; i < 10; i++) {
          assertThat(directory.threads.maintain(() -> awaitUninterruptibly(mayEnd))).isTrue();
        }
        assertThat(directory.threads.later(later::countDown, 1, TimeUnit.NANOSECONDS)).isTrue();
        later.await();
      } finally {
        mayEnd.countDown();
      }
    }
  }

  @Test
  void periodicUpkeepThatWaitsForADiskTakesOneThreadOnly() throws Exception {
    AtomicReference<Runnable> onClock = new AtomicReference<>(() -> {});
    CountDownLatch mayEnd = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(1);
    LongSupplier clock =
        () -> {
          onClock.get().run();
          return now.get();
        };
    try (StoreDirectory directory = StoreDirectory.open(folder, Disk.REAL, clock)) {
      var unused = TestStores.open(directory, settings("one", LIMIT));
      onClock.set(
          () -> {
            begun.countDown();
            awaitUninterruptibly(mayEnd);
          });
      Thread first = Thread.ofPlatform().start(directory::sweep);
      try {
        begun.await();
        directory.sweep();
      } finally {
        mayEnd.countDown();
        first.join();
      }
    }
  }
}
