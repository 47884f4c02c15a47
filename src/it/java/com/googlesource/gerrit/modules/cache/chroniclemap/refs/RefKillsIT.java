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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process that changes refs in all ways there are is killed again and again: while it works, and
 * while it does what the one before left. Afterwards each set of refs is wholly of one generation,
 * that which was acknowledged last or the one that was begun; no lock and no file of a transaction
 * is left; and native git sees the same.
 *
 * <p>More kills: {@code -Drefs.kills=500}.
 */
@Timeout(3600)
class RefKillsIT {
  private static final int KILLS = Integer.getInteger("refs.kills", 5);

  /** From here on some of the kills must have left something to finish. */
  private static final int MANY_KILLS = 20;

  private static final int SHORT_MILLIS = 100;
  private static final int MAX_BUSY_MILLIS = 1000;
  private static final int MAX_OPENING_MILLIS = 150;

  @TempDir Path temp;

  private final Random random = new Random(Long.getLong("refs.seed", 1));
  private RefsModel model;

  // Figures.
  private int checks;
  private int undecided;
  private int decided;

  @Test
  void eachKillLeavesAllOrNothing() throws Exception {
    model = RefsModel.make(temp, Child.REPOSITORIES);
    for (int kill = 0; kill < KILLS; kill++) {
      // Sometimes the next process does what the one before left, and is killed in its turn.
      boolean whileOpening = kill > 0 && random.nextInt(4) == 0;
      runAndKill(whileOpening);
      countLeft();
      if (kill == KILLS - 1 || random.nextInt(3) > 0) {
        checks++;
        model.check("after kill " + (kill + 1));
      }
    }
    System.out.printf(
        Locale.ROOT,
        "RefKillsIT: kills=%d checks=%d transactions=%d refused=%d killedUndecided=%d"
            + " killedDecided=%d%n",
        KILLS,
        checks,
        model.done(),
        model.refused(),
        undecided,
        decided);
    assertThat(model.done()).isGreaterThan(0);
    assertThat(undecided).isGreaterThan(0);
    if (KILLS >= MANY_KILLS) {
      assertThat(decided).isGreaterThan(0);
    }
  }

  // ---- kills

  private void runAndKill(boolean whileOpening) throws Exception {
    try (ChildJvm child =
        ChildJvm.start(temp, Child.class, temp, random.nextLong(), model.acknowledged())) {
      String ready = child.readLine();
      assertWithMessage("said, with errors %s", child.errors()).that(ready).isEqualTo("ready .");
      String line = null;
      if (!whileOpening) {
        line = readUntilWritersRun(child);
      }
      long end =
          System.nanoTime()
              + TimeUnit.MILLISECONDS.toNanos(
                  random.nextInt(whileOpening ? MAX_OPENING_MILLIS : busyMillis()));
      if (whileOpening) {
        // Not for anything to happen: this is how long it has.
        TimeUnit.NANOSECONDS.sleep(end - System.nanoTime());
      }
      while (line != null && System.nanoTime() < end) {
        model.heed(line);
        line = child.readLine();
      }
      child.kill();
      for (; line != null; line = child.readLine()) {
        model.heed(line);
      }
      for (line = child.readLine(); line != null; line = child.readLine()) {
        model.heed(line);
      }
      assertWithMessage("errors of the child: %s", child.errors())
          .that(child.saidError())
          .isFalse();
    }
  }

  private int busyMillis() {
    return random.nextBoolean() ? SHORT_MILLIS : MAX_BUSY_MILLIS;
  }

  private String readUntilWritersRun(ChildJvm child) throws IOException {
    String line = child.readLine();
    while (line != null && line.startsWith("found ")) {
      model.heed(line);
      line = child.readLine();
    }
    assertWithMessage("said, with errors %s", child.errors()).that(line).isNotNull();
    return line;
  }

  /** Counts transactions that the kill has cut. */
  private void countLeft() throws IOException {
    for (String name : Child.REPOSITORIES) {
      for (Path file : model.left(name)) {
        String kind = file.toString().replaceFirst(".*\\.", "");
        if (kind.equals("transaction")) {
          undecided++;
        } else if (kind.equals("decided") || kind.equals("durable")) {
          decided++;
        }
      }
    }
  }

  /** A process that is killed while its {@link RefsWriter}s work. */
  static final class Child {
    static final List<String> REPOSITORIES = List.of("first", "second", "durable");

    private static final int WRITERS = 3;
    private static final int PACKS_ONE_IN = 25;
    private static final int MAX_LOOSE = 20;

    private Child() {}

    /** Folder, seed, and for each set the generation that was acknowledged last, with commas. */
    public static void main(String[] args) {
      try {
        Path folder = Path.of(args[0]);
        RefsModel model = new RefsModel(folder, REPOSITORIES);
        model.heed(args[2]);
        run(model, new Random(Long.parseLong(args[1])), REPOSITORIES);
      } catch (Exception | AssertionError e) {
        RefsWriter.end(e);
      }
    }

    /** Changes all repositories until the process ends. */
    static void run(RefsModel model, Random random, List<String> repositories) throws IOException {
      RefsWriter.sayOnOutput("ready .");
      for (String name : repositories) {
        UpdateSettings updates =
            new UpdateSettings(
                UpdateSettings.By.OWN,
                random.nextBoolean() ? 1000 : 0,
                random.nextInt(3) == 0 ? 0 : MAX_LOOSE);
        TestRefs repository = model.open(name);
        FileRefDatabase refs = repository.database(TestRefs.cache(updates));
        for (int i = 0; i < WRITERS; i++) {
          int number = i;
          List<RefSet> sets =
              model.sets(name).stream().filter(set -> set.number() % WRITERS == number).toList();
          Random own = new Random(random.nextLong());
          RefsWriter writer =
              new RefsWriter(repository, refs, model, sets, own, RefsWriter::sayOnOutput);
          writer.find();
          new Thread(() -> write(writer, own)).start();
        }
      }
    }

    private static void write(RefsWriter writer, Random random) {
      try {
        while (true) {
          RefSet set = writer.any();
          writer.ended(set, writer.move(set, RefsWriter.By.MODULE));
          if (random.nextInt(PACKS_ONE_IN) == 0) {
            var unused = writer.pack(RefsWriter.By.MODULE);
          }
        }
      } catch (IOException | InterruptedException | RuntimeException | Error e) {
        RefsWriter.end(e);
      }
    }
  }
}
