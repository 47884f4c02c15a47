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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.cache.CacheStats;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.gerrit.server.InternalUser;
import com.google.gerrit.sshd.BaseCommand.UnloggedFailure;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Long work over SSH: interrupted, killed, and failing. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class UpkeepCommandTest {
  private static CacheReport report(String name) {
    StartReport start = new StartReport(StartReport.Kind.NEW, "", 0, 0);
    StoreStats stats =
        new StoreStats(StoreState.READY, start, new StoreCounts(), 0, 0, 0, 0, 0, 0, 0);
    return new CacheReport(
        name, 0, 0, new CacheStats(0, 0, 0, 0, 0, 0), stats, 0, ImmutableMap.of());
  }

  private final History history = new History(() -> List.of(), () -> null, () -> 0);
  private final UpkeepQueue tasks = new UpkeepQueue(UpkeepQueueTest.workQueue(), history);

  @AfterEach
  void stop() {
    tasks.stop();
  }

  private interface Work {
    String on(String cache, Progress progress);
  }

  /** As much of a command as there is without an SSH server. */
  private final class TestCommand extends UpkeepCommand {
    final List<String> begun = new ArrayList<>();
    final StringWriter printed = new StringWriter();
    private final Work work;

    @SuppressWarnings("UnnecessaryAssignment") // there is no injector
    TestCommand(Work work) {
      inventory =
          new TestCaches(
              Optional.of(Path.of("/site/cache")),
              Optional.empty(),
              List.of(report("a"), report("b")));
      queue = tasks;
      user = new InternalUser();
      this.work = work;
      stdout = new PrintWriter(printed);
    }

    @Override
    UpkeepWork work() {
      return new UpkeepWork(
          "test",
          (cache, progress) -> {
            begun.add(cache);
            return result(cache, work.on(cache, progress));
          },
          (cache, reason) -> result(cache, "refused " + reason));
    }

    private static final ImmutableList<Metric<Integer>> ENTRIES =
        new Metric.Table<Integer>("", "").gauge("entries", "", "entries", count -> count).all();

    private static UpkeepResult result(String cache, String shown) {
      String failure = shown.equals("good") ? "" : "not good: " + shown;
      return new UpkeepResult(
          cache, StoreState.READY, shown, "", "", failure, Figures.of(ENTRIES, 1));
    }

    /** The results in the table. */
    List<String> results() {
      Pattern row = Pattern.compile("^[ab] +(.*)$", Pattern.MULTILINE);
      return row.matcher(printed.toString()).results().map(found -> found.group(1)).toList();
    }
  }

  @Test
  void allGoesWell() throws Exception {
    TestCommand command = new TestCommand((cache, progress) -> "good");
    command.run();
    assertThat(command.begun).containsExactly("a", "b").inOrder();
    assertThat(command.results()).containsExactly("good", "good").inOrder();
  }

  @Test
  void whatFailedIsSaidAndTheOthersAreDone() {
    TestCommand command = new TestCommand((cache, progress) -> cache.equals("a") ? "torn" : "good");
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure).hasMessageThat().isEqualTo("fatal: a: not good: torn");
    assertThat(command.results()).containsExactly("torn", "good").inOrder();
    // As the page lists it.
    assertThat(history.events().stream().map(Events.Event::text))
        .containsExactly("test by InternalUser: good", "test by InternalUser: torn")
        .inOrder();
  }

  @Test
  void aReasonOfSeveralCachesIsSaidOnce() {
    TestCommand command = new TestCommand((cache, progress) -> "torn");
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure).hasMessageThat().isEqualTo("fatal: a, b: not good: torn");
    command = new TestCommand((cache, progress) -> "torn " + cache);
    failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure)
        .hasMessageThat()
        .isEqualTo("fatal: a: not good: torn a\nb: not good: torn b");
  }

  @Test
  void anUnexpectedErrorIsOneCachesOnly() {
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              if (cache.equals("a")) {
                throw new IllegalStateException("thrown by a test");
              }
              return "good";
            });
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure).hasMessageThat().contains("it failed; see the log");
    assertThat(command.results()).hasSize(2);
    assertThat(command.results().get(1)).endsWith("good");
  }

  /** Its thread is interrupted when the client disconnects, or the command is killed. */
  @Test
  void theClientGoesAwayAndTheTaskGoesOn() throws Exception {
    CountDownLatch isAway = new CountDownLatch(1);
    Thread client = Thread.currentThread();
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              client.interrupt();
              Uninterruptibles.awaitUninterruptibly(isAway);
              return progress.isCancelled() ? "cancelled" : "good";
            });
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure)
        .hasMessageThat()
        .isEqualTo("fatal: a: interrupted; its task goes on: gerrit show-queue");
    assertThat(tasks.queued()).hasSize(1);
    isAway.countDown();
    while (history.events().isEmpty()) {
      Thread.onSpinWait();
    }
    assertThat(history.events().get(0).text()).isEqualTo("test by InternalUser: good");
    assertThat(command.begun).containsExactly("a");
  }

  @Test
  void aTaskIsKilledAndTheOthersAreDone() throws Exception {
    TestCommand[] command = new TestCommand[1];
    command[0] =
        new TestCommand(
            (cache, progress) -> {
              if (cache.equals("a")) {
                tasks.queued().get(0).task().cancel(true);
                while (!progress.isCancelled()) {
                  Thread.onSpinWait();
                }
                return "ended early";
              }
              return "good";
            });
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command[0]::run);
    assertThat(failure).hasMessageThat().isEqualTo("fatal: a: not good: ended early");
    assertThat(command[0].results()).containsExactly("ended early", "good").inOrder();
  }

  @Test
  void theSameWorkIsNotDoneTwiceAtOnce() throws Exception {
    CountDownLatch isRefused = new CountDownLatch(1);
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              Uninterruptibles.awaitUninterruptibly(isRefused);
              return "good";
            });
    UpkeepQueue.Queued running = tasks.start(command.work(), "a", "somebody");
    UpkeepQueue.Queued waiting = tasks.start(command.work(), "b", "somebody");
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure)
        .hasMessageThat()
        .isEqualTo(
            "fatal: a: not good: refused test a is queued or running already\n"
                + "b: not good: refused test b is queued or running already");
    isRefused.countDown();
    assertThat(tasks.await(running).shown()).isEqualTo("good");
    assertThat(tasks.await(waiting).shown()).isEqualTo("good");
  }
}
