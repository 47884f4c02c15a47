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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestSeed.Step;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A store's file begins with what was held elsewhere. */
@Timeout(60)
class SeedTest extends FolderTest {
  private static final long LIMIT = 8 << 20;
  private static final int COUNT = 100;

  /** Ends what a test holds up. */
  private final CountDownLatch mayGoOn = new CountDownLatch(1);

  @BeforeEach
  void open() throws Exception {
    openFolder(Disk.REAL);
  }

  private static byte[] value(int i, int length) {
    byte[] value = new byte[length];
    value[0] = (byte) i;
    return value;
  }

  private static TestSeed seed(int count, int length) {
    return new TestSeed(count, i -> value(i, length));
  }

  /** A seed that is held up at a step. */
  private TestSeed held(Step step) {
    return held(step, new CountDownLatch(1), mayGoOn);
  }

  private static TestSeed held(Step step, CountDownLatch reached, CountDownLatch goOn) {
    TestSeed held = seed(COUNT, 1000);
    held.hook =
        now -> {
          if (now == step) {
            reached.countDown();
            Uninterruptibles.awaitUninterruptibly(goOn);
          }
        };
    return held;
  }

  private void begin(OldValues kind, Optional<Duration> maxAge, TestSeed seed) throws Exception {
    store =
        directory.openStore(
            new StoreSettings("cache", 1, LIMIT, maxAge, kind), seed.unlessMoved(), report -> {});
  }

  private void begin(OldValues kind, TestSeed seed) throws Exception {
    begin(kind, Optional.empty(), seed);
  }

  private void beginAndWait(OldValues kind, TestSeed seed) throws Exception {
    begin(kind, seed);
    store.awaitOpened();
  }

  private int found(int from, int to) {
    return (int) IntStream.range(from, to).filter(i -> store.read(key(i)) != null).count();
  }

  @ParameterizedTest
  @EnumSource
  void allIsThereOnce(OldValues kind) throws Exception {
    TestSeed seed = seed(500, 10_000);
    beginAndWait(kind, seed);
    assertThat(found(0, 500)).isEqualTo(500);
    assertThat(seed.isMoved).isTrue();
    store.remove(key(7));
    open();
    beginAndWait(kind, seed);
    assertThat(found(0, 500)).isEqualTo(499);
    assertThat(store.read(key(7))).isNull();
  }

  @ParameterizedTest
  @EnumSource
  void whatIsChangedMeanwhileComesAfterIt(OldValues kind) throws Exception {
    begin(kind, held(Step.HALF_READ));
    Thread changing =
        Thread.ofPlatform()
            .start(
                () -> {
                  if (kind == OldValues.SECRET) {
                    // Their users wait, so that none of them is lost.
                    mayGoOn.countDown();
                  }
                  store.put(key(1), value(99, 50), System.currentTimeMillis());
                  store.remove(key(2));
                  mayGoOn.countDown();
                });
    changing.join();
    store.awaitOpened();
    assertThat(store.read(key(1)).bytes()).isEqualTo(value(99, 50));
    assertThat(store.read(key(2))).isNull();
    assertThat(found(0, COUNT)).isEqualTo(COUNT - 1);
  }

  @Test
  void nothingComesAfterAFlushThatDidNotWait() throws Exception {
    begin(OldValues.PURE, held(Step.READ));
    store.clear();
    mayGoOn.countDown();
    store.awaitOpened();
    assertThat(found(0, COUNT)).isEqualTo(0);
  }

  /** However long it takes, what waits for it is bounded; beyond that, nothing old is found. */
  @Test
  void moreChangesThanTheQueueHoldsEmptyTheCache() throws Exception {
    begin(OldValues.MUTABLE, held(Step.READ));
    long most = 0;
    byte[] large = new byte[100_000];
    for (int i = 0; i < 1000; i++) {
      store.put(key(1000 + i), large, System.currentTimeMillis());
    }
    for (int i = 0; i < 2_000; i++) {
      byte[] longKey = Arrays.copyOf(key(i), 16_000);
      store.remove(longKey);
      most = Math.max(most, store.stats().queued());
    }
    store.remove(key(1));
    mayGoOn.countDown();
    store.awaitOpened();
    assertThat(most).isLessThan(2_200);
    assertThat(store.read(key(1))).isNull();
  }

  @Test
  void whatHasNoRoomOrIsTooOldIsLeftOut() throws Exception {
    begin(OldValues.PURE, Optional.of(Duration.ofMinutes(30)), seed(100, 1000));
    store.awaitOpened();
    assertThat(found(0, 100)).isEqualTo(30);
    open();
    directory.discard("cache", 1, Optional.empty());
    beginAndWait(OldValues.PURE, seed(5000, 10_000));
    assertThat(found(0, 100)).isEqualTo(100);
    assertThat(store.stats().entries()).isAtLeast(600L);
    assertThat(store.stats().diskBytes()).isAtMost(LIMIT);
  }

