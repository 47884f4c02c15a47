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

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RepositoryWriter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each kind of change, with a fault in each of its steps, and with a process that is killed before
 * each of them: refs are all old or all new, and nothing is left.
 */
class RefStepsTest {
  private static final String LOOSE = "refs/heads/loose";
  private static final String LOOSE2 = "refs/heads/loose2";
  private static final String PACKED = "refs/heads/packed";
  private static final String PACKED2 = "refs/heads/packed2";
  private static final String BOTH = "refs/heads/both";
  private static final String NEW = "refs/changes/01/1/1";
  private static final String NEW2 = "refs/changes/01/1/meta";

  @TempDir(factory = InMemory.class)
  Path folder;

  /** A change, and the refs after it by the number of their commits; null for none. */
  private record Case(String name, int maxLooseBatch, Change change) {
    @Override
    public String toString() {
      return name + (maxLooseBatch == 0 ? ", by rewrite" : "");
    }
  }

  @FunctionalInterface
  private interface Change {
    /** Returns whether it was told that all of it has happened. */
    boolean in(Repository repository) throws IOException;
  }

  static Stream<Case> cases() {
    List<Case> cases = new ArrayList<>();
    add(cases, "create", r -> r.update(NEW, null, 1));
    add(cases, "update of a loose ref", r -> r.update(LOOSE, 0, 1));
    add(cases, "update of a packed ref", r -> r.update(PACKED, 0, 1));
    add(cases, "delete a loose ref", r -> r.update(LOOSE, 0, null));
    add(cases, "delete a packed ref", r -> r.update(PACKED, 0, null));
    add(cases, "delete a ref that is both", r -> r.update(BOTH, 1, null));
    for (int maxLooseBatch : new int[] {1000, 0}) {
      batch(cases, maxLooseBatch, "create two", null, NEW, NEW2);
      batch(cases, maxLooseBatch, "update loose and packed", 2, LOOSE, PACKED, BOTH);
      batch(cases, maxLooseBatch, "delete loose", -1, LOOSE, LOOSE2);
      batch(cases, maxLooseBatch, "delete packed", -1, PACKED, PACKED2);
      batch(cases, maxLooseBatch, "delete all kinds", -1, LOOSE, PACKED, BOTH);
      cases.add(
          new Case(
              "all kinds in one",
              maxLooseBatch,
              r ->
                  r.batch(
                      r.command(NEW, null, 3),
                      r.command(LOOSE, 0, 3),
                      r.command(LOOSE2, 0, null),
                      r.command(PACKED, 0, 3),
                      r.command(PACKED2, 0, null),
                      r.command(BOTH, 1, null))));
    }
    cases.add(
        new Case(
            "a folder in the place of a ref",
            1000,
            r -> r.batch(r.command(LOOSE, 0, null), r.command(LOOSE + "/below", null, 3))));
    add(
        cases,
        "pack",
        r -> {
          r.test.pack(r.refs);
          return true;
        });
    return cases.stream();
  }

  private static void add(List<Case> cases, String name, Change change) {
    cases.add(new Case(name, 1000, change));
  }

  private static void batch(
      List<Case> cases, int maxLooseBatch, String name, Integer to, String... names) {
    cases.add(
        new Case(
            "batch: " + name,
            maxLooseBatch,
            r ->
                r.batch(
                    Arrays.stream(names)
                        .map(
                            n ->
                                to == null
                                    ? r.command(n, null, 3)
                                    : r.command(n, n.equals(BOTH) ? 1 : 0, to < 0 ? null : to))
                        .toArray(ReceiveCommand[]::new))));
  }

  /** A repository with refs of all kinds, as one process sees it. */
  private static final class Repository implements AutoCloseable {
    final TestRefs test;
    final FileRefDatabase refs;
    private final RepositoryWriter writes;

    Repository(TestRefs test, RefDisk disk, int maxLooseBatch) {
      this.test = test;
      PackedRefsFile packed = test.packedRefs();
      this.writes = TestRefs.writes(packed, disk);
      this.refs =
          test.database(
              packed, writes, new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, 0));
    }

    /** Those that a process keeps for its next transactions. */
    void closeJournals() {
      writes.close();
    }

    ReceiveCommand command(String name, Integer from, Integer to) {
      return test.command(name, from, to);
    }

    boolean batch(ReceiveCommand... commands) throws IOException {
      return TestRefs.batch(test.repository(), refs, commands);
    }

    boolean update(String name, Integer from, Integer to) throws IOException {
      RefUpdate update = refs.newUpdate(name, false);
      update.setForceUpdate(true);
      update.setExpectedOldObjectId(test.id(from));
      RefUpdate.Result result;
      if (to == null) {
        result = update.delete();
      } else {
        update.setNewObjectId(test.id(to));
        result = update.update();
      }
      return result == RefUpdate.Result.NEW || result == RefUpdate.Result.FORCED;
    }

    Map<String, String> values() throws IOException {
      return TestRefs.values(refs);
    }

