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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.TestRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.LockFailedException;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.transport.ReceiveCommand;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Writers of {@code packed-refs} that come while it is written, and what becomes of each. */
@Timeout(120)
class PackedRefsQueueTest {
  private static final long SECONDS = 60;
  private static final String PACKED = "refs/heads/packed";
  private static final String LOOSE = "refs/heads/loose";

  @TempDir Path folder;

  private final AtomicInteger rewrites = new AtomicInteger();

  /** Its first sync of a new {@code packed-refs} waits. */
  private final TestRefs.WaitingDisk disk =
      new TestRefs.WaitingDisk(
          (step, path) ->
              step.equals("sync")
                  && path.toString().endsWith(".packed")
                  && rewrites.incrementAndGet() == 1);

  private final AtomicBoolean refuses = new AtomicBoolean();
  private TestRefs test;
  private PackedRefsFile file;
  private PackedRefsQueue queue;

  /** Where a request fails. */
  private enum Stage {
    COLLECT,
    DECIDE,
    FINISH
  }

  /** Gives one ref a line. */
  private static final class OneLine implements PackedRefsQueue.Request {
    private final HeldLocks locks;
    private final String name;
    private final ObjectId id;
    @Nullable private final Stage failing;

    /** For the thread that writes, until the request is over. */
    boolean finished;

    OneLine(HeldLocks locks, String name, ObjectId id, @Nullable Stage failing) {
      this.locks = locks;
      this.name = name;
      this.id = id;
      this.failing = failing;
    }

    private void reach(Stage stage) throws IOException {
      if (stage == failing) {
        throw new IOException(name + " fails to " + stage);
      }
    }

    @Override
    public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
      reach(Stage.COLLECT);
      edits.set(name, id, null);
    }

    @Override
    public void decide() throws IOException {
      reach(Stage.DECIDE);
    }

