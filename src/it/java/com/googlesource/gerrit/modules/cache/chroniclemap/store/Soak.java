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

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Has processes do all that can be done to some stores, at random and beside each other, kills
 * about half of them, and has each answer compared with a {@link SoakModel}; see {@code bin/soak
 * --help}.
 */
public final class Soak {
  /** Processes that use the same stores, one after the other. */
  private static final int ROUNDS_OF_STORES = 8;

  private static final int MIN_ROUND_MILLIS = 1000;
  private static final int MAX_ROUND_MILLIS = 8000;

  /** How long a process may take for its start, its end and for what it checks. */
  private static final long SPARE_MILLIS = 120_000;

  private static final Pattern ERROR =
      Pattern.compile("(?m)^.*(Exception|Error\\b|SEVERE|SIGSEGV|SIGBUS).*$");

  private final long seed;
  private final Random random;
  private final Path folder;
  private final PrintStream out;
  private final Map<SoakModel.Count, Long> sums = new EnumMap<>(SoakModel.Count.class);
  private int rounds;
  private int kills;

  /** Opened anew for each folder of stores, like these. */
  private SoakModel model;

  private Path stores;
  private Path modelFile;

  /**
   * Prepares a run.
   *
   * @param folder to work in; it is made, and left there only after a wrong answer
   * @param out told of the progress and the result
   */
  public Soak(long seed, Path folder, PrintStream out) {
    this.seed = seed;
    this.random = new Random(seed);
    this.folder = folder;
    this.out = out;
  }

  /** A wrong answer, or something else that must not be. */
  @SuppressWarnings("serial")
  public static final class WrongException extends Exception {
    WrongException(String message) {
      super(message);
    }
  }

  /** Folder, seconds, seed. */
  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[2]);
    Path folder = Path.of(args[0]);
    try {
      new Soak(seed, folder, System.out).run(TimeUnit.SECONDS.toNanos(Long.parseLong(args[1])));
    } catch (WrongException e) {
      System.out.printf(
          "%n%s%n%nseed %d; the files are kept in %s%n", e.getMessage(), seed, folder);
      System.exit(1);
    }
  }

  /** Runs for that long, and until the process that runs then has ended. */
  public void run(long nanos) throws IOException, InterruptedException, WrongException {
    long begun = System.nanoTime();
    out.printf("seed %d%n", seed);
    while (System.nanoTime() - begun < nanos) {
      beginStores();
      SoakPlan plan = SoakPlan.first(random);
      for (int i = 0; i < ROUNDS_OF_STORES && System.nanoTime() - begun < nanos; i++) {
        long left = TimeUnit.NANOSECONDS.toMillis(nanos - (System.nanoTime() - begun));
        int millis = MIN_ROUND_MILLIS + random.nextInt(MAX_ROUND_MILLIS - MIN_ROUND_MILLIS);
        // The last one is not killed, so that what the one before left is checked.
        boolean last = i == ROUNDS_OF_STORES - 1 || left <= millis;
        round(plan, (int) Math.max(1, Math.min(millis, left)), !last && random.nextInt(3) > 0);
        plan = plan.next(random);
        report(begun);
      }
      endStores();
    }
    MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    summary();
  }

  private void beginStores() throws IOException {
    if (Files.exists(folder)) {
      MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    }
    Files.createDirectories(folder);
    stores = folder.resolve("stores");
    modelFile = folder.resolve("model");
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

  int kills() {
    return kills;
  }

  private void round(SoakPlan plan, int millis, boolean kill)
      throws IOException, InterruptedException, WrongException {
    rounds++;
    try (ChildJvm child =
        ChildJvm.start(
            folder, SoakMain.class, stores, modelFile, plan, random.nextLong(), millis)) {
      String line = child.readLine();
      // A quarter of the kills comes while the files are being opened.
      OptionalInt status =
          child.awaitEnd(
              !kill
                  ? millis + SPARE_MILLIS
                  : random.nextInt(random.nextInt(4) == 0 ? 500 : millis));
      if (status.isEmpty()) {
        child.kill();
        if (!kill) {
          throw wrong(plan, "a process did not end in time", child);
        }
        kills++;
        model.killed();
        // It may have told of a wrong answer just before.
        line = child.readLine();
        if (line != null) {
          throw wrong(plan, line, child);
        }
      } else if (status.getAsInt() != 0) {
        throw wrong(plan, "a process ended with " + status.getAsInt() + ": " + line, child);
      }
      if (ERROR.matcher(child.errors()).find()) {
        throw wrong(plan, "errors on standard error", child);
      }
    }
  }

  private WrongException wrong(SoakPlan plan, String what, ChildJvm child) throws IOException {
    StringBuilder message =
        new StringBuilder("WRONG: %s%nround %d, plan %s%n".formatted(what, rounds, plan));
    for (String line = child.readLine(); line != null; line = child.readLine()) {
      message.append(line).append('\n');
    }
    return new WrongException(
        message.append("standard error:\n").append(child.errors()).toString());
  }

  private void report(long begun) {
    out.printf(
        "%d s: %d rounds, %d kills, %,d operations, no wrong answer%n",
        TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun),
        rounds,
        kills,
        count(SoakModel.Count.OPERATIONS));
  }

  private void summary() {
    out.printf(
        "%nrounds            %,d, of which %,d ended by a SIGKILL%n"
            + "restarts within   %,d%n"
            + "operations        %,d%n"
            + "reads             %,d, of which %,d found a value%n"
            + "growths           %,d%n"
            + "evictions         %,d%n"
            + "expired           %,d%n"
            + "not stored        %,d%n"
            + "files recovered   %,d, with %,d entries%n"
            + "files replaced    %,d%n"
            + "files shrunk      %,d%n"
            + "no wrong answer%n",
        rounds,
        kills,
        count(SoakModel.Count.RESTARTS),
        count(SoakModel.Count.OPERATIONS),
        count(SoakModel.Count.READS),
        count(SoakModel.Count.FOUND),
        count(SoakModel.Count.GROWTHS),
        count(SoakModel.Count.EVICTIONS),
        count(SoakModel.Count.EXPIRED),
        count(SoakModel.Count.NOT_STORED),
        count(SoakModel.Count.RECOVERIES),
        count(SoakModel.Count.RECOVERED),
        count(SoakModel.Count.REPLACED),
        count(SoakModel.Count.SHRUNK));
  }
}
