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

import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.A;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.B;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.C;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.D;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.MISSING;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.TAG_OF_TAG;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefObjects.ZERO;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random updates of few names that are in each other's way, the same ones to both: after each step
 * all that can be seen is compared.
 *
 * <p>For longer runs {@code -Drefs.updates.steps=5000 -Drefs.updates.seed=7}.
 */
@Tag("locale")
class UpdateFuzzTest extends RefsParity {
  private static final int STEPS = Integer.getInteger("refs.updates.steps", 30);
  private static final long SEED = Long.getLong("refs.updates.seed", 9);

  /** Some of them in the way of others. */
  private static final List<String> NAMES =
      List.of(
          "refs/heads/a",
          "refs/heads/a/b",
          "refs/heads/a/b/c",
          "refs/heads/a/d",
          "refs/heads/a-b",
          "refs/heads/b",
          "refs/heads/master",
          "refs/heads/\uff5e",
          "refs/heads/\ud83d\ude00",
          "refs/tags/t",
          "refs/tags/t/u",
          "refs/changes/01/1/1",
          "refs/changes/01/1/meta",
          "refs/x");

  private static final List<String> LINKS = List.of("HEAD", "refs/sym/one", "refs/sym/two");

  private static final List<ObjectId> VALUES = List.of(A, B, C, D, TAG, TAG_OF_TAG);

  private Random random;

  @ParameterizedTest
  @CsvSource({"true, always", "true, after_open", "false, always", "true, never"})
  void theSameOfBoth(boolean bare, String trust) throws Exception {
    open(bare, trust);
    random = new Random(SEED);
    List<String> done = new ArrayList<>();
    for (int step = 0; step < STEPS; step++) {
      Operation operation = any();
      done.add(operation.shown);
      // The last ones are enough to see what led there.
      List<String> last = done.subList(Math.max(0, done.size() - 12), done.size());
      String when = "seed " + SEED + ", step " + step + ", " + String.join("\n", last) + "\n";
      try {
        alike(operation.scenario);
        compareState(when, step % 10 == 9);
      } catch (AssertionError e) {
        throw new AssertionError(when + e.getMessage(), e);
      }
    }
    assertWithMessage("steps").that(done).hasSize(STEPS);
  }

  /** What is done to both, chosen before either is touched. */
  private record Operation(String shown, Scenario scenario) {}

  private <T> T any(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private boolean oneIn(int times) {
    return random.nextInt(times) == 0;
  }

  private String anyName() {
    return oneIn(8) ? any(LINKS) : any(NAMES);
  }

  private ObjectId anyValue() {
    return oneIn(12) ? MISSING : any(VALUES);
  }

  private ObjectId anyExpected(String name) throws IOException {
    Map<String, ObjectId> values = jgit().values();
    ObjectId value = values.getOrDefault(name, ZERO);
    return oneIn(6) ? any(List.of(A, B, ZERO, MISSING)) : value;
  }

  private Operation any() throws IOException {
    return switch (random.nextInt(14)) {
      case 0, 1, 2 -> update();
      case 3, 4 -> delete();
      case 5 -> link();
      case 6 -> pack();
      case 7 -> rename();
      case 8 -> byGit();
      default -> batch();
    };
  }

  private Operation update() throws IOException {
    String name = anyName();
    ObjectId to = anyValue();
    boolean force = random.nextBoolean();
    boolean detach = oneIn(5);
    boolean log = random.nextBoolean();
    ObjectId expected = random.nextBoolean() ? anyExpected(name) : null;
    return new Operation(
        "update " + name + " to " + to.name() + (force ? " force" : "") + " expected " + expected,
        side -> {
          if (detach) {
            side.detach(name, to);
            return;
          }
          side.update(
              name,
              to,
              update -> {
                update.setForceUpdate(force);
                update.setForceRefLog(log);
                update.setRefLogMessage("m", force);
                update.setExpectedOldObjectId(expected);
              });
        });
  }

  private Operation delete() throws IOException {
    String name = anyName();
    boolean force = !oneIn(6);
    boolean detach = oneIn(4);
    ObjectId expected = random.nextBoolean() ? anyExpected(name) : null;
    return new Operation(
        "delete " + name + (detach ? " detached" : "") + " expected " + expected,
        side -> {
          if (detach) {
            side.deleteDetached(name);
            return;
          }
          side.delete(
              name,
              update -> {
                update.setForceUpdate(force);
                update.setExpectedOldObjectId(expected);
              });
        });
  }

  private Operation link() {
    String name = any(LINKS);
    String target = oneIn(4) ? "refs/sym/two" : any(NAMES);
    return new Operation("link " + name + " to " + target, side -> side.link(name, target));
  }

  private static Operation pack() {
    return new Operation("pack", RefsSide::pack);
  }

  private Operation rename() {
    String from = any(NAMES);
    String to = any(NAMES);
    return new Operation("rename " + from + " to " + to, side -> side.rename(from, to));
  }

  private Operation byGit() {
    String name = any(NAMES);
    ObjectId to = any(VALUES);
    boolean delete = oneIn(3);
    String[] arguments =
        switch (random.nextInt(3)) {
          case 0 -> new String[] {"pack-refs", "--all"};
          case 1 -> new String[] {"pack-refs", "--all", "--no-prune"};
          default ->
              delete
                  ? new String[] {"update-ref", "-d", name}
                  : new String[] {"update-ref", name, to.name()};
        };
    // Not as an argument, which would need the locale for a name.
    String input =
        arguments[0].equals("pack-refs")
            ? ""
            : delete ? "delete " + name + '\n' : "update " + name + ' ' + to.name() + '\n';
    return new Operation(
        "git " + String.join(" ", arguments) + ' ' + input,
        side -> {
          // It may say which file is in the way, and that depends on where refs are.
          side.see("git", side.testRefs().tryGitWith(input, arguments).status());
        });
  }

  private Operation batch() throws IOException {
    boolean atomic = !oneIn(4);
    boolean allow = !oneIn(4);
    boolean log = oneIn(3);
    int count = 1 + random.nextInt(5);
    Set<String> names = new LinkedHashSet<>();
    while (names.size() < count) {
      String name = oneIn(15) ? any(LINKS) : any(NAMES);
      // Where a file can't be named JGit throws or rejects, depending on what else is wrong.
      if (TestRefs.canName(name)) {
        names.add(name);
      }
    }
    List<Command> commands = new ArrayList<>();
    for (String name : names) {
      ObjectId from = anyExpected(name);
      boolean delete = oneIn(3) && !from.equals(ZERO);
      commands.add(new Command(name, from, delete ? ZERO : anyValue()));
    }
    return new Operation(
        (atomic ? "atomic batch " : "batch ") + commands,
        side ->
            side.batch(
                atomic,
                batch -> {
                  batch.setAllowNonFastForwards(allow);
                  batch.setRefLogMessage("b", true);
                  batch.setForceRefLog(log);
                },
                commands.stream().map(Command::make).toArray(ReceiveCommand[]::new)));
  }

  /** A command remembers its result, so each side needs its own. */
  private record Command(String name, ObjectId from, ObjectId to) {
    ReceiveCommand make() {
      return new ReceiveCommand(from, to, name);
    }

    @Override
    public String toString() {
      return name + ' ' + from.abbreviate(6).name() + " to " + to.abbreviate(6).name();
    }
  }
}
