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

import com.google.common.base.Splitter;
import com.google.common.base.Throwables;
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
import java.util.Queue;
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
import org.apache.log4j.Appender;
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
  private static final Logger LOGGER = Logger.getLogger(FaultWalkTest.class.getPackageName());

  private static final long KB = 1 << 10;

  /** Waits until nothing is under way in the background. */
  private static final String REST = "flush, verify";

  /** A busy machine is slow; only what never ends takes longer. */
  private static final long HANGS_SECONDS = 60;

  @TempDir Path temp;

  private final ExecutorService runner = Executors.newCachedThreadPool();
  private final Appender listener = TestStores.listener(this::hear);

  /** What the stores say in the log. */
  private final Queue<String> said = new ConcurrentLinkedQueue<>();

  private int runs;

  @BeforeEach
  void listen() {
    LOGGER.addAppender(listener);
    // Thousands of them, and each is looked at.
    LOGGER.setAdditivity(false);
  }

  @AfterEach
  void stop() {
    LOGGER.removeAppender(listener);
    LOGGER.setAdditivity(true);
    runner.shutdownNow();
  }

  private void hear(LoggingEvent event) {
    String message = event.getRenderedMessage();
    // What is damaged on purpose is told of as well.
    if (event.getLevel().isGreaterOrEqual(Level.WARN)
        && !message.contains("a damaged entry was found")
        && !message.contains("verify found")) {
      said.add(message);
    }
  }

  // ---- what is done

  /** A file of so many KB, what is done before the disk begins to fail, and what while it does. */
  private enum Scenario {
    OPEN_NEW(512, "", "open, put 1 100"),
    PUT(512, "", "open, put 1 100, put 2 9000, flush, put 3 0, load 4 500, read"),
    CHANGE(
        512,
        "open, fill 0 12 700, put 12 9000, put 13 9000, close",
        "open, put 0 700, put 1 1500, remove 2, put 12 8000, remove 13, read, flush, read, remove 0,"
            + " put 2 10"),
    CLEAR(512, "open, fill 0 10 700, close", "open, put 3 700, clear, read, put 4 700"),
    GROW(
        64,
        "open, close",
        "limit 256, open, fill 0 30 1200, put 100 9000, remove 0, fill 30 60 1200, remove 1,"
            + " put 2 300, flush, remove 100, remove 3, fill 60 110 1200, put 4 300, flush"),
    EVICT(
        64,
        "",
        "open, fill 0 40 1500, put 100 9000, flush, remove 7, fill 20 60 1500, flush,"
            + " put 100 8000"),
    RECOVER(
        512,
        "open, fill 0 15 1000, put 20 9000, flush, remove 3, kill",
        "open, remove 0, put 1 1100, remove 20"),
    SHRINK(
        512,
        "open, fill 0 80 1200, put 100 9000, close",
        "limit 128, open, remove 79, put 78 1000"),
    REPAIR(
        512,
        "open, fill 0 12 700, put 20 9000, close",
        "open, damage 7, repair, remove 5, put 6 100"),
    EXPIRE(
        512,
        "age 3600, open, fill 0 10 700, put 20 9000, later 1800, fill 10 15 700, close",
        "later 2000, open, get 0, sweep, remove 11, later 3600, sweep"),
    RESTART(
        512,
        "",
        "open, fill 0 8 700, put 20 9000, remove 1, close, open, read, remove 2, put 3 800, close,"
            + " open"),
    SEED(512, "", "hold, open, read, remove 1, put 2 300, close, open, read");

    final int limit;
    final String before;
    final String steps;

    Scenario(int limit, String before, String steps) {
      this.limit = limit;
      this.before = before;
      this.steps = steps;
    }
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
      this.limit = scenario.limit * KB;
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

    private void open() throws Exception {
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

    /** Does what the words say, one step after the other. */
    void run(String words) throws Exception {
      for (String step : Splitter.on(", ").omitEmptyStrings().split(words)) {
        List<String> parts = Splitter.on(' ').splitToList(step);
        int[] numbers = parts.stream().skip(1).mapToInt(Integer::parseInt).toArray();
        run(parts.get(0), numbers);
      }
    }

    private void run(String step, int... numbers) throws Exception {
      switch (step) {
        case "limit" -> limit = numbers[0] * KB;
        case "age" -> maxAge = Optional.of(Duration.ofSeconds(numbers[0]));
        case "later" -> clock.addAndGet(numbers[0] * 1000L);
        case "hold" -> hold();
        case "open" -> open();
        case "close" -> close();
        case "kill" -> kill();
        default -> {
          // Where the folder cannot be opened, all is in memory only.
          if (store != null) {
            use(step, numbers);
          }
        }
      }
    }

    private void use(String step, int... numbers) throws Exception {
      switch (step) {
        case "put" -> put(numbers[0], numbers[1]);
        case "load" -> load(numbers[0], numbers[1]);
        case "fill" -> {
          for (int i = numbers[0]; i < numbers[1]; i++) {
            put(i, numbers[2]);
          }
        }
        case "load-all" -> {
          for (int i = numbers[0]; i < numbers[1]; i++) {
            load(i, numbers[2]);
          }
        }
        case "remove" -> {
          store.remove(key(numbers[0]));
          newest.remove(numbers[0]);
          read(numbers[0]);
        }
        case "clear" -> {
          store.clear();
          newest.clear();
        }
        case "get" -> read(numbers[0]);
        case "read" -> {
          for (int i = 0; i < 110; i++) {
            read(i);
          }
        }
        case "flush" -> store.flush();
        case "damage" -> damage(numbers[0]);
        case "verify", "repair" -> {
          VerifyReport unused = store.verify(step.equals("repair"), Progress.NONE);
        }
        case "sweep" -> TestStores.sweep(store);
        case "minute" -> store.everyMinute();
        case "settle" -> TestStores.awaitSettled(directory);
        default -> throw new IllegalArgumentException(step);
      }
    }

    private static byte[] value(int number, int version, int length) {
      return random(length, number * 1000L + version);
    }

    private void put(int number, int length) {
      byte[] value = value(number, ++puts, length);
      store.put(key(number), value, clock.get());
      newest.put(number, value);
      read(number);
    }

    private void load(int number, int length) {
      byte[] value = value(number, ++puts, length);
      store.putIfCurrent(key(number), value, clock.get(), store.ticket(key(number)));
      newest.put(number, value);
      read(number);
    }

    /** Holds values elsewhere, with which the store is to begin. */
    private void hold() {
      TestSeed held = new TestSeed(12, i -> value(i, -1, 400));
      held.created = clock.get();
      for (int i = 0; i < 12; i++) {
        newest.put(i, value(i, -1, 400));
      }
      seed = Optional.of(held);
    }

    private void read(int number) {
      Value found = store.read(key(number));
      byte[] expected = newest.get(number);
      if (found != null && !Arrays.equals(expected, found.bytes())) {
        throw new AssertionError(
            "key " + number + " has " + (expected == null ? "a removed" : "another") + " value");
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

    /** Changes a bit of a value where it stands in the file. */
    private void damage(int number) throws IOException {
      if (filesIn(folder).stream().anyMatch(f -> f.toString().endsWith(".chm"))) {
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
    private void kill() throws Exception {
      Path copy = folder.resolveSibling("killed");
      TestStores.copy(folder, copy);
      close();
      delete(folder);
      Files.move(copy, folder);
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
    before.run(scenario.before);
    before.close();
    FaultyDisk sound = new FaultyDisk(Fault.NONE, 0);
    run(scenario, before, sound, "no fault");
    assertThat(said).isEmpty();
    int calls = sound.calls();
    int touches = sound.touches();
    int kind = 0;
    for (Fault fault : Fault.OF_CALLS) {
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
  private enum Kept {
    OPEN("open, read"),
    OPEN_AFTER_KILL("open, read"),
    SESSIONS("open, read, minute"),
    FLUSH("open, load-all 200 210 300, flush, minute, settle, flush"),
    GROW("limit 256, open, load-all 200 225 900, flush");

    final String steps;

    Kept(String steps) {
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
    before.run("open, fill 0 20 1000, flush");
    before.run(kept == Kept.OPEN_AFTER_KILL ? "kill" : "close");
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
    said.clear();
    TestStores.copy(before.folder, folder);
    Script script = new Script(Scenario.GROW, folder, disk, before);
    long evicted = 0;
    try {
      script.run(kept.steps);
      if (script.store != null && script.store.stats().state() == StoreState.FAILED) {
        assertThat(script.store.stats().start().detail()).contains(" now: ");
        script.store.current.heal();
        if (!disk.goesOn()) {
          script.findAll(before);
        }
      }
      script.run(REST);
      if (script.store != null) {
        // A file that gets no disk makes room.
        evicted = script.store.stats().counts().evicted.sum();
      }
    } catch (Throwable e) {
      throw new AssertionError(kept + ", " + what + log(), e);
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
      throw new AssertionError(kept + ", " + what + log(), e);
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
    said.clear();
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
          what + ": " + Throwables.getStackTraceAsString(e.getCause()) + log(), e.getCause());
    }
    delete(folder);
    delete(killed);
  }

  private String log() {
    return "the log has " + said;
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
      script.run("put 7 70, flush");
      assertThat(script.store.read(key(7))).isNotNull();
    }
    script.run("put 8 7000, remove 9, read");
    script.run(REST);
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
      script.run(scenario.steps);
      script.run("read");
      script.run(REST);
      script.run("read");
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
      assertWithMessage("the log tells of it").that(script.told || !said.isEmpty()).isTrue();
    }
    if (!disk.goesOn()) {
      assertWithMessage("the log").that(said.size()).isAtMost(1);
    }
    if (script.opened == 1) {
      assertThat(said).containsNoDuplicates();
    }
    if (said.stream().noneMatch(text -> text.contains("may come back"))) {
      // Touches are many; what a kill leaves is looked at after every other one.
      boolean alsoKilled = !disk.failsTouches() || runs % 2 == 0;
      for (Path folder : alsoKilled ? List.of(script.folder, killed) : List.of(script.folder)) {
        Script after = new Script(scenario, folder, new FaultyDisk(Fault.NONE, 0), script);
        after.run("open, read");
        assertThat(after.store.stats().state()).isEqualTo(StoreState.READY);
        after.run("put 5 50, flush, read, close");
      }
    }
  }
}