  /** As if killed then: a start that finds the folder, and the seed if that was not moved. */
  @ParameterizedTest
  @EnumSource
  void killedAtAnyStepTheNextStartHasAllOrNothingAndNothingOld(Step step) throws Exception {
    for (OldValues kind : new OldValues[] {OldValues.PURE, OldValues.MUTABLE}) {
      for (boolean isChanged : new boolean[] {false, true}) {
        String what = step + " " + kind + " " + isChanged;
        CountDownLatch reached = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        TestSeed seed = held(step, reached, goOn);
        begin(kind, seed);
        reached.await();
        if (isChanged) {
          store.remove(key(1));
          store.put(key(2), value(99, 50), System.currentTimeMillis());
        }
        TestSeed left = seed(COUNT, 1000);
        left.isMoved = seed.isMoved;
        Path killed = TestStores.copy(folder(), temp.resolve(what));
        goOn.countDown();
        directory.close();
        directory = StoreDirectory.open(killed, TestStores.ofCopies(), this::now);
        beginAndWait(kind, left);
        boolean isAll = !(isChanged && kind == OldValues.MUTABLE);
        assertWithMessage(what).that(found(3, COUNT)).isEqualTo(isAll ? COUNT - 3 : 0);
        assertWithMessage(what).that(left.isMoved).isTrue();
        if (isChanged && kind == OldValues.MUTABLE) {
          assertWithMessage(what).that(found(1, 3)).isEqualTo(0);
        }
        directory.close();
        TestStores.filesIn(folder()).forEach(file -> file.toFile().delete());
        open();
      }
    }
  }

