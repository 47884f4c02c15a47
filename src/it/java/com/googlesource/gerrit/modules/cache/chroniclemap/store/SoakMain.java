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

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;

/**
 * Lets threads do all that can be done to some stores, and closes and opens these, until its time
 * is over or it is killed; run by {@link Soak}. Every answer is compared with a {@link SoakModel}.
 * Ends at once at the first wrong one, with what is known of it on standard output.
 */
final class SoakMain {
  /** Exit status after a wrong answer. */
  static final int WRONG = 3;

  private static final String NO_ROOM = " has no room for a value of ";
  private static final long HANG_SECONDS = 60;
  private static final int SAMPLE_MILLIS = 50;

  /** For one store that has to give another one its share of the disk. */
  private static final long REST_SECONDS = 20;

  private final Path folder;
  private final SoakModel model;
  private final Random random;
  private final CrashingDisk disk;

  /** Whether the machine has stopped since the stores were last used, as far as they can tell. */
  private final boolean crashed;

  /**
   * How often a process was killed since all was last checked: each may leave a half written
   * record.
   */
  private int halfWritten;

  private SoakPlan plan;
  private StoreDirectory directory;
  private List<Store> stores = List.of();

  /** Evictions and the like that are in the model already, for each store. */
  private List<StoreStats> counted = new ArrayList<>();

  /** What was on disk when they were closed; empty if that can't be compared. */
  private List<Long> entriesAtClose = List.of();

  private SoakPlan planAtClose;

  private boolean closedBefore;

  private SoakMain(
      Path folder,
      SoakModel model,
      Random random,
      SoakPlan plan,
      CrashingDisk disk,
      boolean crashed,
      int halfWritten) {
    this.folder = folder;
    this.model = model;
    this.random = random;
    this.plan = plan;
    this.disk = disk;
    this.crashed = crashed;
    this.halfWritten = halfWritten;
  }

