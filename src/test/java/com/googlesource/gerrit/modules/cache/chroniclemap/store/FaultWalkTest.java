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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.filesIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;

import com.google.common.base.Throwables;
import com.google.common.collect.Iterables;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.FaultyDisk.Fault;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.FaultyDisk.Trouble;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Does all that a store does, again and again, and each time another call to the disk fails. Each
 * answer must be the value last put or none, also after a kill and after a stop; nothing may be
 * thrown or hang; and the store must say what happened.
 *
 * <p>Of the calls after the first ones, each kind of fault meets a third, and each call is met by
 * two kinds at least. With {@code -Dfaults.step=1} each kind meets each call, which takes three
 * times as long.
 */
class FaultWalkTest {
  private static final int STEP = Integer.getInteger("faults.step", 3);
  private static final int FIRST_CALLS = 12;

  private static final long KB = 1 << 10;

  /** A busy machine is slow; only what never ends takes longer. */
  private static final long HANGS_SECONDS = 60;

  @TempDir Path temp;

  private final ExecutorService runner = Executors.newCachedThreadPool();
  private final Warnings warnings = new Warnings();
  private int runs;

  @BeforeEach
  void listen() {
    Warnings.LOGGER.addAppender(warnings);
    // Thousands of them, and each is looked at.
    Warnings.LOGGER.setAdditivity(false);
  }

  @AfterEach
  void stop() {
    Warnings.LOGGER.removeAppender(warnings);
    Warnings.LOGGER.setAdditivity(true);
    runner.shutdownNow();
  }

  /** What the stores say in the log. */
  private static final class Warnings extends AppenderSkeleton {
    static final Logger LOGGER = Logger.getLogger(FaultWalkTest.class.getPackageName());

    final ConcurrentLinkedQueue<String> said = new ConcurrentLinkedQueue<>();

    @Override
    protected void append(LoggingEvent event) {
      // What is damaged on purpose is told of as well.
      if (event.getLevel().isGreaterOrEqual(Level.WARN)
          && !event.getRenderedMessage().contains("a damaged entry was found")
          && !event.getRenderedMessage().contains("verify found")) {
        said.add(event.getRenderedMessage());
      }
    }

    @Override
    public void close() {}

    @Override
    public boolean requiresLayout() {
      return false;
    }
  }

  // ---- what is done

