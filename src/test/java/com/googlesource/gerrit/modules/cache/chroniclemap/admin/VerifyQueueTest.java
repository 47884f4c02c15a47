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

import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.metrics.DisabledMetricMaker;
import com.google.gerrit.metrics.MetricMaker;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.git.WorkQueue;
import com.google.gerrit.server.restapi.config.ListTasks.TaskInfo;
import com.google.gson.JsonObject;
import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Verifies that REST starts, in a real queue of Gerrit's. */
@Timeout(60)
class VerifyQueueTest {
  /** The queues of a Gerrit that has nothing else. */
  static WorkQueue workQueue() {
    return Guice.createInjector(
            new AbstractModule() {
              @Override
              protected void configure() {
                bind(Config.class).annotatedWith(GerritServerConfig.class).toInstance(new Config());
                bind(MetricMaker.class).to(DisabledMetricMaker.class);
                DynamicMap.mapOf(binder(), WorkQueue.TaskListener.class);
              }
            })
        .getInstance(WorkQueue.class);
  }

  private final WorkQueue gerrit = workQueue();
  private final History history = new History(() -> List.of(), () -> null, () -> 0);
  private final VerifyQueue queue =
      new VerifyQueue(gerrit, Optional.of(TestCaches.ofWork(this::verify)), history);
  private final CountDownLatch begun = new CountDownLatch(1);

  @AfterEach
  void stop() {
    queue.stop();
  }

  /** Goes on until it is interrupted, but for some caches. */
  private VerifyReport verify(String cache, Progress progress) {
    if (cache.equals("gone")) {
      return new VerifyReport(0, 0, 0, false, false, 0);
    }
    if (cache.equals("torn")) {
      throw new InternalError("a mapped file was cut short");
    }
    boolean isQuick = cache.startsWith("quick");
    progress.step(1, 3);
    begun.countDown();
    while (!isQuick && !Thread.currentThread().isInterrupted()) {
      Thread.onSpinWait();
    }
    return new VerifyReport(7, 0, 0, false, isQuick, 0);
  }

  private TaskInfo start(String cache) throws Exception {
    return queue.start(/* repair= */ false, cache, "somebody").info();
  }

  /** As {@code gerrit kill} and Gerrit's REST API do. */
  private void kill(TaskInfo task) {
    gerrit.getTask((int) Long.parseLong(task.id, 16)).cancel(true);
  }

  private Events.Event awaitEvent(String cache) {
    while (true) {
      for (Events.Event event : history.events()) {
        if (event.subject().equals(cache)) {
          return event;
        }
      }
      Thread.onSpinWait();
    }
  }

  @Test
  void oneRunsAfterTheOtherAndGerritCancelsThem() throws Exception {
    TaskInfo first = start("a");
    TaskInfo second = start("b");
    begun.await();
    assertThat(gerrit.getTaskInfos(task -> task.toString()))
        .containsExactly(
            "cache-chroniclemap verify a (somebody) 33%", "cache-chroniclemap verify b (somebody)");
    assertThat(queue.queued().stream().map(run -> text(run.json(), "state")).toList())
        .containsExactly("running", "queued")
        .inOrder();
    JsonObject running = queue.queued().get(0).json();
    assertThat(text(running, "id")).isEqualTo(first.id);
    assertThat(text(running, "work")).isEqualTo("verify");
    assertThat(text(running, "cache")).isEqualTo("a");
    assertThat(text(running, "by")).isEqualTo("somebody");
    assertThat(text(running, "progress")).isEqualTo("33%");

    kill(second);
    Events.Event waited = awaitEvent("b");
    assertThat(text(waited.result(), "detail")).isEqualTo("cancelled before it began");
    assertThat(waited.task()).isEqualTo(second.id);
    kill(first);
    Events.Event ran = awaitEvent("a");
    assertThat(ran.text()).isEqualTo("verify by somebody: NOT COMPLETE, interrupted");
    assertThat(ran.kind()).isEqualTo("verify");
    assertThat(ran.by()).isEqualTo("somebody");
    assertThat(ran.to()).isAtLeast(ran.from());
    assertThat(ran.task()).isEqualTo(first.id);
    JsonObject told = history.json("a").getAsJsonArray("events").get(0).getAsJsonObject();
    assertThat(text(told.getAsJsonObject("result"), "entries")).isEqualTo("7");
    await(() -> queue.queued().isEmpty());
  }

  private static String text(JsonObject json, String name) {
    return json.get(name).getAsString();
  }

  /** Whoever asks for what runs, and then for the events, as the page does, misses nothing. */
  @Test
  void eachIsSeenWhileItEnds() throws Exception {
    for (int i = 0; i < 100; i++) {
      String id = start("quick").id;
      // The end is told before the same may be started again.
      await(() -> isEnded(id) && queue.queued().isEmpty());
    }
    TaskInfo task = start("a");
    String waiting = start("quick").id;
    start("quick too");
    TaskInfo cancelled = start("b");
    kill(cancelled);
    assertThat(isEnded(cancelled.id)).isTrue();
    kill(task);
    await(() -> isEnded(waiting));
  }

  private boolean isEnded(String id) {
    boolean isQueued = queue.queued().stream().anyMatch(each -> each.info().id.equals(id));
    boolean isEnded = history.events().stream().anyMatch(event -> id.equals(event.task()));
    assertThat(isQueued || isEnded).isTrue();
    return isEnded;
  }

  @Test
  void theSameIsQueuedOnce() throws Exception {
    TaskInfo first = start("a");
    begun.await();
    TaskInfo other = start("b");
    for (String cache : List.of("a", "b")) {
      assertThrows(ResourceConflictException.class, () -> start(cache));
    }
    assertThat(queue.start(/* repair= */ true, "b", "somebody").info().command)
        .contains("repair b");
    kill(other);
    assertThat(start("b").command).contains("verify b");
    kill(first);
    // The step of the first may still run: they never run beside each other.
    assertThat(start("a").command).contains("verify a");
  }

  @Test
  void anErrorIsTold() throws Exception {
    TaskInfo unused = start("torn");
    assertThat(awaitEvent("torn").text()).contains("it failed; see the log");
    unused = start("gone");
    assertThat(awaitEvent("gone").text()).contains("it has no file");
  }

  /** Gerrit waits for its queues when it stops. */
  @Test
  void theStopCancelsAll() throws Exception {
    TaskInfo unused = start("a");
    unused = start("b");
    begun.await();
    queue.stop();
    assertThat(awaitEvent("a").text()).contains("interrupted");
    await(() -> gerrit.getExecutor(AdminPlugin.NAME) == null);
    assertThat(history.events()).hasSize(1);
  }
}
