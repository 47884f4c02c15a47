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

import com.google.common.base.Throwables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Consumer;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;

/**
 * Moves sets of refs at random, each from one generation to the next, by one update or by one
 * atomic batch: by this module, by JGit elsewhere, or by native git. The tests that have processes
 * of their own differ only in how they disturb it: by kills, by full disks, by losses of power, by
 * another machine, or by others who write, pack and read. For one thread.
 *
 * <p>What it says, one line each, with the number of a set and a generation: {@code found} when it
 * has looked, then {@code begin} and {@code done} or {@code failed}. A line that was cut has no dot
 * at its end.
 */
final class RefsWriter {
  /** Who changes or packs refs. */
  enum By {
    MODULE,
    JGIT,
    GIT;

    static final List<By> ALL = List.of(values());

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final TestRefs repository;
  private final Map<By, RefDatabase> databases = new EnumMap<>(By.class);
  private final RefsModel model;
  private final List<RefSet> sets;
  private final Random random;
  private final Consumer<String> say;
  private final Map<RefSet, Integer> generations = new HashMap<>();

  /** What is there of each set. */
  private final Map<RefSet, Map<String, ObjectId>> now = new HashMap<>();

  private String refusal = "";

  /**
   * Prepares a writer, which has to {@link #find} its sets.
   *
   * @param model knows what was acknowledged until now
   * @param sets that nobody else moves
   */
  RefsWriter(
      TestRefs repository,
      RefDatabase module,
      RefsModel model,
      List<RefSet> sets,
      Random random,
      Consumer<String> say) {
    this.repository = repository;
    this.model = model;
    this.sets = sets;
    this.random = random;
    this.say = say;
    databases.put(By.MODULE, module);
    databases.put(By.JGIT, repository.peerRepository().getRefDatabase());
  }

  /** Says it at once, so that it is known after a kill. */
  static void sayOnOutput(String what) {
    System.out.println(what);
    System.out.flush();
  }

  /** Ends the process in which refs are wrong, or what happens else must not. */
  static void end(Throwable why) {
    System.err.println("WRONG refs: " + Throwables.getStackTraceAsString(why));
    System.err.flush();
    Runtime.getRuntime().halt(1);
  }

  RefDatabase database(By by) {
    return databases.get(by);
  }

  RefSet any() {
    return sets.get(random.nextInt(sets.size()));
  }

  Map<String, ObjectId> now(RefSet set) {
    return now.get(set);
  }

  /** What native git has said last when it refused something. */
  String refusal() {
    return refusal;
  }

  /**
   * Looks of which generation its sets are: one more than is known if the process before was killed
   * when it was about to say so.
   */
  void find() throws IOException {
    for (RefSet set : sets) {
      found(set, RefsModel.read(databases.get(By.MODULE), set.prefix()));
    }
  }

  /** Takes what is there of a set, which must be wholly of a generation that it may be of. */
  void found(RefSet set, Map<String, ObjectId> found) {
    Optional<Integer> generation = model.generation(set, found);
    assertWithMessage("%s, and it is %s", model.told(set), found).that(generation).isPresent();
    generations.put(set, generation.get());
    now.put(set, found);
    say("found", set, generation.get());
  }

  private void say(String what, RefSet set, int generation) {
    say.accept(what + " " + set.number() + " " + generation + " .");
  }

  /** Whether the next move of a set deletes its only ref. */
  boolean isSingleDeletion(RefSet set) {
    return set.kind() == RefSet.Kind.SINGLE && next(set).isEmpty();
  }

  private Map<String, ObjectId> next(RefSet set) {
    return set.at(generations.get(set) + 1, model.values());
  }

  /**
   * Moves a set. Then {@link #ended} or {@link #settle} must be called, also after an exception.
   *
   * @return whether all of it happened, as it was told
   */
  boolean move(RefSet set, By by) throws IOException, InterruptedException {
    say("begin", set, generations.get(set) + 1);
    Map<String, ObjectId> before = now.get(set);
    Map<String, ObjectId> after = next(set);
    if (by == By.GIT) {
      return changeByGit(before, after);
    }
    return change(by, set, before, after);
  }

  private boolean change(
      By by, RefSet set, Map<String, ObjectId> before, Map<String, ObjectId> after)
      throws IOException {
    if (set.kind() != RefSet.Kind.SINGLE) {
      return TestRefs.batch(
          repository.repository(), databases.get(by), TestRefs.commands(before, after));
    }
    String name = set.name(0);
    ObjectId from = before.getOrDefault(name, ObjectId.zeroId());
    ObjectId to = after.getOrDefault(name, ObjectId.zeroId());
    RefUpdate.Result result = TestRefs.force(databases.get(by), name, from, to);
    if (after.isEmpty()) {
      return result == RefUpdate.Result.FORCED && (by != By.JGIT || !isOnDisk(name));
    }
    return switch (result) {
      case NEW, FORCED, FAST_FORWARD -> true;
      default -> false;
    };
  }

  /**
   * Whether a deletion did nothing. JGit looks for the ref before it has its lock, packed first and
   * loose second; where it is packed in between JGit deletes nothing, and says that it did.
   */
  private boolean isOnDisk(String name) throws IOException {
    Path packed = repository.folder().resolve("packed-refs");
    return Files.exists(repository.folder().resolve(name))
        || (Files.exists(packed) && Files.readString(packed).contains(" " + name + "\n"));
  }

  /** Refused if anything that was acknowledged is lost. */
  private boolean changeByGit(Map<String, ObjectId> before, Map<String, ObjectId> after)
      throws IOException, InterruptedException {
    StringBuilder lines = new StringBuilder();
    for (ReceiveCommand command : TestRefs.commands(before, after)) {
      lines.append(
          String.format(
              Locale.ROOT,
              "update %s %s %s\n",
              command.getRefName(),
              command.getNewId().name(),
              command.getOldId().name()));
    }
    return isDoneByGit(lines.toString(), "update-ref", "--stdin");
  }

  private boolean isDoneByGit(String input, String... arguments)
      throws IOException, InterruptedException {
    TestRefs.Output git = repository.tryGitWith(input, arguments);
    if (git.status() != 0) {
      refusal = git.status() + " " + git.text().replace('\n', ' ');
      say.accept("git " + refusal);
    }
    return git.status() == 0;
  }

  /** Says what came of a move. */
  void ended(RefSet set, boolean done) {
    int next = generations.get(set) + 1;
    if (done) {
      now.put(set, next(set));
      generations.put(set, next);
    }
    say(done ? "done" : "failed", set, next);
  }

  /** Looks what came of a move of which nothing is known: all of it or nothing. */
  boolean settle(RefSet set) throws IOException {
    Map<String, ObjectId> found = RefsModel.read(databases.get(By.MODULE), set.prefix());
    boolean done = found.equals(next(set));
    if (!done) {
      assertWithMessage("%s, which moves to %s", set, next(set)).that(found).isEqualTo(now(set));
    }
    ended(set, done);
    return done;
  }

  /** Packs all refs; returns whether it did: native git does not where the lock is taken. */
  boolean pack(By by) throws IOException, InterruptedException {
    if (by == By.GIT) {
      return isDoneByGit("", "pack-refs", "--all");
    }
    repository.pack(databases.get(by));
    return true;
  }
}
