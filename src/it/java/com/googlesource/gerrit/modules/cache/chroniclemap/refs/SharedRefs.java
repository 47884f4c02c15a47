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

import com.google.common.collect.Iterables;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsWriter.By;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.eclipse.jgit.internal.JGitText;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * A repository that threads use at the same time: each writer has sets of its own, and so knows
 * what must be read; all readers know which refs there must be. Of three sets, one is moved by this
 * module only: readers of this process see all of it or nothing, whoever packs its refs. The others
 * are moved by whoever comes: JGit and git, which readers of this process know nothing of, do it in
 * parts. Reftables, which this module writes by JGit's own code, are JGit's only to read.
 */
final class SharedRefs {
  static final int WRITERS = 2;

  /**
   * How long an update is tried whose locks others hold: a git that has them may get no processor.
   */
  private static final long TRY_SECONDS = 20;

  private final TestRefs repository;
  private final RefsModel model;
  private final List<RefSet> sets;
  private final List<RefSet> ofModule;
  private final List<RefSet> alwaysThere;
  private final Consumer<String> say;
  private final Supplier<RefDatabase> current;
  private final Supplier<RefDatabase> forRequest;

  /** The places of the values in their list. */
  private final Map<ObjectId, Integer> numbers = new HashMap<>();

  /** Opens one of a model's repositories. */
  SharedRefs(
      TestRefs repository,
      PackedRefsCache cache,
      RefsModel model,
      List<RefSet> sets,
      Consumer<String> say) {
    this.repository = repository;
    this.model = model;
    this.sets = sets;
    this.say = say;
    ofModule = sets.stream().filter(SharedRefs::isOfModule).toList();
    alwaysThere = sets.stream().filter(set -> set.kind() == RefSet.Kind.UPDATED).toList();
    if (repository.repository().getRefDatabase() instanceof FileReftableDatabase jgit) {
      RefDatabase refs = cache.ofTables(repository.repository(), jgit);
      this.current = () -> refs;
      this.forRequest = current;
    } else {
      FileRefDatabase refs = repository.database(cache);
      this.current = () -> refs;
      this.forRequest = refs::forRequest;
    }
    for (int i = 0; i < RefSet.VALUES; i++) {
      numbers.put(model.values().get(i), i);
    }
  }

  private static boolean isOfModule(RefSet set) {
    return set.number() % 3 == 0;
  }

  private RefDatabase peer() {
    return repository.peerRepository().getRefDatabase();
  }

  /**
   * For one question. A request sees packed refs as they were at its first question and loose ones
   * as they are, as with JGit's snapshots: so one that is packed meanwhile is not found by its next
   * questions.
   */
  private RefDatabase anyDatabase(Random random) {
    return random.nextBoolean() ? current.get() : forRequest.get();
  }

  private static <T> T any(List<T> of, Random random) {
    return of.get(random.nextInt(of.size()));
  }

  // ---- reading

  /** Asks one question whose answer is known whatever others do; returns how many refs it got. */
  long read(Random random) throws IOException {
    RefDatabase asked = anyDatabase(random);
    String name = RefsModel.fixedName(random.nextInt(RefsModel.FIXED));
    RefSet moving = any(alwaysThere, random);
    String movingName = moving.name(random.nextInt(moving.size()));
    RefSet together = any(ofModule, random);
    switch (random.nextInt(9)) {
      case 0 -> assertThat(asked.exactRef(name).getObjectId()).isEqualTo(model.values().get(0));
      case 1 -> assertThat(numbers).containsKey(asked.exactRef(movingName).getObjectId());
      case 2 -> {
        Map<String, Ref> found = asked.exactRef(name, movingName, name + "x");
        assertThat(found.keySet()).containsExactly(name, movingName);
      }
      case 3 -> assertAllThere(moving, asked.getRefsByPrefix(moving.prefix()));
      case 4 -> {
        List<Ref> all = asked.getRefs();
        assertThat(all.stream().filter(ref -> ref.getName().startsWith("refs/fixed/")).count())
            .isEqualTo(RefsModel.FIXED);
        alwaysThere.forEach(set -> assertAllThere(set, all));
        ofModule.forEach(set -> assertWhole("getRefs", set, all));
        return all.size();
      }
      case 5 -> {
        String folder = moving.prefix().substring(0, moving.prefix().length() - 1);
        assertThat(asked.getConflictingNames(folder)).hasSize(moving.size());
      }
      case 6 -> {
        long tips =
            asked.getTipsWithSha1(model.values().get(0)).stream()
                .filter(ref -> ref.getName().startsWith("refs/fixed/"))
                .count();
        assertThat(tips).isEqualTo(RefsModel.FIXED);
        return RefsModel.FIXED;
      }
      case 7 -> {
        String[] names =
            IntStream.range(0, together.size()).mapToObj(together::name).toArray(String[]::new);
        assertWhole("exactRef(names)", together, asked.exactRef(names).values());
      }
      default -> {
        List<Ref> all = asked.getRefsByPrefix("refs/fixed/11/", "refs/changes/");
        alwaysThere.forEach(set -> assertAllThere(set, all));
        ofModule.forEach(set -> assertWhole("getRefsByPrefix of two", set, all));
      }
    }
    return 1;
  }