  /**
   * Folder, file of the model, plan, seed, milliseconds, folder for what a crash of the machine may
   * leave, number of the boot, whether it is a new one, kills since all was last checked.
   */
  public static void main(String[] args) throws Exception {
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, cause) -> {
          cause.printStackTrace();
          fail("thread " + thread.getName() + " ended by " + cause);
        });
    Logger.getRootLogger().setLevel(Level.INFO);
    boolean crashed = Boolean.parseBoolean(args[7]);
    SoakPlan plan = SoakPlan.parse(args[2]);
    Logger.getRootLogger().addAppender(TestStores.listener(event -> checkLogged(event, crashed)));
    SoakMain main =
        new SoakMain(
            Path.of(args[0]),
            SoakModel.open(Path.of(args[1])),
            new Random(Long.parseLong(args[3])),
            plan,
            new CrashingDisk(Path.of(args[0]), Path.of(args[5]), "boot " + args[6]),
            crashed,
            Integer.parseInt(args[8]));
    System.out.println("opening");
    main.run(Long.parseLong(args[4]));
  }

  /** A store that logs a warning has met with something that must not be here. */
  private static void checkLogged(LoggingEvent event, boolean crashed) {
    String message = event.getRenderedMessage();
    // Of a value in several parts a crash of the machine may leave some.
    boolean allowed =
        message.contains(NO_ROOM) || (crashed && message.contains("a damaged entry was found"));
    if (event.getLevel().isGreaterOrEqual(Level.WARN) && !allowed) {
      if (event.getThrowableInformation() != null) {
        event.getThrowableInformation().getThrowable().printStackTrace();
      }
      fail("logged: " + message);
    }
  }

  /** The first caller tells, and ends the process. */
  static synchronized void fail(String what) {
    System.out.println("WRONG: " + what);
    System.out.flush();
    Runtime.getRuntime().halt(WRONG);
  }

  private void run(long millis) throws Exception {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    open();
    while (System.nanoTime() < end) {
      // Threads that begin while the stores are being opened, at times.
      if (random.nextInt(3) > 0) {
        checkOpened();
      }
      do {
        change(Math.min(200 + random.nextInt(1500), millisUntil(end)));
        checkOpened();
        checkAtRest();
      } while (System.nanoTime() < end && random.nextInt(3) > 0);
      if (System.nanoTime() < end) {
        close();
        halfWritten = 0; // all was put in order by the check at rest
        plan = plan.next(random);
        open();
        model.add(SoakModel.Count.RESTARTS, 1);
      }
    }
    checkOpened();
    checkAtRest();
    close();
  }

  private static long millisUntil(long end) {
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()));
  }

  // ---- opening and closing

  private void open() throws Exception {
    closedBefore = model.wasClosed();
    model.opening();
    directory = StoreDirectory.open(folder, disk, System::currentTimeMillis);
    stores = new ArrayList<>();
    counted = new ArrayList<>();
    for (int i = 0; i < plan.stores(); i++) {
      stores.add(directory.openStore(plan.settings(i)));
      counted.add(null);
    }
  }

  private void close() {
    entriesAtClose =
        stores.stream().map(store -> store.stats()).map(stats -> stats.entries()).toList();
    planAtClose = plan;
    directory.close();
    model.closed();
  }

  /** Once for each opening: how the files were found, and all that is in them. */
  private void checkOpened() throws Exception {
    if (counted.get(0) != null) {
      return;
    }
    boolean used = model.count(SoakModel.Count.CHECKED) > 0;
    for (int i = 0; i < stores.size(); i++) {
      stores.get(i).awaitOpened();
      StoreStats stats = stores.get(i).stats();
      checkStart(i, stats.start(), used);
      counted.set(i, stats);
    }
    model.opened();
    checkDisk();
    for (int i = 0; i < stores.size(); i++) {
      checkAll(i);
    }
    model.add(SoakModel.Count.CHECKED, 1);
    entriesAtClose = List.of();
  }

  private void checkStart(int store, StartReport start, boolean used) {
    boolean allowed =
        switch (start.kind()) {
          case PENDING, NONE -> false;
          // Killed in the middle of a replacement, it has no file.
          case NEW -> !used || !closedBefore || crashed;
          case CLEAN, SHRUNK -> true;
          case RECOVERED -> !closedBefore || crashed;
          // A crash is simulated by files that are written anew.
          case COPY -> crashed;
          case REPLACED ->
              crashed || (!closedBefore && start.detail().contains("just before a crash"));
        };
    if (!allowed) {
      fail("store " + store + " closed before=" + closedBefore + " was found so: " + start);
    }
    if (start.kind() == StartReport.Kind.CLEAN
        && !entriesAtClose.isEmpty()
        && !isCountAtClose(store, start.entries())) {
      fail("store " + store + " had " + entriesAtClose.get(store) + " entries, now: " + start);
    }
    switch (start.kind()) {
      case RECOVERED, COPY -> {
        model.add(SoakModel.Count.KEPT, crashed ? 1 : 0);
        model.add(SoakModel.Count.RECOVERIES, 1);
        model.add(SoakModel.Count.RECOVERED, start.entries());
      }
      case REPLACED -> model.add(SoakModel.Count.REPLACED, 1);
      case SHRUNK -> model.add(SoakModel.Count.SHRUNK, 1);
      default -> {}
    }
  }

  /** Values that a reader found too old may still leave after they were counted. */
  private boolean isCountAtClose(int store, long entries) {
    long atClose = entriesAtClose.get(store);
    return planAtClose.ages().get(store) == 0 ? entries == atClose : entries <= atClose;
  }

  /** Nobody else uses the store: what is not there now is gone, and so are all other versions. */
  private void checkAll(int store) {
    SoakThread reader = new SoakThread(model, stores, plan, 0, crashed, random.nextLong());
    for (int key = 0; key < plan.keys(); key++) {
      int version = reader.read(store, key);
      // What is too old is not gone: the next start may allow it a longer life. And what left a
      // store may be there again after a crash of the machine, if nothing was ever removed from it.
      if (!plan.isLoadedOnly(store) && (version != 0 || plan.ages().get(store) == 0)) {
        model.seen(store, key, version);
      }
    }
  }

  // ---- changing

  private void change(long millis) throws InterruptedException {
    // Phases differ by a hundredfold.
    int longest = new int[] {200, 4000, 20_000, 400_000, 2 << 20}[random.nextInt(5)];
    List<SoakThread> threads = new ArrayList<>();
    for (int i = 0; i < SoakModel.THREADS; i++) {
      SoakThread thread = new SoakThread(model, stores, plan, i, crashed, random.nextLong());
      thread.longest = longest;
      thread.begin();
      threads.add(thread);
    }
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (System.nanoTime() < end) {
      Thread.sleep(Math.min(SAMPLE_MILLIS, millisUntil(end)));
      count();
    }
    for (SoakThread thread : threads) {
      if (!thread.end(HANG_SECONDS)) {
        fail(
            "a thread hangs: "
                + thread
                + "\n"
                + String.join(
                    "\n",
                    Thread.getAllStackTraces().entrySet().stream()
                        .map(SoakMain::describe)
                        .toList()));
      }
    }
    count();
  }

  private static String describe(Map.Entry<Thread, StackTraceElement[]> stack) {
    StringBuilder out = new StringBuilder("  " + stack.getKey());
    for (StackTraceElement element : stack.getValue()) {
      out.append("\n    ").append(element);
    }
    return out.toString();
  }

  private void count() {
    for (int i = 0; i < stores.size(); i++) {
      StoreStats before = counted.get(i);
      StoreStats now = stores.get(i).stats();
      if (before != null) {
        model.add(
            SoakModel.Count.EVICTIONS, now.counts().evicted.sum() - before.counts().evicted.sum());
        model.add(
            SoakModel.Count.EXPIRED, now.counts().expired.sum() - before.counts().expired.sum());
        model.add(
            SoakModel.Count.NOT_STORED,
            now.counts().notStored.sum() - before.counts().notStored.sum());
        counted.set(i, now);
      }
    }
  }

  /** Whether a value may lack a part of it, as the machine has stopped and the file was kept. */
  static boolean mayBeDamaged(Store store, boolean crashed) {
    StartReport.Kind kind = store.stats().start().kind();
    return crashed && (kind == StartReport.Kind.RECOVERED || kind == StartReport.Kind.COPY);
  }

  private void checkAtRest() throws Exception {
    for (int i = 0; i < stores.size(); i++) {
      Store store = stores.get(i);
      store.flush();
      // One that is replaced is not checked to its end.
      VerifyReport report = store.verify(/* repair= */ false, Progress.NONE);
      for (int j = 0; j < 20 && !report.complete(); j++) {
        report = store.verify(/* repair= */ false, Progress.NONE);
      }
      StoreStats stats = store.stats();
      if (!report.complete()
          || stats.state() != StoreState.READY
          || (!mayBeDamaged(store, crashed) && report.damaged() > 0)
          // After a crash of the machine both are to be expected.
          || (!crashed
              && (stats.counts().damaged.sum() > halfWritten || stats.counts().faults.sum() > 0))
          || stats.queued() > 0) {
        fail("store " + i + " at rest: " + report + " " + stats);
      }
    }
    checkDisk();
    for (int i = 0; i < stores.size(); i++) {
      checkAll(i);
    }
  }

  /** Fails if the files are not within their bounds after a while. */
  private void checkDisk() throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(REST_SECONDS);
    for (String wrong = wrongOnDisk(); !wrong.isEmpty(); wrong = wrongOnDisk()) {
      if (System.nanoTime() - deadline > 0) {
        fail("on disk at rest: " + wrong + " " + stores.stream().map(Store::stats).toList());
      }
      Thread.sleep(SAMPLE_MILLIS);
    }
  }

  /** What is wrong; empty if nothing is. */
  private String wrongOnDisk() throws Exception {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < plan.stores(); i++) {
      String prefix = "soak" + i + "-v";
      List<Path> files =
          TestStores.filesIn(folder).stream()
              .filter(file -> file.getFileName().toString().startsWith(prefix))
              .toList();
      long bytes = 0;
      for (Path file : files) {
        bytes += TestStores.blocks(file);
      }
      if (bytes > plan.limits().get(i)
          || files.stream().filter(file -> file.toString().endsWith(".chm")).count() > 1) {
        out.append(String.format(Locale.ROOT, "store %d takes %d bytes in %s; ", i, bytes, files));
      }
    }
    return out.toString();
  }
}
