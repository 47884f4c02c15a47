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

import com.google.common.collect.ImmutableList;
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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Long work that REST starts, in a real queue of Gerrit's. */
@Timeout(60)
class UpkeepQueueTest {
  private static final ImmutableList<Metric<Long>> FIGURES =
      new Metric.Table<Long>("", "").gauge("steps", "", "steps", n -> n).all();

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
  private final UpkeepQueue queue = new UpkeepQueue(gerrit, history);
  private final CountDownLatch begun = new CountDownLatch(1);

  @AfterEach
  void stop() {
    queue.stop();
  }

  private static UpkeepResult result(String cache, String shown) {
    return new UpkeepResult(cache, StoreState.READY, shown, "", "", "", Figures.of(FIGURES, 7L));
  }

  /** Work until it is cancelled. It must not feel the interrupt, which would close its file. */
  private final UpkeepWork endless =
      new UpkeepWork(
          "verify",
          (cache, progress) -> {
            progress.step(1, 3);
            begun.countDown();
            while (!progress.isCancelled()) {
              Thread.onSpinWait();
            }
            return result(cache, Thread.currentThread().isInterrupted() ? "interrupted" : "ended");
          },
          UpkeepQueueTest::result);

  private TaskInfo start(UpkeepWork work, String cache) throws Exception {
    return queue.start(work, cache, "somebody").info();
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
    TaskInfo first = start(endless, "a");
    TaskInfo second = start(endless, "b");
    begun.await();
    assertThat(gerrit.getTaskInfos(task -> task.toString()))
        .containsExactly(
            "cache-chroniclemap verify a (somebody) 33%", "cache-chroniclemap verify b (somebody)");
    assertThat(queue.queued().stream().map(q -> text(q.json(), "state")).toList())
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
    assertThat(waited.text()).isEqualTo("verify by somebody: cancelled before it began");
    assertThat(waited.result()).isNull();
    assertThat(waited.task()).isEqualTo(second.id);
    kill(first);
    Events.Event ran = awaitEvent("a");
    assertThat(ran.text()).isEqualTo("verify by somebody: ended");
    assertThat(ran.kind()).isEqualTo("verify");
    assertThat(ran.to()).isAtLeast(ran.from());
    assertThat(ran.task()).isEqualTo(first.id);
    while (!queue.queued().isEmpty()) {
      Thread.onSpinWait();
    }
  }

  private static String text(JsonObject json, String name) {
    return json.get(name).getAsString();
  }

  /** Whoever asks for what runs, and then for the events, as the page does, misses nothing. */
  @Test
  void eachIsSeenWhileItEnds() throws Exception {
    UpkeepWork quick =
        new UpkeepWork(
            "verify", (cache, progress) -> result(cache, "sound"), UpkeepQueueTest::result);
    for (int i = 0; i < 100; i++) {
      String id = start(quick, "a").id;
      while (!isEnded(id)) {
        Thread.onSpinWait();
      }
    }
    TaskInfo task = start(endless, "b");
    begun.await();
    String waiting = start(quick, "a").id;
    start(quick, "c");
    String cancelled = start(quick, "d").id;
    gerrit.getTask((int) Long.parseLong(cancelled, 16)).cancel(true);
    assertThat(isEnded(cancelled)).isTrue();
    kill(task);
    while (!isEnded(task.id) || !isEnded(waiting)) {
      Thread.onSpinWait();
    }
  }

  private boolean isEnded(String id) {
    boolean isQueued = queue.queued().stream().anyMatch(each -> each.info().id.equals(id));
    boolean isEnded = history.events().stream().anyMatch(event -> id.equals(event.task()));
    assertThat(isQueued || isEnded).isTrue();
    return isEnded;
  }

  @Test
  void theHistoryHasTheFigures() throws Exception {
    TaskInfo task = start(endless, "a");
    begun.await();
    kill(task);
    var unused = awaitEvent("a");
    JsonObject event = history.json("a").getAsJsonArray("events").get(0).getAsJsonObject();
    assertThat(event.getAsJsonObject("result").get("steps").getAsLong()).isEqualTo(7);
  }

  @Test
  void theSameWorkIsQueuedOnce() throws Exception {
    TaskInfo first = start(endless, "a");
    begun.await();
    TaskInfo other = start(endless, "b");
    for (String cache : List.of("a", "b")) {
      assertThrows(ResourceConflictException.class, () -> start(endless, cache));
    }
    kill(other);
    assertThat(start(endless, "b").command).contains("verify b");
    kill(first);
    // The step of the first may still run: they never run beside each other.
    assertThat(start(endless, "a").command).contains("verify a");
  }

  @Test
  void anErrorIsTold() throws Exception {
    UpkeepWork broken =
        new UpkeepWork(
            "verify",
            (cache, progress) -> {
              throw new InternalError("a mapped file was cut short");
            },
            UpkeepQueueTest::result);
    TaskInfo unused = start(broken, "a");
    assertThat(awaitEvent("a").text()).contains("it failed; see the log");
  }

  /** Gerrit waits for its queues when it stops. */
  @Test
  void theStopCancelsAll() throws Exception {
    TaskInfo unused = start(endless, "a");
    unused = start(endless, "b");
    begun.await();
    queue.stop();
    assertThat(awaitEvent("a").text()).contains("ended");
    while (gerrit.getExecutor(AdminPlugin.NAME) != null) {
      Thread.onSpinWait();
    }
    assertThat(history.events()).hasSize(1);
  }
}