  private static Map<String, ObjectId> of(RefSet set, Collection<Ref> found) {
    return TestRefs.ids(Iterables.filter(found, ref -> ref.getName().startsWith(set.prefix())));
  }

  private void assertAllThere(RefSet set, Collection<Ref> found) {
    Map<String, ObjectId> refs = of(set, found);
    assertWithMessage("%s", refs).that(refs).hasSize(set.size());
    assertWithMessage("%s", refs).that(numbers.keySet().containsAll(refs.values())).isTrue();
  }

  private void assertWhole(String how, RefSet set, Collection<Ref> found) {
    Map<String, ObjectId> refs = of(set, found);
    if (refs.isEmpty()) {
      assertWithMessage("%s: nothing of %s", how, set)
          .that(set.kind())
          .isAnyOf(RefSet.Kind.WHOLE, RefSet.Kind.SINGLE);
      return;
    }
    int generation = numbers.get(refs.values().iterator().next());
    assertWithMessage("%s: not of one batch", how)
        .that(refs)
        .isEqualTo(set.at(generation, model.values()));
  }

  // ---- packing

  /** Packs refs in one of the ways there are; returns whether that was done. */
  boolean pack(Random random) throws IOException, InterruptedException {
    return switch (random.nextInt(10)) {
      case 0 -> packWithGit("gc", "--quiet", "--no-prune");
      case 1 -> packWithGit("pack-refs", "--all", "--no-prune");
      case 2 ->
          peer() instanceof RefDirectory jgit
              ? packWithJGit(jgit)
              : packWithGit("pack-refs", "--all");
      default -> packWithGit("pack-refs", "--all");
    };
  }

  private boolean packWithGit(String... arguments) throws IOException, InterruptedException {
    String command = "git " + String.join(" ", arguments);
    say.accept(command + " begins");
    TestRefs.Output output = repository.tryGit(arguments);
    say.accept(command + " ended with " + output.status());
    return output.status() == 0;
  }

  /** Only refs that nobody deletes. */
  private boolean packWithJGit(RefDirectory jgit) {
    List<String> names = new ArrayList<>();
    for (RefSet set : alwaysThere) {
      IntStream.range(0, set.size()).mapToObj(set::name).forEach(names::add);
    }
    say.accept("JGit begins to pack");
    try {
      jgit.pack(names);
      say.accept("JGit packed");
      return true;
    } catch (IOException e) {
      // Locked by native git.
      say.accept("JGit did not pack: " + e);
      return false;
    }
  }

  // ---- writing

  /** Moves sets of its own, and looks for each change at once. For one thread. */
  final class Writer {
    private final RefsWriter writer;
    private final Random random;

    Writer(int number, Random random) throws IOException {
      this.random = random;
      List<RefSet> mine = sets.stream().filter(set -> set.number() % WRITERS == number).toList();
      writer = new RefsWriter(repository, current.get(), model, mine, random, say);
      for (RefSet set : mine) {
        writer.found(set, repaired(set, RefsModel.read(current.get(), set.prefix())));
      }
    }