  @SuppressWarnings("ImmutableEnumChecker") // its steps hold nothing
  private enum Scenario {
    OPEN_NEW(
        512 * KB,
        script -> {},
        script -> {
          script.open();
          script.put(1, 100);
        }),
    PUT(
        512 * KB,
        script -> {},
        script -> {
          script.open();
          script.put(1, 100);
          script.put(2, 9000);
          script.flush();
          script.put(3, 0);
          script.load(4, 500);
          script.readAll();
        }),
    CHANGE(
        512 * KB,
        script -> {
          script.open();
          script.fill(0, 12, 700);
          script.put(12, 9000);
          script.put(13, 9000);
          script.close();
        },
        script -> {
          script.open();
          script.put(0, 700);
          script.put(1, 1500);
          script.remove(2);
          script.put(12, 8000);
          script.remove(13);
          script.readAll();
          script.flush();
          script.readAll();
          script.remove(0);
          script.put(2, 10);
        }),
    CLEAR(
        512 * KB,
        script -> {
          script.open();
          script.fill(0, 10, 700);
          script.close();
        },
        script -> {
          script.open();
          script.put(3, 700);
          script.clear();
          script.readAll();
          script.put(4, 700);
        }),
    GROW(
        64 * KB,
        script -> {
          script.open();
          script.close();
        },
        script -> {
          script.limit = 256 * KB;
          script.open();
          script.fill(0, 30, 1200);
          script.put(100, 9000);
          script.remove(0);
          script.fill(30, 60, 1200);
          script.remove(1);
          script.put(2, 300);
          script.flush();
          script.remove(100);
          script.remove(3);
          script.fill(60, 110, 1200);
          script.put(4, 300);
          script.flush();
        }),
    EVICT(
        64 * KB,
        script -> {},
        script -> {
          script.open();
          script.fill(0, 40, 1500);
          script.put(100, 9000);
          script.flush();
          script.remove(7);
          script.fill(20, 60, 1500);
          script.flush();
          script.put(100, 8000);
        }),
    RECOVER(
        512 * KB,
        script -> {
          script.open();
          script.fill(0, 15, 1000);
          script.put(20, 9000);
          script.flush();
          script.remove(3);
          script.kill();
        },
        script -> {
          script.open();
          script.remove(0);
          script.put(1, 1100);
          script.remove(20);
        }),
    SHRINK(
        512 * KB,
        script -> {
          script.open();
          script.fill(0, 80, 1200);
          script.put(100, 9000);
          script.close();
        },
        script -> {
          script.limit = 128 * KB;
          script.open();
          script.remove(79);
          script.put(78, 1000);
        }),
    REPAIR(
        512 * KB,
        script -> {
          script.open();
          script.fill(0, 12, 700);
          script.put(20, 9000);
          script.close();
        },
        script -> {
          script.open();
          script.damage(7);
          script.store(store -> store.verify(true, Progress.NONE));
          script.remove(5);
          script.put(6, 100);
        }),
    EXPIRE(
        512 * KB,
        script -> {
          script.maxAge = Optional.of(Duration.ofHours(1));
          script.open();
          script.fill(0, 10, 700);
          script.put(20, 9000);
          script.clock.addAndGet(1_800_000);
          script.fill(10, 15, 700);
          script.close();
        },
        script -> {
          script.clock.addAndGet(2_000_000);
          script.open();
          script.read(0);
          script.store(TestStores::sweep);
          script.remove(11);
          script.clock.addAndGet(3_600_000);
          script.store(TestStores::sweep);
        }),
    RESTART(
        512 * KB,
        script -> {},
        script -> {
          script.open();
          script.fill(0, 8, 700);
          script.put(20, 9000);
          script.remove(1);
          script.close();
          script.open();
          script.readAll();
          script.remove(2);
          script.put(3, 800);
          script.close();
          script.open();
        }),
    SEED(
        512 * KB,
        script -> {},
        script -> {
          script.hold();
          script.open();
          script.readAll();
          script.remove(1);
          script.put(2, 300);
          script.close();
          script.open();
          script.readAll();
        });

    final long limit;
    final Step before;
    final Step steps;

    Scenario(long limit, Step before, Step steps) {
      this.limit = limit;
      this.before = before;
      this.steps = steps;
    }
  }

  private interface Step {
    void run(Script script) throws Exception;
  }

  private interface StoreCall {
    void run(Store store) throws Exception;
  }

  /** Uses one store and knows what was last put. */
  private static final class Script {
    /** Ways to find a file that whoever opens a store tells of in the log. */
    private static final Set<StartReport.Kind> TOLD =
        EnumSet.of(
            StartReport.Kind.RECOVERED,
            StartReport.Kind.COPY,
            StartReport.Kind.SHRUNK,
            StartReport.Kind.REPLACED,
            StartReport.Kind.NONE);

    final AtomicLong clock;
    final Path folder;
    private final Disk disk;
    private final Map<Integer, byte[]> newest = new TreeMap<>();
    long limit;
    Optional<Duration> maxAge = Optional.empty();
    Optional<TestSeed> seed = Optional.empty();
    OldValues oldValues = OldValues.MUTABLE;

    private int puts;
    private StoreDirectory directory;
    private Store store;
    private boolean told;
    private int opened;
    private long faults;

    Script(Scenario scenario, Path folder, Disk disk) {
      this.folder = folder;
      this.disk = disk;
      this.limit = scenario.limit;
      this.clock = new AtomicLong(1_700_000_000_000L);
    }

    /** The same script, going on with other files. */
    Script(Scenario scenario, Path folder, Disk disk, Script before) {
      this(scenario, folder, disk);
      clock.set(before.clock.get());
      newest.putAll(before.newest);
      seed = before.seed.map(TestSeed::copy);
      oldValues = before.oldValues;
      puts = before.puts;
      limit = before.limit;
      maxAge = before.maxAge;
    }

