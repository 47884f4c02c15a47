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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.Range;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs.WaitingDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RepositoryWriter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Two make {@code x} and {@code x/y} at the same time: one of them waits before each of its steps
 * in turn, and meanwhile the other does all of its own. Never are both there, and each is told what
 * has become of its own.
 */
@Timeout(value = 300, threadMode = ThreadMode.SEPARATE_THREAD)
class NestedNamesRaceTest {
  private static final String PARENT = "refs/heads/x";
  private static final String CHILD = "refs/heads/x/y";

  /** Waits when refs are locked and looked for, and nothing is renamed yet. */
  private static final String HOOK =
      """
      #!/bin/sh
      if [ "$1" = prepared ]; then
        echo prepared
        cat go-on
      fi
      """;

  @TempDir Path folder;

  @AutoClose private TestRefs test;

  private enum Way {
    SINGLE,
    BATCH,
    REWRITE,
    PACKED_AFTERWARDS
  }

  /** Who begins and waits, and who comes meanwhile. */
  private record Case(String first, Way firstWay, Way secondWay, boolean oneProcess) {
    String second() {
      return first.equals(PARENT) ? CHILD : PARENT;
    }
  }

  static Stream<Case> cases() {
    return Stream.of(PARENT, CHILD)
        .flatMap(
            first ->
                Arrays.stream(Way.values())
                    .flatMap(
                        way ->
                            Arrays.stream(Way.values())
                                .flatMap(
                                    other ->
                                        Stream.of(true, false)
                                            .map(one -> new Case(first, way, other, one)))));
  }

  static Stream<Case> casesBesideGit() {
    return cases().filter(c -> c.oneProcess && c.secondWay == Way.SINGLE);
  }

  /** What a process has of the repository; it writes by the thread that asks. */
  private final class Writer {
    private final FileRefDatabase loose;
    private final FileRefDatabase rewrites;
    private final RepositoryWriter writes;

    Writer(RefDisk disk) {
      PackedRefsFile packed = test.packedRefs();
      writes = new RepositoryWriter(packed, disk, Runnable::run, Runnable::run);
      loose = database(packed, 1000);
      rewrites = database(packed, 0);
    }

    private FileRefDatabase database(PackedRefsFile packed, int maxLooseBatch) {
      return test.database(
          packed, writes, new UpdateSettings(UpdateSettings.By.OWN, maxLooseBatch, 0));
    }

    boolean make(String name, Way way) throws IOException {
      try {
        return switch (way) {
          case SINGLE -> single(name);
          case BATCH -> batch(loose, name);
          case REWRITE -> batch(rewrites, name);
          case PACKED_AFTERWARDS -> {
            boolean made = single(name);
            test.pack(loose);
            yield made;
          }
        };
      } catch (IOException e) {
        return false;
      }
    }

    private boolean single(String name) throws IOException {
      return TestRefs.update(loose, name, test.id(0)) == RefUpdate.Result.NEW;
    }

    private boolean batch(FileRefDatabase refs, String name) throws IOException {
      ReceiveCommand one = test.command(name, null, 0);
      ReceiveCommand two = test.command(name + "-2", null, 0);
      boolean done = TestRefs.batch(test.repository(), refs, one, two);
      boolean isPart =
          one.getResult() == ReceiveCommand.Result.OK
              || two.getResult() == ReceiveCommand.Result.OK;
      assertThat(isPart).isEqualTo(done);
      return done;
    }
  }

