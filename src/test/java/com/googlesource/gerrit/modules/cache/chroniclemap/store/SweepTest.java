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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Hook;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a sweep removes, and that it reads nothing where nothing is old. */
class SweepTest extends FolderTest {
  private static final int KEYS = 3000;
  private static final int VALUE_BYTES = 2000;
  private static final long LIMIT = 64 << 20;
  private static final Duration MAX_AGE = Duration.ofHours(1);

  private final AtomicLong clock = new AtomicLong(1_700_000_000_000L);

  /** How often the file of a store was read. */
  private final AtomicInteger reads = new AtomicInteger();

  /** What else is done before each of these reads. */
  private volatile Hook onRead = file -> {};

  /** What is done before the file of a store gets disk. */
  private volatile Hook onAllocation = file -> {};

  @BeforeEach
  void open() throws Exception {
    open(new TestDisk());
  }

  private void open(TestDisk disk) throws Exception {
    Hook count =
        file -> {
          if (!file.toString().endsWith(".state")) {
            reads.incrementAndGet();
            onRead.before(file);
          }
        };
    disk.before(Call.READ_OPEN, count).before(Call.ALLOCATING, file -> onAllocation.before(file));
    start(disk, new StoreSettings("cache", 1, LIMIT, Optional.of(MAX_AGE)));
  }

  @Override
  long now() {
    return clock.get();
  }

  private void put(int number) {
    store.putIfCurrent(key(number), new byte[VALUE_BYTES], clock.get(), store.ticket(key(number)));
    if (number % 100 == 0) {
      store.flush();
    }
  }

  private void fill() throws Exception {
    for (int i = 0; i < KEYS; i++) {
      put(i);
    }
    store.flush();
  }

  private void advance(Duration duration) {
    clock.addAndGet(duration.toMillis());
  }

  /** Sweeps; returns whether anything of the file was read for that. */
  private boolean sweepReads() {
    int before = reads.get();
    TestStores.sweep(store);
    return reads.get() > before;
  }

  @Test
  void aSweepOfAnEmptyFileReadsNothing() {
    advance(MAX_AGE.multipliedBy(2));
    assertThat(sweepReads()).isFalse();
  }

  @Test
  void aSweepReadsNothingWhereNothingIsOld() throws Exception {
    fill();
    advance(MAX_AGE.minusMinutes(1));
    assertThat(sweepReads()).isFalse();
    assertThat(store.stats().entries()).isEqualTo(KEYS);
    advance(Duration.ofMinutes(2));
    assertThat(sweepReads()).isTrue();
    assertThat(store.stats().entries()).isEqualTo(0);
    assertThat(store.stats().counts().expired.sum()).isEqualTo(KEYS);
    assertThat(sweepReads()).isFalse();
  }

  /** An array for a whole segment is large for a collector, and a flush has all segments swept. */
  @Test
  void aSweepThatReadsNothingTakesNoHeapForThat() throws Exception {
    fill();
    TestStores.sweep(store);
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    assertThat(sweepReads()).isFalse();
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(700_000);
  }

  @Test
  void aSweepRemovesWhatIsOldAndLearnsWhatIsLeft() throws Exception {
    for (int i = 0; i < 10; i++) {
      put(i);
    }
    advance(Duration.ofMinutes(30));
    fill();
    advance(Duration.ofMinutes(31));
    // The first ten were put again, in place of the old ones, half an hour ago.
    TestStores.sweep(store);
    assertThat(store.stats().entries()).isEqualTo(KEYS);
    assertThat(sweepReads()).isFalse();
    advance(Duration.ofMinutes(30));
    assertThat(sweepReads()).isTrue();
    assertThat(store.stats().entries()).isEqualTo(0);
  }

  @Test
  void aLargeValueGoesWithItsParts() throws Exception {
    store.put(key(1), new byte[1_000_000], clock.get());
    advance(Duration.ofMinutes(30));
    store.put(key(2), new byte[1_000_000], clock.get());
    store.flush();
    advance(Duration.ofMinutes(31));
    TestStores.sweep(store);
    assertThat(store.read(key(1))).isNull();
    assertThat(store.read(key(2)).bytes()).hasLength(1_000_000);
    assertThat(store.stats().liveBytes()).isLessThan(1_100_000L);
    advance(Duration.ofMinutes(30));
    TestStores.sweep(store);
    assertThat(store.stats().liveBytes()).isEqualTo(0);
  }

