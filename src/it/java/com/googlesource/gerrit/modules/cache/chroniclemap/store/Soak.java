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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Has processes do all that can be done to some stores, at random and beside each other, kills
 * about half of them, and has each answer compared with a {@link SoakModel}; see {@code bin/soak
 * --help}.
 */
public final class Soak extends SoakRun {
  /** Processes that use the same stores, one after the other. */
  private static final int ROUNDS_OF_STORES = 8;

  private static final int MIN_ROUND_MILLIS = 1000;
  private static final int MAX_ROUND_MILLIS = 8000;

  /** After so many events, most files have their disk. */
  private static final int MANY_EVENTS = 20_000;

  private static final int FEW_EVENTS = 1000;
  private static final int SHORT_MILLIS = 500;

  private final Map<SoakModel.Count, Long> sums = new EnumMap<>(SoakModel.Count.class);
  private int rounds;
  private int kills;
  private boolean killsSoon;

  /** How often the machine has stopped, as far as the stores can tell. */
  private int crashes;

  /** Opened anew for each folder of stores, like these. */
  private SoakModel model;

  private Path stores;
  private Path shadows;
  private Path modelFile;

  /** Whether the machine has stopped since the last round. */
  private boolean crashed;

  /** Since the last round that came to its end, where all is checked. */
  private int killsSinceCheck;

  /** Prepares a run; see {@link SoakRun}. */
  public Soak(long seed, Path folder, PrintStream out) {
    super(seed, folder, out);
  }

  /** Folder, seconds, seed. */
  public static void main(String[] args) throws Exception {
    main(args, Soak::new);
  }

  @Override
  public void run(long nanos) throws IOException, InterruptedException, WrongException {
    long begun = System.nanoTime();
    run(() -> TimeUnit.NANOSECONDS.toMillis(nanos - (System.nanoTime() - begun)));
  }

  /** Kills so many processes soon after they have begun, most of them one after the other. */
  void kill(int wanted) throws IOException, InterruptedException, WrongException {
    killsSoon = true;
    run(() -> kills < wanted ? Long.MAX_VALUE : Math.min(1, killsSinceCheck));
  }

  /** Goes on while milliseconds are left. */
  private void run(LongSupplier left) throws IOException, InterruptedException, WrongException {
    long begun = System.nanoTime();
    out.printf(Locale.ROOT, "seed %d%n", seed);
    while (left.getAsLong() > 0) {
      beginStores();
      SoakPlan plan = SoakPlan.first(random);
      for (int i = 0; i < ROUNDS_OF_STORES && left.getAsLong() > 0; i++) {
        int millis =
            killsSoon
                ? SHORT_MILLIS
                : MIN_ROUND_MILLIS + random.nextInt(MAX_ROUND_MILLIS - MIN_ROUND_MILLIS);
        // The last one is not killed, so that what the one before left is checked.
        boolean last = i == ROUNDS_OF_STORES - 1 || left.getAsLong() <= millis;
        boolean kill = !last && (killsSoon || random.nextInt(3) > 0);
        round(plan, (int) Math.max(1, Math.min(millis, left.getAsLong())), kill);
        crashAtTimes(kill);
        plan = plan.next(random);
        report(begun);
      }
      endStores();
    }
    deleteFolder();
    summary();
  }

  private void beginStores() throws IOException {
    beginFolder();
    stores = folder.resolve("stores");
    shadows = folder.resolve("shadows");
    modelFile = folder.resolve("model");
    crashed = false;
    killsSinceCheck = 0;
    model = SoakModel.open(modelFile);
  }

  private void endStores() {
    for (SoakModel.Count count : SoakModel.Count.values()) {
      sums.put(count, count(count));
    }
    model = null;
  }

  /** Over all stores, those that are being used too. */
  private long count(SoakModel.Count count) {
    return sums.getOrDefault(count, 0L) + (model == null ? 0 : model.count(count));
  }

  /** How many values were found by random reads. */
  long found() {
    return count(SoakModel.Count.FOUND);
  }

