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

import com.google.common.base.Splitter;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Has processes change and read refs at random, kills a third of them, and has each answer of the
 * parsed lists compared with JGit's and native git's; see {@code bin/soak --help}.
 */
public final class RefsSoak {
  private static final int MIN_ROUND_MILLIS = 2000;
  private static final int MAX_ROUND_MILLIS = 10_000;

  /** How long a process may take for its start, its end and for what it checks. */
  private static final long SPARE_MILLIS = 120_000;

  private static final Pattern ERROR =
      Pattern.compile("(?m)^.*(Exception|Error\\b|SEVERE|SIGSEGV|SIGBUS).*$");

  private static final String[] FIGURES = {
    "writes", "packs", "reads", "refs read", "comparisons", "parses", "lists from disk", "starts"
  };

  private final long seed;
  private final Random random;
  private final Path folder;
  private final PrintStream out;
  private final long[] figures = new long[FIGURES.length];
  private int rounds;
  private int kills;

  /**
   * Prepares a run.
   *
   * @param folder to work in; it is made, and left there only after a wrong answer
   * @param out told of the progress and the result
   */
  public RefsSoak(long seed, Path folder, PrintStream out) {
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
      new RefsSoak(seed, folder, System.out).run(TimeUnit.SECONDS.toNanos(Long.parseLong(args[1])));
    } catch (WrongException e) {
      System.out.printf(
          "%n%s%n%nseed %d; the files are kept in %s%n", e.getMessage(), seed, folder);
      System.exit(1);
    }
  }

  /** Runs for that long, and until the process that runs then has ended. */
  public void run(long nanos) throws IOException, InterruptedException, WrongException {
    if (Files.exists(folder)) {
      MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    }
    Files.createDirectories(folder);
    RefsSoakMain.makeRepositories(folder);
    out.printf("refs, seed %d%n", seed);
    long begun = System.nanoTime();
    while (System.nanoTime() - begun < nanos) {
      long left = TimeUnit.NANOSECONDS.toMillis(nanos - (System.nanoTime() - begun));
      int millis = MIN_ROUND_MILLIS + random.nextInt(MAX_ROUND_MILLIS - MIN_ROUND_MILLIS);
      // The last one is not killed, so that what the one before left is checked.
      round((int) Math.min(millis, left), left > millis && random.nextInt(3) == 0);
      out.printf(
          "%d s: %d rounds, %d kills, %,d writes, %,d reads, %,d comparisons, no wrong answer%n",
          TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun),
          rounds,
          kills,
          figures[0],
          figures[2],
          figures[4]);
    }
    MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    out.printf("%nrounds            %,d, of which %,d ended by a SIGKILL%n", rounds, kills);
    for (int i = 0; i < FIGURES.length; i++) {
      out.printf("%-17s %,d%n", FIGURES[i], figures[i]);
    }
    out.println("no wrong answer");
  }

  /** How often all ways to ask were compared. */
  long comparisons() {
    return figures[4];
  }

  private void round(int millis, boolean kill)
      throws IOException, InterruptedException, WrongException {
    rounds++;
    try (ChildJvm child =
        ChildJvm.start(folder, RefsSoakMain.class, folder, random.nextLong(), millis)) {
      String ready = child.readLine();
      OptionalInt status = child.awaitEnd(kill ? random.nextInt(millis) : millis + SPARE_MILLIS);
      if (status.isEmpty()) {
        child.kill();
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
        RefsSoakMain.deleteLocks(folder);
      } else if (status.isEmpty()) {
        throw wrong("a process did not end in time", said, errors);
      } else if (status.getAsInt() != 0 || !"ready".equals(ready)) {
        throw wrong("a process ended with " + status.getAsInt(), said, errors);
      }
      if (said.indexOf("WRONG") >= 0) {
        throw wrong("a wrong answer", said, errors);
      }
      if (ERROR.matcher(errors).find()) {
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
        "WRONG: %s%nround %d%n%s%nstandard error:%n%s".formatted(what, rounds, said, errors));
  }
}
