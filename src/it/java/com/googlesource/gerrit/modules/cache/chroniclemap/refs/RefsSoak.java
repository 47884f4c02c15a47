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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.Splitter;
import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.SoakRun;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.eclipse.jgit.internal.storage.file.RefDirectory;

/**
 * Has processes change and read refs at random, kills a third of them, and has each answer of the
 * parsed lists compared with JGit's and native git's; see {@code bin/soak --help}.
 */
public final class RefsSoak extends SoakRun {
  private static final int MIN_ROUND_MILLIS = 2000;
  private static final int MAX_ROUND_MILLIS = 10_000;

  private static final String[] FIGURES = {
    "writes", "packs", "reads", "refs read", "comparisons", "parses", "lists from disk", "starts"
  };

  private final long[] figures = new long[FIGURES.length];
  private int rounds;
  private int kills;

  /** Prepares a run; see {@link SoakRun}. */
  public RefsSoak(long seed, Path folder, PrintStream out) {
    super(seed, folder, out);
  }

  /** Folder, seconds, seed. */
  public static void main(String[] args) throws Exception {
    main(args, RefsSoak::new);
  }

  @Override
  public void run(long nanos) throws IOException, InterruptedException, WrongException {
    beginFolder();
    Child.makeRepositories(folder);
    out.printf(Locale.ROOT, "refs, seed %d%n", seed);
    long begun = System.nanoTime();
    while (System.nanoTime() - begun < nanos) {
      long left = TimeUnit.NANOSECONDS.toMillis(nanos - (System.nanoTime() - begun));
      int millis = MIN_ROUND_MILLIS + random.nextInt(MAX_ROUND_MILLIS - MIN_ROUND_MILLIS);
      // The last one is not killed, so that what the one before left is checked.
      round((int) Math.min(millis, left), left > millis && random.nextInt(3) == 0);
      out.printf(
          Locale.ROOT,
          "%d s: %d rounds, %d kills, %,d writes, %,d reads, %,d comparisons, no wrong answer%n",
          TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun),
          rounds,
          kills,
          figures[0],
          figures[2],
          figures[4]);
    }
    deleteFolder();
    out.printf(
        Locale.ROOT, "%nrounds            %,d, of which %,d ended by a SIGKILL%n", rounds, kills);
    for (int i = 0; i < FIGURES.length; i++) {
      out.printf(Locale.ROOT, "%-17s %,d%n", FIGURES[i], figures[i]);
    }
    out.println("no wrong answer");
  }

  /** How often all ways to ask were compared. */
  long comparisons() {
    return figures[4];
  }

  /** How often refs were packed. */
  long packs() {
    return figures[1];
  }

  private void round(int millis, boolean kill)
      throws IOException, InterruptedException, WrongException {
    rounds++;
    try (ChildJvm child = ChildJvm.start(folder, Child.class, folder, random.nextLong(), millis)) {
      String ready = child.readLine();
      OptionalInt status = child.awaitEnd(kill ? random.nextInt(millis) : millis + SPARE_MILLIS);
      if (status.isEmpty()) {
        // Or else a git that was packing refs would put its list in place in the next round, after
        // the lock that it holds was deleted.
        child.killAndAwaitChildren();
      }
      StringBuilder said = new StringBuilder();
      for (String line = child.readLine(); line != null; line = child.readLine()) {
        if (!count(line)) {
          said.append(line).append('\n');
        }
      }
      String errors = child.errors();
      if (status.isEmpty() && kill) {
        kills++;
        Child.deleteLocks(folder);
      } else if (status.isEmpty()) {
        throw wrong("a process did not end in time", said, errors);
      } else if (status.getAsInt() != 0 || !"ready".equals(ready)) {
        throw wrong("a process ended with " + status.getAsInt(), said, errors);
      }
      if (said.indexOf("WRONG") >= 0) {
        throw wrong("a wrong answer", said, errors);
      }
      if (child.saidError()) {
        throw wrong("errors on standard error", said, errors);
      }
    }
  }

  /** Adds a line of figures; false if it is not one. */
  private boolean count(String line) {
    List<String> words = Splitter.on(' ').splitToList(line);
    if (words.size() != FIGURES.length || !line.matches("[0-9 ]+")) {
      return false;
    }
    for (int i = 0; i < FIGURES.length; i++) {
      figures[i] += Long.parseLong(words.get(i));
    }
    return true;
  }

  private WrongException wrong(String what, CharSequence said, String errors) {
    return new WrongException(
        String.format(
            Locale.ROOT,
            "WRONG: %s%nround %d%n%s%nstandard error:%n%s",
            what,
            rounds,
            said,
            errors));
  }

  /**
   * One process of this run: threads change and read refs of some repositories, then all stop, and
   * every way to ask is compared with JGit and native git; and again, with another start of the
   * lists now and then.
   */
  static final class Child {
    /** Repositories that threads share, by {@code core.trustStat}, and one with reftables. */
    private static final List<String> SHARED =
        List.of("always", "after_open", "never", RefsModel.REFTABLE);

    private static final String LOG = "log";
    private static final int READERS = 3;
    private static final int MIN_BUSY_MILLIS = 100;
    private static final int MAX_BUSY_MILLIS = 2000;

    /** Above, refs are packed in the background. */
    private static final int FEW_LOOSE = 20;

    private static final long[] MEMORY_LIMITS = {1 << 20, 2 << 20, 256 << 20};
    private static final long[] DISK_LIMITS = {0, 256 << 10, 16 << 20, 16 << 20};

    private final Path folder;
    private final Random random;
    private final List<TestRefs> repositories = new ArrayList<>();
    private final LongAdder writes = new LongAdder();
    private final LongAdder packs = new LongAdder();
    private final LongAdder reads = new LongAdder();
    private final LongAdder refsRead = new LongAdder();
    private long comparisons;
    private final RefsModel model;

    /** What was begun, acknowledged and packed, which outlives a kill. */
    private final OutputStream log;

    private Child(Path folder, long seed) throws IOException {
      this.folder = folder;
      model = new RefsModel(folder, SHARED);
      Path file = folder.resolve(LOG);
      if (Files.exists(file)) {
        Files.readAllLines(file, UTF_8).forEach(model::heed);
        // So that the last process has not to read what all have said.
        Files.copy(file, folder.resolve("log-before"), StandardCopyOption.REPLACE_EXISTING);
      }
      Path next = Files.writeString(folder.resolve("next"), model.acknowledged() + "\n");
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
      log = Files.newOutputStream(file, StandardOpenOption.APPEND);
      this.random = new Random(seed);
    }

    /** Makes the repositories that the processes use, one after the other. */
    static void makeRepositories(Path folder) throws IOException {
      RefsModel unused = RefsModel.make(folder, SHARED);
    }

    /** Folder, seed, milliseconds. */
    public static void main(String[] args) throws Exception {
      Child main = new Child(Path.of(args[0]), Long.parseLong(args[1]));
      // JGit logs as an error that git has deleted an empty folder in which it was to lock a ref,
      // or
      // of which it wanted to know the attributes; who writes tries again.
      Logger.getLogger("org.eclipse.jgit").setLevel(Level.OFF);
      System.out.println("ready");
      try {
        main.run(TimeUnit.MILLISECONDS.toNanos(Long.parseLong(args[2])));
      } catch (Exception | AssertionError e) {
        Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
        // Long, and nobody reads the other one until the end.
        System.err.println(Throwables.getStackTraceAsString(cause));
        List<String> said = Files.readAllLines(Path.of(args[0], LOG), UTF_8);
        said.subList(Math.max(0, said.size() - 400), said.size()).forEach(System.out::println);
        System.out.println("WRONG, see below");
        System.out.flush();
        Runtime.getRuntime().halt(1);
      }
    }

    private void run(long nanos) throws Exception {
      long begun = System.nanoTime();
      for (String name : SHARED) {
        repositories.add(model.open(name));
      }
      do {
        long memory = MEMORY_LIMITS[random.nextInt(MEMORY_LIMITS.length)];
        long disk = DISK_LIMITS[random.nextInt(DISK_LIMITS.length)];
        UpdateSettings updates =
            new UpdateSettings(
                UpdateSettings.By.OWN,
                random.nextBoolean() ? 1000 : 0,
                random.nextBoolean() ? FEW_LOOSE : UpdateSettings.DEFAULT.maxLoose());
        try (PackedRefsCache cache =
            new PackedRefsCache(
                new RefsSettings(memory, disk, Optional.of(folder.resolve("stores"))), updates)) {
          cache.start();
          openAll(cache);
          for (int i = random.nextInt(4); i >= 0; i--) {
            phase(cache, "memoryLimit " + memory + ", diskLimit " + disk + ", " + updates);
          }
          RefsTotals totals = cache.totals();
          assertThat(totals.failures()).isEqualTo(0);
          assertThat(totals.tableLookups()).isGreaterThan(0);
          assertThat(totals.memoryOnlyReason().isPresent()).isEqualTo(disk == 0);
          report(totals);
        }
      } while (System.nanoTime() - begun < nanos);
      repositories.forEach(TestRefs::close);
    }

    /**
     * What a killed process has left is done when a repository is opened, and nothing stays of it.
     */
    private void openAll(PackedRefsCache cache) throws IOException {
      for (TestRefs each : repositories) {
        if (each.repository().getRefDatabase() instanceof RefDirectory jgit) {
          FileRefDatabase unused = cache.of(each.repository(), jgit);
        }
      }
      for (String name : SHARED) {
        assertWithMessage("what recovery has left").that(model.left(name)).isEmpty();
      }
    }

    private void phase(PackedRefsCache cache, String settings) throws Exception {
      List<SharedRefs> shared = new ArrayList<>();
      for (int i = 0; i < SHARED.size(); i++) {
        shared.add(new SharedRefs(repositories.get(i), cache, model, RefSet.of(i), this::say));
      }
      busy(shared);
      for (int i = 0; i < shared.size(); i++) {
        shared.get(i).compare(SHARED.get(i) + ", " + settings);
        comparisons++;
      }
    }

    private synchronized void say(String what) {
      model.heed(what);
      try {
        // In one piece, so that what is said next is a line of its own in any case.
        log.write((System.currentTimeMillis() + " " + what + "\n").getBytes(UTF_8));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Threads do what they like for a while. */
    private void busy(List<SharedRefs> shared) throws Exception {
      List<Threads.Act> tasks = new ArrayList<>();
      for (SharedRefs refs : shared) {
        for (int i = 0; i < SharedRefs.WRITERS; i++) {
          SharedRefs.Writer writer = refs.new Writer(i, new Random(random.nextLong()));
          tasks.add(
              () -> {
                writer.step();
                writes.increment();
              });
        }
        Random packing = new Random(random.nextLong());
        tasks.add(() -> packs.add(refs.pack(packing) ? 1 : 0));
      }
      for (int i = 0; i < READERS; i++) {
        Random reading = new Random(random.nextLong());
        tasks.add(
            () -> {
              refsRead.add(shared.get(reading.nextInt(shared.size())).read(reading));
              reads.increment();
            });
      }
      int millis = MIN_BUSY_MILLIS + random.nextInt(MAX_BUSY_MILLIS - MIN_BUSY_MILLIS);
      // Not for anything to happen: this is how long the threads have.
      Threads.meanwhile(
          tasks.size(),
          number -> tasks.get(number).run(),
          () -> TimeUnit.MILLISECONDS.sleep(millis));
    }

    /** So that the figures of a process that is killed count too. */
    private void report(RefsTotals totals) {
      System.out.printf(
          Locale.ROOT,
          "%d %d %d %d %d %d %d 1%n",
          writes.sumThenReset(),
          packs.sumThenReset(),
          reads.sumThenReset(),
          refsRead.sumThenReset(),
          comparisons,
          totals.counts().parses.sum(),
          totals.loads());
      System.out.flush();
      comparisons = 0;
    }

    /**
     * Locks of JGit and git in a process that was killed stay: an administrator deletes them. The
     * module's own, which are links to the files of its transactions, are left to its recovery.
     */
    static void deleteLocks(Path folder) throws IOException {
      for (String name : SHARED) {
        Path repository = folder.resolve(name + ".git");
        Set<Object> own = new HashSet<>();
        for (Path file : transactionFiles(repository)) {
          own.add(Files.getAttribute(file, "unix:ino"));
        }
        for (Path lock : TestRefs.lockFiles(repository)) {
          if (!own.contains(Files.getAttribute(lock, "unix:ino"))) {
            Files.delete(lock);
          }
        }
      }
    }

    private static List<Path> transactionFiles(Path repository) throws IOException {
      Path transactions = repository.resolve("cache-chroniclemap");
      if (!Files.exists(transactions)) {
        return List.of();
      }
      try (Stream<Path> files = Files.list(transactions)) {
        return files.toList();
      }
    }
  }
}
