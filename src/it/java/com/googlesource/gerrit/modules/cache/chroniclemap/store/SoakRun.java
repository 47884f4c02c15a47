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
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** A run of {@code bin/soak}, whatever is used hard in it. For one thread. */
public abstract class SoakRun {
  /** How long a process may take for its start, its end and for what it checks. */
  protected static final long SPARE_MILLIS = 120_000;

  protected final long seed;
  protected final Random random;
  protected final Path folder;
  protected final PrintStream out;

  /**
   * Prepares a run.
   *
   * @param folder to work in; it is made, and left there only after a wrong answer
   * @param out told of the progress and the result
   */
  protected SoakRun(long seed, Path folder, PrintStream out) {
    this.seed = seed;
    this.random = new Random(seed);
    this.folder = folder;
    this.out = out;
  }

  /** Makes a run. */
  protected interface Maker {
    SoakRun make(long seed, Path folder, PrintStream out);
  }

  /** A wrong answer, or something else that must not be. */
  @SuppressWarnings("serial")
  public static final class WrongException extends Exception {
    public WrongException(String message) {
      super(message);
    }
  }

  /**
   * Makes and runs a run; ends the process with 1 after a wrong answer.
   *
   * @param args folder, seconds, seed
   */
  protected static void main(String[] args, Maker maker) throws IOException, InterruptedException {
    Path folder = Path.of(args[0]);
    long nanos = TimeUnit.SECONDS.toNanos(Long.parseLong(args[1]));
    long seed = Long.parseLong(args[2]);
    try {
      maker.make(seed, folder, System.out).run(nanos);
    } catch (WrongException e) {
      System.out.printf(
          Locale.ROOT, "%n%s%n%nseed %d; the files are kept in %s%n", e.getMessage(), seed, folder);
      System.exit(1);
    }
  }

  /** Runs for that long, and until the process that runs then has ended. */
  public abstract void run(long nanos) throws IOException, InterruptedException, WrongException;

  /** Makes the folder, or empties it. */
  protected final void beginFolder() throws IOException {
    if (Files.exists(folder)) {
      deleteFolder();
    }
    Files.createDirectories(folder);
  }

  protected final void deleteFolder() throws IOException {
    MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
  }
}