    void open() throws Exception {
      opened++;
      try {
        directory = StoreDirectory.open(folder, disk, clock::get);
      } catch (StoreUnavailableException e) {
        // The caches are kept in memory only.
        assertThat(e).hasMessageThat().contains(folder.toString());
        told = true;
        faults++;
        return;
      }
      if (directory.exposed.isPresent()) {
        told = true;
        faults++;
      }
      store =
          directory.openStore(
              settings(), seed.filter(held -> !held.isMoved).map(held -> held), report -> {});
      store.awaitOpened();
      told |= TOLD.contains(store.stats().start().kind());
    }

    private StoreSettings settings() {
      return new StoreSettings("cache", 1, limit, maxAge, oldValues);
    }

    void store(StoreCall call) throws Exception {
      if (store != null) {
        call.run(store);
      }
    }

    private static byte[] value(int number, int version, int length) {
      return random(length, number * 1000L + version);
    }

    void put(int number, int length) {
      if (store != null) {
        byte[] value = value(number, ++puts, length);
        store.put(key(number), value, clock.get());
        newest.put(number, value);
        read(number);
      }
    }

    void load(int number, int length) {
      if (store != null) {
        byte[] value = value(number, ++puts, length);
        store.putIfCurrent(key(number), value, clock.get(), store.ticket(key(number)));
        newest.put(number, value);
        read(number);
      }
    }

    void fill(int from, int to, int length) {
      for (int i = from; i < to; i++) {
        put(i, length);
      }
    }

    void remove(int number) {
      if (store != null) {
        store.remove(key(number));
        newest.remove(number);
        read(number);
      }
    }

    void clear() {
      if (store != null) {
        store.clear();
        newest.clear();
      }
    }

    /** Holds values elsewhere, with which the store is to begin. */
    void hold() {
      TestSeed held = new TestSeed(12, i -> value(i, -1, 400));
      held.created = clock.get();
      for (int i = 0; i < 12; i++) {
        newest.put(i, value(i, -1, 400));
      }
      seed = Optional.of(held);
    }

    void flush() {
      if (store != null) {
        store.flush();
      }
    }

    void read(int number) {
      if (store == null) {
        return;
      }
      Value found = store.read(key(number));
      if (found != null) {
        byte[] expected = newest.get(number);
        if (expected == null || !Arrays.equals(expected, found.bytes())) {
          throw new AssertionError(
              "key " + number + " has " + (expected == null ? "a removed" : "another") + " value");
        }
      }
    }

    /** Finds all that another script has put. */
    void findAll(Script before) {
      before.newest.forEach(
          (number, value) -> {
            Value found = store.read(key(number));
            assertWithMessage("key %s: %s", number, store.stats()).that(found).isNotNull();
            assertThat(found.bytes()).isEqualTo(value);
          });
    }

    void readAll() {
      for (int i = 0; i < 110; i++) {
        read(i);
      }
    }

    /** Changes a bit of a value where it stands in the file. */
    void damage(int number) throws IOException {
      if (store != null && filesIn(folder).stream().anyMatch(f -> f.toString().endsWith(".chm"))) {
        boolean unused = TestStores.flip(folder, "cache", newest.get(number));
      }
    }

    void close() throws InterruptedException {
      if (directory != null) {
        // What fails after the store was closed is merely late, and counts nowhere.
        TestStores.awaitSettled(directory);
        directory.close();
        if (store != null) {
          faults += store.stats().counts().faults.sum();
        }
      }
      directory = null;
      store = null;
    }

    /** Leaves the files as a kill leaves them. */
    void kill() throws Exception {
      Path copy = folder.resolveSibling("killed");
      TestStores.copy(folder, copy);
      close();
      delete(folder);
      Files.move(copy, folder);
    }

    /** Waits until nothing is under way in the background. */
    void settle() throws Exception {
      if (store != null) {
        store.flush();
        VerifyReport unused = store.verify(false, Progress.NONE);
      }
    }
  }