  /** How a start finds the file. */
  private enum Left {
    CLOSED,
    BY_A_KILL,
    /** Pages of the state file may be older than those of the store's. */
    BY_A_CRASH_OF_THE_MACHINE,
    /** Its files say nothing of ages. */
    BY_AN_EARLIER_VERSION
  }

  @ParameterizedTest
  @EnumSource
  void afterAStartNothingOldIsMissed(Left left) throws Exception {
    fill();
    directory.close();
    switch (left) {
      case CLOSED -> {}
      case BY_A_KILL -> TestStores.leaveOpen(folder());
      case BY_A_CRASH_OF_THE_MACHINE -> TestStores.leaveToCrash(folder());
      case BY_AN_EARLIER_VERSION -> TestStores.forgetAges(folder());
    }
    boolean isCrash = left == Left.BY_A_CRASH_OF_THE_MACHINE;
    open(isCrash ? TestStores.anotherBoot() : new TestDisk());
    assertThat(store.stats().start().kind())
        .isEqualTo(
            isCrash || left == Left.BY_A_KILL
                ? StartReport.Kind.RECOVERED
                : StartReport.Kind.CLEAN);
    for (int i = 0; i < KEYS; i++) {
      assertWithMessage("key %s", i).that(store.read(key(i))).isNotNull();
    }
    // What is not known is read once.
    assertThat(sweepReads()).isEqualTo(left != Left.CLOSED);
    assertThat(store.stats().entries()).isEqualTo(KEYS);
    assertThat(sweepReads()).isFalse();
    advance(MAX_AGE.plusMinutes(1));
    assertThat(sweepReads()).isTrue();
    assertThat(store.stats().entries()).isEqualTo(0);
  }

  /**
   * As where a sweep takes longer than its interval. Here the disk fails each read, so that another
   * sweep would find all segments as the first one did.
   */
  @Test
  void aSweepGoesOnWhereTheLastOneIs() throws Exception {
    fill();
    advance(MAX_AGE.multipliedBy(2));
    int all = Geometry.forFileOf(LIMIT, Geometry.DEFAULT_BYTES_PER_SLOT).segments();
    int before = reads.get();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    onRead =
        file -> {
          begun.countDown();
          awaitUninterruptibly(mayGoOn);
          throw new IOException("a test");
        };
    try {
      store.everyMinute();
      begun.await();
      advance(MAX_AGE.dividedBy(10));
      store.everyMinute();
    } finally {
      mayGoOn.countDown();
    }
    // All of them, and the first one twice.
    await(() -> reads.get() > before + all);
    awaitManySteps();
    assertThat(reads.get()).isEqualTo(before + all + 1);
    onRead = file -> {};
    TestStores.sweep(store);
    assertThat(store.stats().counts().expired.sum()).isEqualTo(KEYS);
  }

  /** Returns when anything that still runs in steps has had its turn. */
  private void awaitManySteps() throws Exception {
    CountDownLatch steps = new CountDownLatch(1000);
    directory.threads.inSteps(
        () -> {
          steps.countDown();
          return steps.getCount() > 0;
        });
    steps.await();
  }

  /** No thread could be started for its next step. */
  @Test
  void aSweepThatWasLostKeepsNoOtherFromAnything() throws Exception {
    fill();
    advance(MAX_AGE.multipliedBy(2));
    BooleanSupplier lost = store.upkeep.newSweep();
    assertThat(lost.getAsBoolean()).isTrue();
    assertThat(store.stats().entries()).isGreaterThan(0);
    assertThat(sweepReads()).isTrue();
    assertThat(store.stats().entries()).isEqualTo(0);
    // What was put where the lost one had been.
    fill();
    advance(MAX_AGE.multipliedBy(2));
    TestStores.sweep(store);
    assertThat(store.stats().entries()).isEqualTo(0);
  }

  /** Otherwise a request that changes a value of that segment would wait as long. */
  @Test
  void aRepairThatWaitsForTheDiskLeavesTheWritersLockFree() throws Exception {
    fill();
    directory.close();
    TestStores.leaveToCrash(folder());
    open(TestStores.anotherBoot());
    CountDownLatch waits = new CountDownLatch(1);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    onAllocation =
        file -> {
          waits.countDown();
          awaitUninterruptibly(mayGoOn);
        };
    Thread sweep = Thread.ofPlatform().start(() -> TestStores.sweep(store));
    awaitUninterruptibly(waits);
    boolean isFree = store.context.lock.tryLock();
    if (isFree) {
      store.context.lock.unlock();
    }
    mayGoOn.countDown();
    sweep.join();
    assertThat(isFree).isTrue();
    assertThat(store.current.file().state().counts.unchecked()).isEqualTo(0);
  }
}
