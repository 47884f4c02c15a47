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
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each kind of change, with a fault in each of its steps, and with a process that is killed before
 * each of them: refs are all old or all new, and nothing is left.
 */
class RefStepsTest {
  private static final List<String> LOOSE = List.of("refs/heads/loose", "refs/heads/loose2");
  private static final List<String> PACKED = List.of("refs/heads/packed", "refs/heads/packed2");

  /** It has the value B, and A in packed-refs. All others have A. */
  private static final String BOTH = "refs/heads/both";

  private static final List<RefsScript> CHANGES =
      RefsScript.of(
          """
          create
            update refs/changes/01/1/1 B expect 0
          create one with a long name
            update LONG B expect 0
          create a symbolic ref
            link refs/heads/symbolic loose
          update a loose ref
            force loose B expect A
          update a packed ref
            force packed B expect A
          delete a loose ref
            delete loose expect A
          delete a packed ref
            delete packed expect A
          delete a ref that is both
            delete both expect B
          create two
            batch: refs/changes/01/1/1 0>D, refs/changes/01/1/meta 0>D
          update loose and packed ones
            batch force: loose A>C, packed A>C, both B>C
          delete loose ones
            batch: loose A>0, loose2 A>0
          delete packed ones
            batch: packed A>0, packed2 A>0
          delete all kinds
            batch: loose A>0, packed A>0, both B>0
          all kinds in one
            batch force: refs/changes/01/1/1 0>D, loose A>D, loose2 A>0, packed A>D, packed2 A>0,
            both B>0
          a folder in the place of a ref
            batch: loose A>0, loose/below 0>D
          pack
            pack
          """
              .replace("LONG", "long".repeat(50)));

  @TempDir(factory = InMemory.class)
  Path folder;

  /** A change; batches are made as loose refs, and by a rewrite of packed-refs. */
  private record Case(RefsScript change, int maxLooseBatch) {
    @Override
    public String toString() {
      return change + (maxLooseBatch == 0 ? ", by rewrite" : "");
    }
  }

  static Stream<Case> cases() {
    return CHANGES.stream()
        .flatMap(
            change ->
                IntStream.of(1000, 0)
                    .filter(most -> most > 0 || change.steps().trim().startsWith("batch"))
                    .mapToObj(most -> new Case(change, most)));
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

    /** Returns whether the caller is told that the change has happened. */
    boolean does(Case of) throws Exception {
      return new RefsSide(test, refs).isDone(of.change.steps());
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
      test = TestRefs.createWith(git, Map.of("core.fsyncRefFiles", durable));
    }
    RefObjects.insert(test.repository());
    test.writePacked(RefObjects.A, BOTH, PACKED.get(0), PACKED.get(1));
    Files.writeString(test.folder().resolve(BOTH), RefObjects.B.name() + "\n");
    for (String name : LOOSE) {
      Files.writeString(test.folder().resolve(name), RefObjects.A.name() + "\n");
    }
    return test;
  }

  private Map<String, String> before;
  private Map<String, String> after;

  private int steps(Case of, boolean durable) throws Exception {
    BrokenDisk disk = BrokenDisk.failingAt(0);
    try (Repository whole = new Repository(makeRepository(durable), disk, of.maxLooseBatch)) {
      before = whole.values();
      assertThat(whole.does(of)).isTrue();
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
          boolean done = repository.does(of);
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
          boolean acknowledged = killed.does(of);
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
