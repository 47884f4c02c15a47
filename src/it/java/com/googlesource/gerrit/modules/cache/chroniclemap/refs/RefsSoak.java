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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.SoakRun;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

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
    RefsSoakMain.makeRepositories(folder);
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
    try (ChildJvm child =
        ChildJvm.start(folder, RefsSoakMain.class, folder, random.nextLong(), millis)) {
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
        RefsSoakMain.deleteLocks(folder);
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
}