    @Override
    public void finish() throws IOException {
      reach(Stage.FINISH);
      finished = true;
    }
  }

  @BeforeEach
  void makeRepository() throws IOException {
    test = TestRefs.create(folder.resolve("a.git"), null);
    test.writePacked(test.id(0), PACKED);
    file = test.packedRefs();
    queue =
        new PackedRefsQueue(
            file,
            disk,
            task -> {
              if (refuses.get()) {
                throw new RejectedExecutionException("shut down");
              }
              var unused = Thread.ofPlatform().daemon().start(task);
            });
  }

  @AfterEach
  void close() {
    disk.goesOn.countDown();
    test.close();
  }

  /** Somebody who waits for the queue, on a thread of his own. */
  private static final class Waiter<T> {
    private final FutureTask<T> task;
    private final Thread thread;

    Waiter(Callable<T> callable) {
      task = new FutureTask<>(callable);
      thread = Thread.ofPlatform().daemon().start(task);
    }

    /** Returns when his request is in the queue. */
    void awaitQueued() {
      long begun = System.nanoTime();
      while (Arrays.stream(thread.getStackTrace())
          .noneMatch(
              frame ->
                  frame.getClassName().equals(PackedRefsQueue.class.getName())
                      && frame.getMethodName().equals("await"))) {
        assertWithMessage("has ended, with %s", task).that(task.isDone()).isFalse();
        assertWithMessage("is not in PackedRefsQueue.await after %s s", SECONDS)
            .that(System.nanoTime() - begun)
            .isLessThan(TimeUnit.SECONDS.toNanos(SECONDS));
        Thread.onSpinWait();
      }
    }

    T get() throws Exception {
      return task.get(SECONDS, TimeUnit.SECONDS);
    }

    Throwable failure() {
      return assertThrows(ExecutionException.class, this::get).getCause();
    }
  }

  private OneLine line(String name, @Nullable Stage failing) throws Exception {
    RefPaths paths = new RefPaths(test.repository(), file.file);
    return new OneLine(
        HeldLocks.lock(paths, new JournalFolder(disk), List.of(), 0),
        name,
        test.commits().get(1),
        failing);
  }

  private Waiter<OneLine> submit(OneLine request) {
    return new Waiter<>(
        () -> {
          try {
            queue.run(
                request,
                new PackedRefsQueue.Options(request.locks, true, false),
                byContent ->
                    byContent ? file.current(TrustStat.NEVER) : file.current(TrustStat.AFTER_OPEN));
          } finally {
            request.locks.close();
          }
          return request;
        });
  }

  /** Has a first writer wait in the middle of its rewrite. */
  private Waiter<OneLine> submitFirst() throws Exception {
    Waiter<OneLine> first = submit(line("refs/heads/first", null));
    assertThat(disk.isThere.await(SECONDS, TimeUnit.SECONDS)).isTrue();
    return first;
  }

  private List<String> packed() throws IOException {
    return Files.readAllLines(file.file.toPath()).stream()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.substring(line.indexOf(' ') + 1))
        .toList();
  }

  private void assertNothingIsLeft() throws IOException {
    assertThat(Files.exists(test.folder().resolve("packed-refs.lock"))).isFalse();
    try (var files = Files.list(test.folder().resolve("cache-chroniclemap"))) {
      assertThat(files.filter(each -> each.toString().endsWith(".packed")).toList()).isEmpty();
    }
  }

  @Test
  void thoseWhoWaitAreJoinedIntoOneRewrite() throws Exception {
    Waiter<OneLine> first = submitFirst();
    List<Waiter<OneLine>> others = new ArrayList<>();
    List<String> names = new ArrayList<>(List.of("refs/heads/first", PACKED));
    for (int i = 0; i < 5; i++) {
      names.add("refs/heads/other" + i);
      others.add(submit(line("refs/heads/other" + i, null)));
    }
    others.forEach(Waiter::awaitQueued);
    assertThat(packed()).containsExactly(PACKED);
    disk.goesOn.countDown();
    assertThat(first.get().finished).isTrue();
    for (Waiter<OneLine> other : others) {
      assertThat(other.get().finished).isTrue();
    }
    assertThat(packed()).containsExactlyElementsIn(names);
    assertThat(rewrites.get()).isEqualTo(2);
    assertThat(file.current(TrustStat.ALWAYS).size()).isEqualTo(names.size());
    assertNothingIsLeft();
  }

  @ParameterizedTest
  @EnumSource(Stage.class)
  void oneThatFailsIsToldSoAndTheOthersAreRight(Stage stage) throws Exception {
    Waiter<OneLine> first = submitFirst();
    Waiter<OneLine> before = submit(line("refs/heads/before", null));
    before.awaitQueued();
    Waiter<OneLine> failing = submit(line("refs/heads/failing", stage));
    failing.awaitQueued();
    Waiter<OneLine> after = submit(line("refs/heads/later", null));
    after.awaitQueued();
    disk.goesOn.countDown();
    assertThat(first.get().finished).isTrue();
    assertThat(before.get().finished).isTrue();
    assertThat(after.get().finished).isTrue();
    assertThat(failing.failure())
        .hasMessageThat()
        .isEqualTo("refs/heads/failing fails to " + stage);
    List<String> names =
        new ArrayList<>(
            List.of("refs/heads/first", PACKED, "refs/heads/before", "refs/heads/later"));
    if (stage == Stage.FINISH) {
      // Its line was in place by then; it is for itself to take it back.
      names.add("refs/heads/failing");
    }
    assertThat(packed()).containsExactlyElementsIn(names);
    assertNothingIsLeft();
  }

  @Test
  void alockOfAnotherProcessFailsAllAndStays() throws Exception {
    Path lock = test.folder().resolve("packed-refs.lock");
    Files.createFile(lock);
    List<Waiter<OneLine>> all = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      all.add(submit(line("refs/heads/other" + i, null)));
    }
    for (Waiter<OneLine> each : all) {
      assertThat(each.failure()).isInstanceOf(LockFailedException.class);
    }
    assertThat(Files.exists(lock)).isTrue();
    assertThat(packed()).containsExactly(PACKED);
    Files.delete(lock);
    disk.goesOn.countDown();
    assertThat(submit(line("refs/heads/again", null)).get().finished).isTrue();
    assertNothingIsLeft();
  }

  @Test
  void whereNoThreadCanBeHadItFailsAndTheNextOneIsServed() throws Exception {
    disk.goesOn.countDown();
    refuses.set(true);
    for (int i = 0; i < 2; i++) {
      assertThat(submit(line("refs/heads/other" + i, null)).failure())
          .hasCauseThat()
          .isInstanceOf(RejectedExecutionException.class);
    }
    refuses.set(false);
    assertThat(submit(line("refs/heads/again", null)).get().finished).isTrue();
    assertThat(packed()).containsExactly(PACKED, "refs/heads/again");
    assertNothingIsLeft();
  }

  // ---- with the requests that there are

  private RefDatabase database() {
    return test.database(file, disk, new UpdateSettings(UpdateSettings.By.OWN, 1000, 0));
  }

  /**
   * Its loose file is there until the new {@code packed-refs} is in place, so who packs still finds
   * it.
   */
  @ParameterizedTest
  @ValueSource(strings = {"batch, packed first", "batch", "single, packed first", "single"})
  void aRefThatIsPackedByTheRewriteInWhichItIsDeletedIsGone(String how) throws Exception {
    Files.writeString(test.folder().resolve(LOOSE), test.commits().get(1).name() + "\n");
    RefDatabase refs = database();
    Waiter<Boolean> first = new Waiter<>(() -> isDeleted(refs, PACKED, test.commits().get(0)));
    assertThat(disk.isThere.await(SECONDS, TimeUnit.SECONDS)).isTrue();
    Callable<Boolean> packs =
        () -> {
          test.pack(refs);
          return true;
        };
    Callable<Boolean> deletes =
        () ->
            how.startsWith("batch")
                ? isDeletedInABatch(refs)
                : isDeleted(refs, LOOSE, test.commits().get(1));
    Waiter<Boolean> one = new Waiter<>(how.endsWith("first") ? packs : deletes);
    one.awaitQueued();
    Waiter<Boolean> two = new Waiter<>(how.endsWith("first") ? deletes : packs);
    two.awaitQueued();
    disk.goesOn.countDown();
    assertThat(first.get()).isTrue();
    assertThat(one.get()).isTrue();
    assertThat(two.get()).isTrue();
    assertThat(refs.exactRef(LOOSE)).isNull();
    assertThat(packed()).doesNotContain(LOOSE);
    assertNothingIsLeft();
  }

  private static boolean isDeleted(RefDatabase refs, String name, ObjectId id) throws IOException {
    return TestRefs.force(refs, name, id, ObjectId.zeroId()) == RefUpdate.Result.FORCED;
  }

  private boolean isDeletedInABatch(RefDatabase refs) throws IOException {
    return TestRefs.batch(
        test.repository(),
        refs,
        new ReceiveCommand(test.commits().get(1), ObjectId.zeroId(), LOOSE),
        new ReceiveCommand(ObjectId.zeroId(), test.commits().get(2), "refs/heads/made"));
  }
}