  private static void delete(Path folder) throws IOException {
    if (Files.exists(folder)) {
      MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }

  // ---- the walk

  @ParameterizedTest
  @EnumSource
  void eachCallFails(Scenario scenario) throws Exception {
    Script before = new Script(scenario, temp.resolve("before"), Disk.REAL);
    Files.createDirectory(before.folder);
    scenario.before.run(before);
    before.close();
    FaultyDisk sound = new FaultyDisk(Fault.NONE, 0);
    run(scenario, before, sound, "no fault");
    assertThat(warnings.said).isEmpty();
    int calls = sound.calls();
    int touches = sound.touches();
    int kind = 0;
    for (Fault fault :
        List.of(
            Fault.ONCE,
            Fault.LATE,
            Fault.FULL,
            Fault.READ_ONLY,
            Fault.GONE,
            Fault.SHORT,
            Fault.CUT)) {
      kind++;
      for (int n = 1; n <= calls; n++) {
        if (sound.concerns(fault, n) && isMet(n, kind)) {
          run(scenario, before, fault, n);
        }
      }
    }
    for (int n = 1; n <= touches; n += step(n, touches)) {
      run(scenario, before, Fault.TOUCH, n);
    }
    for (int n = 1; n <= touches; n += 1 + touches / 10) {
      run(scenario, before, Fault.ALL_TOUCHES, n);
    }
  }

  private static boolean isMet(int call, int kind) {
    return call <= FIRST_CALLS || (call + kind) % STEP == 0;
  }

  /** Nothing that was there before is changed. */
  @SuppressWarnings("ImmutableEnumChecker") // its steps hold nothing
  private enum Kept {
    OPEN(
        script -> {
          script.open();
          script.readAll();
        }),
    OPEN_AFTER_KILL(
        script -> {
          script.open();
          script.readAll();
        }),
    SESSIONS(
        script -> {
          script.open();
          script.readAll();
          script.store(Store::everyMinute);
        }),
    FLUSH(
        script -> {
          script.open();
          for (int i = 200; i < 210; i++) {
            script.load(i, 300);
          }
          script.flush();
          script.store(Store::everyMinute);
          script.store(store -> TestStores.awaitSettled(script.directory));
          script.flush();
        }),
    GROW(
        script -> {
          script.limit = 256 * KB;
          script.open();
          for (int i = 200; i < 225; i++) {
            script.load(i, 900);
          }
          script.flush();
        });

    final Step steps;

    Kept(Step steps) {
      this.steps = steps;
    }
  }

  /** The process or what surrounds it fails, and not the file: that costs no value. */
  @ParameterizedTest
  @EnumSource
  void eachCallMeetsATrouble(Kept kept) throws Exception {
    Script before = new Script(Scenario.GROW, temp.resolve("before"), Disk.REAL);
    Files.createDirectory(before.folder);
    before.oldValues = kept == Kept.SESSIONS ? OldValues.SECRET : OldValues.PURE;
    before.open();
    before.fill(0, 20, 1000);
    before.flush();
    if (kept == Kept.OPEN_AFTER_KILL) {
      before.kill();
    } else {
      before.close();
    }
    FaultyDisk sound = new FaultyDisk(Fault.NONE, 0);
    meet(kept, before, sound, "no fault");
    for (int n = 1; n <= sound.calls(); n++) {
      int kind = 0;
      for (Trouble trouble : Trouble.values()) {
        if (isMet(n, kind++)) {
          meet(kept, before, new FaultyDisk(Fault.TROUBLE, n, trouble), trouble + " at " + n);
          meet(
              kept, before, new FaultyDisk(Fault.ALL_TROUBLES, n, trouble), trouble + " from " + n);
        }
      }
    }
  }

  private void meet(Kept kept, Script before, FaultyDisk disk, String what) throws Exception {
    Path folder = temp.resolve("stores " + runs++);
    warnings.said.clear();
    TestStores.copy(before.folder, folder);
    Script script = new Script(Scenario.GROW, folder, disk, before);
    long evicted = 0;
    try {
      kept.steps.run(script);
      if (script.store != null && script.store.stats().state() == StoreState.FAILED) {
        assertThat(script.store.stats().start().detail()).contains(" now: ");
        script.store.current.heal();
        if (!disk.goesOn()) {
          script.findAll(before);
        }
      }
      script.settle();
      if (script.store != null) {
        // A file that gets no disk makes room.
        evicted = script.store.stats().counts().evicted.sum();
      }
    } catch (Throwable e) {
      throw new AssertionError(kept + ", " + what + said(), e);
    } finally {
      script.close();
    }
    Script after = new Script(Scenario.GROW, folder, new FaultyDisk(Fault.NONE, 0), script);
    after.open();
    try {
      if (evicted == 0) {
        after.findAll(before);
      }
      assertThat(after.store.stats().start().kind())
          .isAnyOf(StartReport.Kind.CLEAN, StartReport.Kind.RECOVERED);
    } catch (AssertionError e) {
      throw new AssertionError(kept + ", " + what + said(), e);
    } finally {
      after.close();
    }
    delete(folder);
  }

  /** Each one up to 40, then about 25 more. */
  private static int step(int n, int last) {
    return n < 40 ? 1 : Math.max(1, (last - 40) / 25);
  }

  private void run(Scenario scenario, Script before, Fault fault, int n) throws Exception {
    run(scenario, before, new FaultyDisk(fault, n), scenario + ", " + fault + " at " + n);
  }

  private void run(Scenario scenario, Script before, FaultyDisk disk, String what)
      throws Exception {
    runs++;
    warnings.said.clear();
    Path folder = temp.resolve("stores " + runs);
    Path killed = temp.resolve("killed " + runs);
    TestStores.copy(before.folder, folder);
    Future<?> running =
        runner.submit(
            () -> {
              run(scenario, new Script(scenario, folder, disk, before), disk, killed);
              return null;
            });
    try {
      running.get(HANGS_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError(what + " hangs:\n" + stacks(), e);
    } catch (ExecutionException e) {
      throw new AssertionError(
          what + ": " + Throwables.getStackTraceAsString(e.getCause()) + said(), e.getCause());
    }
    delete(folder);
    delete(killed);
  }

  private String said() {
    return "the log has " + Iterables.toString(warnings.said);
  }

  /** A new file is made after a while, if the disk lets it. */
  private static void heal(Script script, FaultyDisk disk) throws Exception {
    script.store.current.heal();
    if (!disk.goesOn()) {
      while (script.store.stats().state() == StoreState.FAILED) {
        Thread.onSpinWait();
        script.store.current.heal();
      }
      assertThat(script.store.stats().state()).isEqualTo(StoreState.READY);
      script.put(7, 70);
      script.flush();
      assertThat(script.store.read(key(7))).isNotNull();
    }
    script.put(8, 7000);
    script.remove(9);
    script.readAll();
    script.settle();
  }

  private static String stacks() {
    StringBuilder out = new StringBuilder();
    Thread.getAllStackTraces()
        .forEach(
            (thread, stack) ->
                out.append(thread).append("\n  ").append(Arrays.toString(stack)).append('\n'));
    return out.toString();
  }

  private void run(Scenario scenario, Script script, FaultyDisk disk, Path killed)
      throws Exception {
    try {
      scenario.steps.run(script);
      script.readAll();
      script.settle();
      script.readAll();
      if (script.store != null) {
        StoreStats stats = script.store.stats();
        assertThat(stats.state()).isAnyOf(StoreState.READY, StoreState.FAILED);
        if (stats.state() == StoreState.FAILED) {
          assertThat(stats.start().detail()).isNotEmpty();
          assertThat(stats.counts().faults.sum()).isAtLeast(1);
          heal(script, disk);
        }
      }
      TestStores.copy(script.folder, killed);
    } finally {
      script.close();
    }
    if (disk.hits() > 0 && disk.failed()) {
      assertWithMessage("faults counted of %s", disk.firstFailure())
          .that(script.faults)
          .isAtLeast(1);
      assertWithMessage("the log tells of it")
          .that(script.told || !warnings.said.isEmpty())
          .isTrue();
    }
    if (!disk.goesOn()) {
      assertWithMessage("the log").that(warnings.said.size()).isAtMost(1);
    }
    if (script.opened == 1) {
      assertThat(warnings.said).containsNoDuplicates();
    }
    if (warnings.said.stream().noneMatch(text -> text.contains("may come back"))) {
      // Touches are many; what a kill leaves is looked at after every other one.
      boolean alsoKilled = !disk.failsTouches() || runs % 2 == 0;
      for (Path folder : alsoKilled ? List.of(script.folder, killed) : List.of(script.folder)) {
        Script after = new Script(scenario, folder, new FaultyDisk(Fault.NONE, 0), script);
        after.open();
        after.readAll();
        assertThat(after.store.stats().state()).isEqualTo(StoreState.READY);
        after.put(5, 50);
        after.flush();
        after.readAll();
        after.close();
      }
    }
  }
}