    @Override
    public void close() {
      test.close();
    }
  }

  /**
   * The same folder each time, as its objects never change, with nothing of the last one's refs.
   */
  private TestRefs makeRepository(boolean durable) throws Exception {
    Path git = folder.resolve(durable ? "durable.git" : "a.git");
    TestRefs test;
    if (Files.exists(git)) {
      for (Path each : files(git)) {
        String name = each.getFileName().toString();
        if (name.matches("refs|packed-refs|cache-chroniclemap|.*\\.lock")) {
          MoreFiles.deleteRecursively(each, RecursiveDeleteOption.ALLOW_INSECURE);
        }
      }
      Files.createDirectories(git.resolve("refs/heads"));
      test = TestRefs.open(git);
    } else {
      test = TestRefs.create(git, null);
      test.repository().getConfig().setBoolean("core", null, "fsyncRefFiles", durable);
      test.repository().getConfig().save();
    }
    test.writePacked(test.id(0), BOTH, PACKED, PACKED2);
    for (String name : List.of(BOTH, LOOSE, LOOSE2)) {
      Files.writeString(
          test.folder().resolve(name), test.commits().get(name.equals(BOTH) ? 1 : 0).name() + "\n");
    }
    return test;
  }

  private Map<String, String> before;
  private Map<String, String> after;

  private int steps(Case of, boolean durable) throws Exception {
    BrokenDisk disk = BrokenDisk.failingAt(0);
    try (Repository whole = new Repository(makeRepository(durable), disk, of.maxLooseBatch)) {
      before = whole.values();
      assertThat(of.change.in(whole)).isTrue();
      after = whole.values();
      int steps = disk.steps();
      whole.closeJournals();
      assertNothingIsLeft("no fault", whole.test);
      assertGitSees(after, "no fault", whole.test);
      return steps;
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aStepThatFails(Case of) throws Exception {
    for (boolean durable : new boolean[] {false, true}) {
      int steps = steps(of, durable);
      for (int step = 1; step <= steps; step++) {
        BrokenDisk disk = BrokenDisk.failingAt(step);
        try (Repository repository =
            new Repository(makeRepository(durable), disk, of.maxLooseBatch)) {
          boolean done = run(of, repository);
          String what = "step " + step + ", " + disk.failed();
          assertSame(done, what, repository);
          repository.closeJournals();
          if (!disk.failed().startsWith("delete ")) {
            assertNothingIsLeft(what, repository.test);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aProcessThatIsKilledBeforeAStep(Case of) throws Exception {
    for (boolean durable : new boolean[] {false, true}) {
      int steps = steps(of, durable);
      for (int step = 1; step <= steps; step++) {
        BrokenDisk disk = BrokenDisk.killedAt(step);
        TestRefs test = makeRepository(durable);
        try (Repository killed = new Repository(test, disk, of.maxLooseBatch)) {
          boolean acknowledged = run(of, killed);
          String what = "killed at step " + step + ", " + disk.failed();
          // The system would let its locks go; this disk does nothing any more but that.
          killed.closeJournals();
          giveJournalsToAnotherProcess(test.folder());
          try (Repository next =
              new Repository(TestRefs.open(test.folder()), new RefDisk(), of.maxLooseBatch)) {
            assertWhole(acknowledged, what, next);
            next.closeJournals();
            assertNothingIsLeft(what, test);
          }
        }
      }
    }
  }

  /** Returns whether the caller is told that the change has happened. */
  private static boolean run(Case of, Repository repository) {
    try {
      return of.change.in(repository);
    } catch (IOException e) {
      return false;
    }
  }

  private void assertSame(boolean done, String what, Repository repository) throws Exception {
    Map<String, String> values = repository.values();
    assertWithMessage(what).that(values).isEqualTo(done ? after : before);
    assertGitSees(values, what, repository.test);
  }

  /**
   * Their process is the one that runs this test; for the next one they are those of a dead one.
   */
  private static void giveJournalsToAnotherProcess(Path repository) throws IOException {
    Path journals = repository.resolve("cache-chroniclemap");
    if (Files.isDirectory(journals)) {
      for (Path file : files(journals)) {
        Files.move(file, file.resolveSibling("dead-" + file.getFileName()));
      }
    }
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  private void assertWhole(boolean acknowledged, String what, Repository repository)
      throws Exception {
    Map<String, String> values = repository.values();
    if (acknowledged) {
      assertWithMessage(what).that(values).isEqualTo(after);
    } else {
      assertWithMessage(what).that(values).isAnyOf(before, after);
    }
    assertGitSees(values, what, repository.test);
  }

  private static void assertGitSees(Map<String, String> values, String what, TestRefs test)
      throws Exception {
    assertWithMessage(what).that(test.refsOfGit()).isEqualTo(values);
  }

  private static void assertNothingIsLeft(String what, TestRefs test) throws IOException {
    Collection<String> left;
    try (Stream<Path> files = Files.walk(test.folder())) {
      left =
          files
              .map(test.folder()::relativize)
              .map(Path::toString)
              .filter(name -> name.endsWith(".lock") || name.startsWith("cache-chroniclemap/"))
              .toList();
    }
    assertWithMessage(what).that(left).isEmpty();
  }
}