  private void round(SoakPlan plan, int millis, boolean kill)
      throws IOException, InterruptedException, WrongException {
    rounds++;
    try (ChildJvm child =
        ChildJvm.start(
            folder,
            SoakMain.class,
            stores,
            modelFile,
            plan,
            random.nextLong(),
            kill ? SPARE_MILLIS : millis,
            shadows,
            crashes,
            crashed,
            killsSinceCheck)) {
      String line = child.readLine();
      // A quarter of the kills comes while the files are being opened.
      OptionalInt status = kill ? awaitKill(child, millis) : child.awaitEnd(millis + SPARE_MILLIS);
      if (status.isEmpty()) {
        child.kill();
        if (!kill) {
          throw wrong(plan, "a process did not end in time", child);
        }
        kills++;
        killsSinceCheck++;
        model.killed();
        // It may have told of a wrong answer just before.
        line = child.readLine();
        if (line != null) {
          throw wrong(plan, line, child);
        }
      } else if (status.getAsInt() != 0) {
        throw wrong(plan, "a process ended with " + status.getAsInt() + ": " + line, child);
      } else {
        killsSinceCheck = 0;
      }
      if (child.saidError()) {
        throw wrong(plan, "errors on standard error", child);
      }
    }
  }

  /** Waits until a process is to be killed; returns its status if it ends before that. */
  private OptionalInt awaitKill(ChildJvm child, int millis) throws InterruptedException {
    // A quarter of the kills comes while the files are being opened.
    boolean opens = random.nextInt(4) == 0;
    if (!killsSoon) {
      return child.awaitEnd(random.nextInt(opens ? 500 : millis));
    }
    int events = opens ? 1 : random.nextInt(random.nextBoolean() ? FEW_EVENTS : MANY_EVENTS);
    long until = model.now() + events;
    OptionalInt status = OptionalInt.empty();
    while (status.isEmpty() && model.now() < until) {
      status = child.awaitEnd(1);
    }
    return status;
  }

  /** The machine stops, at times, just when the last process was killed or has ended. */
  private void crashAtTimes(boolean killed) throws IOException {
    // The process may have been killed before it had noted what there was.
    Path log = shadows.resolve("log");
    boolean crash =
        !killsSoon
            && random.nextInt(3) == 0
            && Files.exists(log)
            && Files.readString(log, UTF_8).contains("synced");
    // Who was killed may not have met all that the last crash has left.
    crashed = crash || (crashed && killed);
    if (crash) {
      crashes++;
      Path left = folder.resolve("left");
      new CrashingDisk(shadows).crash(left, random);
      if (Files.exists(stores)) {
        MoreFiles.deleteRecursively(stores, RecursiveDeleteOption.ALLOW_INSECURE);
      }
      Files.move(left, stores);
    }
    if (Files.exists(shadows)) {
      MoreFiles.deleteRecursively(shadows, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }

  private WrongException wrong(SoakPlan plan, String what, ChildJvm child) throws IOException {
    StringBuilder message =
        new StringBuilder(
            String.format(Locale.ROOT, "WRONG: %s%nround %d, plan %s%n", what, rounds, plan));
    for (String line = child.readLine(); line != null; line = child.readLine()) {
      message.append(line).append('\n');
    }
    return new WrongException(
        message.append("standard error:\n").append(child.errors()).toString());
  }

  private void report(long begun) {
    out.printf(
        Locale.ROOT,
        "%d s: %d rounds, %d kills, %d crashes of the machine, %,d operations, no wrong answer%n",
        TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun),
        rounds,
        kills,
        crashes,
        count(SoakModel.Count.OPERATIONS));
  }

  private void summary() {
    out.printf(
        Locale.ROOT,
        "%nrounds            %,d, of which %,d ended by a SIGKILL, %,d in a crash of the machine%n"
            + "restarts within   %,d%n"
            + "operations        %,d%n"
            + "reads             %,d, of which %,d found a value%n"
            + "evictions         %,d%n"
            + "expired           %,d%n"
            + "not stored        %,d%n"
            + "files recovered   %,d, with %,d entries%n"
            + "files kept        %,d after a crash of the machine%n"
            + "files replaced    %,d%n"
            + "files shrunk      %,d%n"
            + "no wrong answer%n",
        rounds,
        kills,
        crashes,
        count(SoakModel.Count.RESTARTS),
        count(SoakModel.Count.OPERATIONS),
        count(SoakModel.Count.READS),
        count(SoakModel.Count.FOUND),
        count(SoakModel.Count.EVICTIONS),
        count(SoakModel.Count.EXPIRED),
        count(SoakModel.Count.NOT_STORED),
        count(SoakModel.Count.RECOVERIES),
        count(SoakModel.Count.RECOVERED),
        count(SoakModel.Count.KEPT),
        count(SoakModel.Count.REPLACED),
        count(SoakModel.Count.SHRUNK));
  }
}
