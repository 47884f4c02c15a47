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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.gerrit.server.InternalUser;
import com.google.gerrit.sshd.BaseCommand.UnloggedFailure;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** A verify over SSH: interrupted, killed, and failing. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class VerifyCommandTest {
  private static final VerifyReport SOUND = new VerifyReport(1, 1, 0, false, true, 1);
  private static final VerifyReport DAMAGED = new VerifyReport(1, 1, 1, false, true, 1);
  private static final VerifyReport INCOMPLETE = new VerifyReport(1, 1, 0, false, false, 1);
  private static final String DROPS = "damaged; verify --repair drops the damaged entries";

  private final History history = new History(() -> List.of(), () -> null, () -> 0);
  private final Queue<String> begun = new ConcurrentLinkedQueue<>();
  private VerifyQueue tasks;

  @AfterEach
  void stop() {
    tasks.stop();
  }

  /** As much of the command as there is without an SSH server. */
  private final class TestCommand extends VerifyCommand {
    final StringWriter printed = new StringWriter();

    @SuppressWarnings("UnnecessaryAssignment") // there is no injector
    TestCommand(TestCaches.Work work) {
      TestCaches caches =
          TestCaches.ofWork(
              (cache, progress) -> {
                begun.add(cache);
                return work.on(cache, progress);
              });
      inventory = caches;
      tasks = new VerifyQueue(VerifyQueueTest.workQueue(), Optional.of(caches), history);
      queue = tasks;
      user = new InternalUser();
      stdout = new PrintWriter(printed);
    }

    String failure() {
      return assertThrows(UnloggedFailure.class, this::run).getMessage();
    }

    /** The results in the table. */
    List<String> results() {
      Pattern row = Pattern.compile("^[ab] .*?ms +(.*)$", Pattern.MULTILINE);
      return row.matcher(printed.toString()).results().map(found -> found.group(1)).toList();
    }
  }

  @Test
  void allGoesWell() throws Exception {
    TestCommand command = new TestCommand((cache, progress) -> SOUND);
    command.run();
    assertThat(begun).containsExactly("a", "b").inOrder();
    assertThat(command.results()).containsExactly("sound", "sound").inOrder();
  }

  @Test
  void whatFailedIsSaidAndTheOthersAreDone() {
    TestCommand command = new TestCommand((cache, progress) -> cache.equals("a") ? DAMAGED : SOUND);
    assertThat(command.failure()).isEqualTo("fatal: a: " + DROPS);
    assertThat(command.results()).containsExactly("DAMAGED", "sound").inOrder();
    // As the page lists it.
    assertThat(history.events().stream().map(Events.Event::text))
        .containsExactly("verify by InternalUser: sound", "verify by InternalUser: DAMAGED")
        .inOrder();
  }

  @Test
  void aReasonOfSeveralCachesIsSaidOnce() {
    TestCommand both = new TestCommand((cache, progress) -> DAMAGED);
    assertThat(both.failure()).isEqualTo("fatal: a, b: " + DROPS);
    tasks.stop();
    TestCommand each =
        new TestCommand((cache, progress) -> cache.equals("a") ? DAMAGED : INCOMPLETE);
    assertThat(each.failure()).isEqualTo("fatal: a: " + DROPS + "\nb: not checked completely");
    assertThat(each.printed.toString()).contains("b: its file failed or could not be read");
  }

  @Test
  void anUnexpectedErrorIsOneCachesOnly() {
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              if (cache.equals("a")) {
                throw new IllegalStateException("thrown by a test");
              }
              return SOUND;
            });
    assertThat(command.failure()).isEqualTo("fatal: a: not checked completely");
    assertThat(command.printed.toString()).contains("a: it failed; see the log");
    assertThat(command.results()).containsExactly("NOT COMPLETE", "sound").inOrder();
  }

  /** Its thread is interrupted when the client disconnects, or the command is killed. */
  @Test
  void theClientGoesAwayAndTheTaskGoesOn() {
    CountDownLatch isAway = new CountDownLatch(1);
    Thread client = Thread.currentThread();
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              client.interrupt();
              Uninterruptibles.awaitUninterruptibly(isAway);
              return Thread.currentThread().isInterrupted() ? INCOMPLETE : SOUND;
            });
    assertThat(command.failure())
        .isEqualTo("fatal: a: interrupted; its task goes on: gerrit show-queue");
    assertThat(tasks.queued()).hasSize(1);
    isAway.countDown();
    await(() -> !history.events().isEmpty());
    assertThat(history.events().get(0).text()).isEqualTo("verify by InternalUser: sound");
    assertThat(begun).containsExactly("a");
  }

  @Test
  void aTaskIsKilledAndTheOthersAreDone() {
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              if (cache.equals("b")) {
                return SOUND;
              }
              tasks.queued().get(0).task.cancel(true);
              while (!Thread.currentThread().isInterrupted()) {
                Thread.onSpinWait();
              }
              return INCOMPLETE;
            });
    assertThat(command.failure()).isEqualTo("fatal: a: not checked completely");
    assertThat(command.results()).containsExactly("NOT COMPLETE", "sound").inOrder();
    assertThat(command.printed.toString()).contains("a: interrupted");
  }

  @Test
  void theSameIsNotDoneTwiceAtOnce() throws Exception {
    CountDownLatch isRefused = new CountDownLatch(1);
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              Uninterruptibles.awaitUninterruptibly(isRefused);
              return SOUND;
            });
    VerifyQueue.Run running = tasks.start(/* repair= */ false, "a", "somebody");
    VerifyQueue.Run waiting = tasks.start(/* repair= */ false, "b", "somebody");
    assertThat(command.failure()).isEqualTo("fatal: a, b: not checked completely");
    assertThat(command.printed.toString()).contains("a: verify a is queued or running already");
    isRefused.countDown();
    assertThat(tasks.await(running).report()).isEqualTo(SOUND);
    assertThat(tasks.await(waiting).report()).isEqualTo(SOUND);
  }
}