    /** Who was killed, and was not this module, may have done a part of a batch. */
    private Map<String, ObjectId> repaired(RefSet set, Map<String, ObjectId> found)
        throws IOException {
      if (isOfModule(set) || !model.isPart(set, found)) {
        return found;
      }
      Map<String, ObjectId> whole = model.begun(set);
      assertWithMessage("%s was %s", set, found)
          .that(
              TestRefs.batch(
                  repository.repository(), current.get(), TestRefs.commands(found, whole)))
          .isTrue();
      return whole;
    }

    /**
     * Who is to move a set. JGit before 7.3 does not lock packed-refs to delete a single loose ref:
     * a {@code git pack-refs} that has read the file puts the ref in its list all the same.
     */
    private By by(RefSet set) {
      By by = isOfModule(set) ? By.MODULE : any(By.ALL, random);
      boolean isLeftToOthers = repository.isReftable() || writer.isSingleDeletion(set);
      return by == By.JGIT && isLeftToOthers ? By.GIT : by;
    }

    /** Tries until the locks of others no longer refuse it. */
    void step() throws IOException, InterruptedException {
      RefSet set = writer.any();
      By by = by(set);
      long begun = System.nanoTime();
      while (!move(set, by)) {
        if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(TRY_SECONDS)) {
          throw new AssertionError(
              String.format(
                  Locale.ROOT,
                  "not done in %d s in %s: %s by %s; git said: %s; locks: %s",
                  TRY_SECONDS,
                  repository.folder(),
                  set,
                  by,
                  writer.refusal(),
                  repository.lockFiles()));
        }
      }
      for (int i = 0; i < 2; i++) {
        RefSet any = writer.any();
        String name = any.name(random.nextInt(any.size()));
        Ref one = anyDatabase(random).exactRef(name);
        check(any, name, one == null ? null : one.getObjectId(), writer.now(any).get(name));
        Map<String, ObjectId> found = RefsModel.read(anyDatabase(random), any.prefix());
        check(any, any.prefix(), found, writer.now(any));
      }
    }

    private void check(RefSet set, String what, Object found, Object expected)
        throws IOException, InterruptedException {
      if (!Objects.equals(found, expected)) {
        Path tables = repository.folder().resolve("reftable/tables.list");
        throw new AssertionError(
            String.format(
                Locale.ROOT,
                "%s in %s: %s instead of %s; asked again: %s; git says: %s; tables: %s",
                what,
                repository.folder(),
                found,
                expected,
                RefsModel.read(current.get(), set.prefix()),
                repository.tryGit("for-each-ref", set.prefix()).text(),
                Files.exists(tables) ? Files.readAllLines(tables) : "none"));
      }
    }

    private boolean move(RefSet set, By by) throws IOException, InterruptedException {
      try {
        boolean done = writer.move(set, by);
        if (done || by == By.MODULE) {
          writer.ended(set, done);
          return done;
        }
      } catch (IOException e) {
        // Such as a folder that git has deleted because it was empty.
        say.accept("exception " + by + " " + e);
      }
      return writer.settle(set);
    }
  }

  // ---- at a quiet moment

  /** Compares with JGit and with native git while nobody writes. */
  void compare(String when) throws IOException, InterruptedException {
    if (isReadByJGit()) {
      RefsComparison comparison = new RefsComparison(repository, peer());
      comparison.compare(when, current.get());
      comparison.compare(when + ", in a request", forRequest.get());
    }
    List<String> lines = new ArrayList<>();
    for (Ref ref : current.get().getRefs()) {
      if (ref.getName().startsWith("refs/")) {
        lines.add(ref.getObjectId().name() + " " + ref.getName());
      }
    }
    TestRefs.Output git = repository.tryGit("for-each-ref", "--format=%(objectname) %(refname)");
    assertThat(git.status()).isEqualTo(0);
    assertWithMessage(when).that(lines).isEqualTo(git.text().lines().toList());
  }

  /** Not if there is a table of logs that JGit takes for refs; see {@code TablesOfGitTest}. */
  private boolean isReadByJGit() throws IOException {
    try {
      var unused = peer().exactRef("HEAD");
      return true;
    } catch (IOException e) {
      if (JGitText.get().invalidReftableBlock.equals(e.getMessage())) {
        return false;
      }
      throw e;
    } catch (IndexOutOfBoundsException e) {
      // What JGit takes for offsets of refs may lead anywhere.
      return false;
    }
  }
}
