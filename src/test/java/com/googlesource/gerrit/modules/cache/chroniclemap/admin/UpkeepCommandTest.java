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
import com.google.gerrit.server.InternalUser;
import com.google.gerrit.sshd.BaseCommand.UnloggedFailure;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.apache.sshd.server.Environment;
import org.apache.sshd.server.Signal;
import org.apache.sshd.server.StandardEnvironment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Long work over SSH: interrupted in all the ways there are, and failing. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class UpkeepCommandTest {
  private static CacheReport report(String name) {
    StartReport start = new StartReport(StartReport.Kind.NEW, "", 0, 0);
    StoreStats stats = new StoreStats(StoreState.READY, start, new StoreCounts(), 0, 0, 0, 0, 0, 0);
    return new CacheReport(name, 0, new CacheStats(0, 0, 0, 0, 0, 0), stats, 0, ImmutableMap.of());
  }

  private interface Work {
    String on(String cache, Progress progress);
  }

  /** A keyboard on which nothing but Ctrl-C is pressed. */
  private static final class Keys extends InputStream {
    volatile boolean pressed;

    @Override
    public int available() {
      return pressed ? 1 : 0;
    }

    @Override
    public int read() {
      pressed = false;
      return 3;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) {
      bytes[offset] = (byte) read();
      return 1;
    }
  }

  /** As much of a command as there is without an SSH server. */
  private static final class TestCommand extends UpkeepCommand {
    final List<String> begun = new ArrayList<>();
    final StringWriter printed = new StringWriter();
    final StringWriter shown = new StringWriter();
    private final Work work;

    final Keys keys = new Keys();

    @SuppressWarnings("UnnecessaryAssignment") // there is no injector
    TestCommand(Work work) {
      inventory =
          new TestCaches(
              Optional.of(Path.of("/site/cache")),
              Optional.empty(),
              List.of(report("a"), report("b")));
      queue =
          new UpkeepQueue(
              UpkeepQueueTest.workQueue(), new History(() -> List.of(), () -> null, () -> 0));
      user = new InternalUser();
      this.work = work;
      in = keys;
      stdout = new PrintWriter(printed);
      stderr = new PrintWriter(shown);
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

  private static String untilCancelled(Progress progress) {
    while (!progress.isCancelled()) {
      Thread.onSpinWait();
    }
    return "ended early";
  }

  private static StandardEnvironment terminal() {
    StandardEnvironment env = new StandardEnvironment();
    env.set(Environment.ENV_TERM, "xterm");
    env.set(Environment.ENV_COLUMNS, "60");
    return env;
  }

  private static void assertInterrupted(TestCommand command) {
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure).hasMessageThat().isEqualTo("fatal: interrupted");
    assertThat(command.begun).containsExactly("a");
    assertThat(command.results()).containsExactly("ended early").inOrder();
  }

  @Test
  void allGoesWell() throws Exception {
    TestCommand command = new TestCommand((cache, progress) -> "good");
    command.run();
    assertThat(command.begun).containsExactly("a", "b").inOrder();
    assertThat(command.results()).containsExactly("good", "good").inOrder();
    assertThat(command.shown.toString()).isEmpty();
  }

  @Test
  void whatFailedIsSaidAndTheOthersAreDone() {
    TestCommand command = new TestCommand((cache, progress) -> cache.equals("a") ? "torn" : "good");
    UnloggedFailure failure = assertThrows(UnloggedFailure.class, command::run);
    assertThat(failure).hasMessageThat().isEqualTo("fatal: a: not good: torn");
    assertThat(command.results()).containsExactly("torn", "good").inOrder();
    // As the page lists it.
    assertThat(command.queue.all().ended().stream().map(e -> e.by() + " " + e.outcome()))
        .containsExactly("InternalUser good", "InternalUser torn")
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

  @Test
  void theClientGoesAway() {
    TestCommand[] command = new TestCommand[1];
    command[0] =
        new TestCommand(
            (cache, progress) -> {
              command[0].destroy(null);
              return untilCancelled(progress);
            });
    assertInterrupted(command[0]);
  }

  @Test
  void theClientSendsASignal() {
    StandardEnvironment env = terminal();
    TestCommand command =
        new TestCommand(
            (cache, progress) -> {
              env.signal(null, Signal.INT);
              return untilCancelled(progress);
            });
    command.readTerminal(env);
    assertInterrupted(command);
  }

  @Test
  void ctrlCOnATerminal() {
    TestCommand[] command = new TestCommand[1];
    command[0] =
        new TestCommand(
            (cache, progress) -> {
              command[0].keys.pressed = true;
              return untilCancelled(progress);
            });
    command[0].readTerminal(terminal());
    assertInterrupted(command[0]);
    assertThat(command[0].shown.toString()).startsWith("\r1/2 a");
  }

  @Test
  void withoutATerminalTheInputIsNobodys() throws Exception {
    TestCommand command = new TestCommand((cache, progress) -> "good");
    command.keys.pressed = true;
    command.run();
    assertThat(command.begun).hasSize(2);
    assertThat(command.keys.pressed).isTrue();
  }
}