  @BeforeEach
  void open() throws Exception {
    test = TestRefs.create(folder.resolve("test.git"), null);
    test.hook(HOOK);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void oneOfTwoIsMade(Case c) throws Exception {
    for (int step = 1; ; step++) {
      AtomicInteger left = new AtomicInteger(step);
      WaitingDisk disk = new WaitingDisk((what, file) -> left.decrementAndGet() == 0);
      Writer first = new Writer(disk);
      Writer second = c.oneProcess ? first : new Writer(new RefDisk());
      FutureTask<Boolean> made = new FutureTask<>(() -> first.make(c.first, c.firstWay));
      FutureTask<Boolean> other = new FutureTask<>(() -> second.make(c.second(), c.secondWay));
      boolean isThere = awaitStep(disk, Thread.ofPlatform().daemon().start(made));
      // Until it is over, or waits for the first one too.
      boolean ended = awaitEndOrWait(Thread.ofPlatform().daemon().start(other));
      disk.goesOn.countDown();
      String when = c + ", before step " + step;
      // If it is not over, each may have met the other one's lock.
      check(when, Map.of(c.first, made.get(), c.second(), other.get()), ended ? 1 : 0);
      first.writes.close();
      second.writes.close();
      if (!isThere) {
        assertThat(step).isGreaterThan(5);
        return;
      }
      deleteAll();
    }
  }

  /** As git, which made the one below, would not have seen the lock either. */
  @Test
  void aFileStaysWhereItsFolderKeepsGitOut() throws Exception {
    Process git = git(PARENT);
    try (BufferedReader said = git.inputReader(UTF_8)) {
      assertThat(said.readLine()).isEqualTo("prepared");
      String id = test.id(0).name();
      test.git("update-ref", CHILD, id);
      Writer ours = new Writer(new RefDisk());
      test.pack(ours.loose);
      ours.writes.close();
      test.letGoOn();
      while (said.readLine() != null) {}
    } finally {
      git.descendants().forEach(ProcessHandle::destroyForcibly);
    }
    check("packed", Map.of(PARENT, git.waitFor() == 0, CHILD, true), 1);
  }

  /** Has git make a ref, which waits when it is prepared. */
  private Process git(String name) throws IOException {
    return test.gitWithHook("update-ref", name, test.id(0).name());
  }

  /** Git has locked its ref and looked for others by then, and goes on when ours is over. */
  @ParameterizedTest
  @MethodSource("casesBesideGit")
  void oneOfTwoIsMadeBesideGit(Case c) throws Exception {
    for (int step = 1; ; step++) {
      AtomicInteger left = new AtomicInteger(step);
      WaitingDisk disk = new WaitingDisk((what, file) -> left.decrementAndGet() == 0);
      Writer ours = new Writer(disk);
      FutureTask<Boolean> made = new FutureTask<>(() -> ours.make(c.first, c.firstWay));
      boolean isThere = awaitStep(disk, Thread.ofPlatform().daemon().start(made));
      Process git = git(c.second());
      try (BufferedReader said = git.inputReader(UTF_8)) {
        boolean prepared = "prepared".equals(said.readLine());
        disk.goesOn.countDown();
        made.get();
        if (prepared) {
          test.letGoOn();
        }
        while (said.readLine() != null) {}
      } finally {
        git.descendants().forEach(ProcessHandle::destroyForcibly);
      }
      String when = c + " and git, before step " + step;
      check(when, Map.of(c.first, made.get(), c.second(), git.waitFor() == 0), 1);
      ours.writes.close();
      if (!isThere) {
        assertThat(step).isGreaterThan(5);
        return;
      }
      deleteAll();
    }
  }

  private RefUpdate.Result make(String name, RefDisk disk) throws IOException {
    return TestRefs.update(test.database(disk, 1000, 0), name, test.id(0));
  }

  /** If it were looked for after the last of many attempts, it could be deleted by then. */
  @Test
  void aRefInThePlaceOfAFolderRefusesAtOnce() throws Exception {
    Files.writeString(test.folder().resolve(PARENT), test.id(0).name() + "\n");
    AtomicInteger attempts = new AtomicInteger();
    RefDisk disk =
        TestRefs.disk(
            (what, file) -> {
              if (what.equals("make folders") && file.endsWith(PARENT)) {
                attempts.incrementAndGet();
              }
            });
    assertThat(make(CHILD, disk)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    assertThat(attempts.get()).isEqualTo(1);
  }

  /** It is refused as well, but was in the way of the rename. */
  @Test
  void theLockBelowOfOneThatIsRefusedRefuses() throws Exception {
    Path place = test.folder().resolve(PARENT);
    RefDisk disk =
        TestRefs.disk(
            (what, file) -> {
              if (what.equals("rename") && file.equals(place) && !Files.exists(place)) {
                Files.createDirectory(place);
                Files.createFile(place.resolve("y.lock"));
              } else if (what.equals("link") && file.endsWith("packed-refs.lock")) {
                MoreFiles.deleteRecursively(place, RecursiveDeleteOption.ALLOW_INSECURE);
              }
            });
    assertThat(make(PARENT, disk)).isEqualTo(RefUpdate.Result.LOCK_FAILURE);
    assertThat(Files.exists(place)).isFalse();
  }

  /** Returns whether the thread came to the step, or was done without it. */
  private static boolean awaitStep(WaitingDisk disk, Thread thread) {
    while (disk.isThere.getCount() > 0) {
      if (!thread.isAlive()) {
        return disk.isThere.getCount() == 0;
      }
      Thread.onSpinWait();
    }
    return true;
  }

  private static boolean awaitEndOrWait(Thread thread) {
    while (true) {
      switch (thread.getState()) {
        case TERMINATED -> {
          return true;
        }
        case BLOCKED, WAITING, TIMED_WAITING -> {
          return false;
        }
        default -> Thread.onSpinWait();
      }
    }
  }

  private void check(String when, Map<String, Boolean> made, int least)
      throws IOException, ExecutionException {
    try (FileRepository anew = new FileRepository(test.folder().toFile())) {
      Set<String> there =
          anew.getRefDatabase().getRefs().stream()
              .map(Ref::getName)
              .filter(made::containsKey)
              .collect(Collectors.toSet());
      Set<String> expected = made.keySet().stream().filter(made::get).collect(Collectors.toSet());
      assertWithMessage(when).that(there).isEqualTo(expected);
      assertWithMessage(when).that(there.size()).isIn(Range.closed(least, 1));
    }
    assertWithMessage(when).that(test.lockFiles()).isEmpty();
  }

  private void deleteAll() throws IOException {
    Files.deleteIfExists(test.folder().resolve("packed-refs"));
    MoreFiles.deleteDirectoryContents(
        test.folder().resolve("refs/heads"), RecursiveDeleteOption.ALLOW_INSECURE);
  }
}