  /** A stop does not wait for all of it, and the next start begins again. */
  @ParameterizedTest
  @EnumSource
  void aStopLeavesAllOfItToTheNextStart(OldValues kind) throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    TestSeed endless = new TestSeed(Integer.MAX_VALUE, i -> value(i, 10));
    endless.hook = step -> begun.countDown();
    begin(kind, endless);
    begun.await();
    // A user who waits is told nothing that the next start would have to know.
    Thread waiting = Thread.ofPlatform().start(() -> assertThat(store.read(key(1))).isNull());
    await(() -> !waiting.isAlive() || waiting.getState() == Thread.State.TIMED_WAITING);
    open();
    waiting.join();
    assertThat(endless.isMoved).isFalse();
    beginAndWait(kind, seed(COUNT, 1000));
    assertThat(found(0, COUNT)).isEqualTo(COUNT);
  }

  /** Who was told to sign in, when not even a wait helped, is not signed in later. */
  @Test
  void aSecretThatWasNotFoundStaysMissing() throws Exception {
    TestSeed seed = seed(COUNT, 1000);
    seed.fail();
    beginAndWait(OldValues.SECRET, seed);
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    assertThat(store.read(key(1))).isNull();
    seed.hook = step -> {};
    store.current.heal();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.read(key(1))).isNull();
    assertThat(seed.isMoved).isTrue();
  }

  @Test
  void whatCannotBeReadNowIsReadLater() throws Exception {
    TestSeed seed = seed(COUNT, 1000);
    seed.fail();
    beginAndWait(OldValues.MUTABLE, seed);
    assertThat(found(0, COUNT)).isEqualTo(0);
    seed.hook = step -> {};
    store.current.heal();
    assertThat(found(0, COUNT)).isEqualTo(COUNT);
  }

  /** What was in use elsewhere takes the place of older values, and of newer ones nothing does. */
  @Test
  void aStoreThatIsOlderOrInDoubtIsNotUsed() throws Exception {
    for (OldValues kind : OldValues.values()) {
      for (boolean isNewer : new boolean[] {true, false}) {
        beginAndWait(kind, seed(0, 1));
        store.put(key(1000), value(1, 10), System.currentTimeMillis());
        open();
        TestSeed seed = seed(COUNT, 1000);
        seed.changed = isNewer ? Long.MAX_VALUE : 0;
        beginAndWait(kind, seed);
        boolean isPure = kind == OldValues.PURE;
        assertThat(found(1000, 1001)).isEqualTo(isPure ? 1 : 0);
        assertThat(found(0, COUNT)).isEqualTo(isNewer && !isPure ? COUNT : 0);
        assertThat(seed.isMoved).isTrue();
        open();
        directory.discard("cache", 1, Optional.empty());
      }
    }
  }

  @Test
  void otherStoresOpenMeanwhile() throws Exception {
    TestSeed seed = held(Step.BEGINS);
    for (int i = 0; i < 20; i++) {
      Store unused = openWithSeed("large" + i, seed);
    }
    begin(OldValues.SECRET, seed(COUNT, 1000));
    assertThat(found(0, COUNT)).isEqualTo(COUNT);
    mayGoOn.countDown();
  }

  /** A sign-out from a session that is not found invalidates nothing. */
  @Test
  void aSecretThatIsNotFoundJustBeforeItsFileIsInUseStaysMissing() throws Exception {
    CountDownLatch moved = new CountDownLatch(1);
    openFolder(
        new TestDisk()
            .before(
                Call.COMPLETE,
                file -> {
                  moved.countDown();
                  awaitUninterruptibly(mayGoOn);
                }));
    TestSeed seed = seed(COUNT, 1000);
    seed.fail();
    beginAndWait(OldValues.SECRET, seed);
    seed.hook = step -> {};
    Thread healing = Thread.ofPlatform().start(store.current::heal);
    moved.await();
    assertThat(seed.isMoved).isTrue();
    boolean isFound = store.read(key(1)) != null;
    mayGoOn.countDown();
    healing.join();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(isFound).isFalse();
    assertThat(store.read(key(1))).isNull();
    assertThat(found(2, COUNT)).isEqualTo(COUNT - 2);
  }

  private Store openWithSeed(String name, Seed seed) throws Exception {
    return directory.openStore(settings(name, LIMIT), Optional.of(seed), report -> {});
  }

  /** More stores than are closed in parallel wait for their turn. */
  @Test
  void aStopWaitsForNoImport() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    TestSeed endless = new TestSeed(Integer.MAX_VALUE, i -> value(i, 10));
    endless.hook = step -> begun.countDown();
    for (int i = 0; i < 40; i++) {
      Store unused = openWithSeed("other" + i, i == 0 ? endless : seed(COUNT, 10));
    }
    begun.await();
    open();
    beginAndWait(OldValues.MUTABLE, seed(COUNT, 10));
    assertThat(found(0, COUNT)).isEqualTo(COUNT);
  }

  /** As when a plugin is loaded anew, with another limit or not at all. */
  @Test
  void whatIsClosedOrReplacedWaitsForNoOtherImport() throws Exception {
    Store unused = openWithSeed("other", held(Step.BEGINS));
    TestSeed seed = seed(COUNT, 10);
    directory.closeStore(openWithSeed("cache", seed));
    assertThat(seed.isMoved).isFalse();
    Store replaced = openWithSeed("cache", seed);
    store = directory.openStore(settings("cache", 2 * LIMIT), Optional.of(seed), report -> {});
    assertThat(replaced.stats().state()).isEqualTo(StoreState.FAILED);
    mayGoOn.countDown();
    store.awaitOpened();
    assertThat(found(0, COUNT)).isEqualTo(COUNT);
  }

  /** Its folder could not be opened before, and can be now. */
  @Test
  void whoOpensAStoreWaitsForNoImport() throws Exception {
    directory.close();
    AtomicBoolean isUsable = new AtomicBoolean();
    directory =
        StoreDirectory.unopened(
            folder(),
            folder -> {
              if (!isUsable.get()) {
                throw new IOException("on purpose");
              }
            },
            () -> false);
    assertThrows(
        StoreUnavailableException.class,
        () -> directory.openWhenFree(Duration.ZERO, waiting -> {}));
    isUsable.set(true);
    directory.lastTry = 0;
    begin(OldValues.MUTABLE, held(Step.BEGINS));
    mayGoOn.countDown();
    store.awaitOpened();
    assertThat(found(0, COUNT)).isEqualTo(COUNT);
  }

  /** Moved aside, it is not found by the next attempt. */
  @Test
  void theLogNamesWhatWasMovedAsideButNotImported() throws Exception {
    AtomicBoolean isFull = new AtomicBoolean(true);
    openFolder(new TestDisk().failing(Call.COMPLETE, isFull::get, "No space left on device"));
    List<String> said =
        TestStores.logged(FaultLog.class, () -> beginAndWait(OldValues.MUTABLE, seed(COUNT, 10)));
    assertThat(said.toString()).contains("taken-over");
    isFull.set(false);
    store.current.heal();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }

  /** Who waits for a secret waits for the end of another process, too. */
  @Test
  void secretsThatAreInUseElsewhereAreReadWhileTheirUsersWait() throws Exception {
    TestSeed seed = seed(COUNT, 10);
    seed.inUse = 2;
    begin(OldValues.SECRET, seed);
    assertThat(found(0, COUNT)).isEqualTo(COUNT);
  }
}
