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
    assertThat(queue.all().queued().stream().map(queued -> queued.info().state).toList())
        .containsExactly(WorkQueue.Task.State.RUNNING, WorkQueue.Task.State.READY)
        .inOrder();

    kill(second);
    Events.Event waited = awaitEvent("b");
    assertThat(waited.text()).isEqualTo("verify by somebody: cancelled before it began");
    assertThat(waited.result()).isNull();
    kill(first);
    Events.Event ran = awaitEvent("a");
    assertThat(ran.text()).isEqualTo("verify by somebody: ended");
    assertThat(ran.kind()).isEqualTo("verify");
    assertThat(ran.to()).isAtLeast(ran.from());
    assertThat(queue.all().queued()).isEmpty();
    assertThat(queue.all().ended().stream().map(e -> e.cache() + " " + e.by() + " " + e.outcome()))
        .containsExactly("a somebody ended", "b somebody cancelled before it began")
        .inOrder();
  }

  /** Whoever asks meanwhile finds what runs once, whether it ends by itself or is cancelled. */
  @Test
  void eachIsThereOnceWhileItEnds() throws Exception {
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
    kill(start(quick, "d"));
    assertThat(queue.all().ended().get(0).cache()).isEqualTo("d");
    assertThat(queue.all().ended().get(0).task()).isNotEmpty();
    kill(task);
    while (!isEnded(task.id) || !isEnded(waiting)) {
      Thread.onSpinWait();
    }
  }

  private boolean isEnded(String id) {
    UpkeepQueue.All all = queue.all();
    long queued = all.queued().stream().filter(each -> each.info().id.equals(id)).count();
    long ended = all.ended().stream().filter(each -> each.task().equals(id)).count();
    assertThat(queued + ended).isEqualTo(1);
    return ended == 1;
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
