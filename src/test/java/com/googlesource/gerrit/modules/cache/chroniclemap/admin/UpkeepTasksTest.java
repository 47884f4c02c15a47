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
import com.google.gerrit.entities.Account;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Long work that was started by REST. */
@Timeout(60)
class UpkeepTasksTest {
  private static final Account.Id SOMEBODY = Account.id(7);

  private final UpkeepTasks tasks = new UpkeepTasks();
  private final CountDownLatch begun = new CountDownLatch(1);

  @AfterEach
  void stop() {
    tasks.stop();
  }

  private static UpkeepResult result(String cache, String shown) {
    Figures none = new Figures(ImmutableList.of(), new long[0]);
    return new UpkeepResult(cache, StoreState.READY, shown, "", "", shown, none);
  }

  /** Work until it is cancelled. */
  private final UpkeepWork endless =
      new UpkeepWork(
          "test",
          ImmutableList.of(),
          (cache, progress) -> {
            progress.step(1, 3);
            begun.countDown();
            while (!progress.isCancelled()) {
              Thread.onSpinWait();
            }
            return result(cache, "worked");
          },
          UpkeepTasksTest::result);

  private static void awaitEnd(UpkeepTasks.Task task) {
    while (!task.hasEnded()) {
      Thread.onSpinWait();
    }
  }

  private static String shown(UpkeepTasks.Task task, String field) {
    return task.json().get(field).getAsString();
  }

  @Test
  void oneRunsAfterTheOther() throws Exception {
    UpkeepTasks.Task first = tasks.start(endless, "a", SOMEBODY);
    UpkeepTasks.Task second = tasks.start(endless, "b", SOMEBODY);
    begun.await();
    assertThat(shown(first, "state")).isEqualTo("running");
    assertThat(shown(first, "steps_done")).isEqualTo("1");
    assertThat(shown(first, "steps")).isEqualTo("3");
    assertThat(shown(second, "state")).isEqualTo("waiting");
    assertThat(tasks.all()).containsExactly(first, second).inOrder();
    assertThat(tasks.find(shown(second, "id")).orElseThrow()).isSameInstanceAs(second);
    assertThat(tasks.find("nonsense")).isEmpty();

    second.cancel();
    assertThat(second.hasEnded()).isTrue();
    first.cancel();
    awaitEnd(first);
    assertThat(shown(first, "failure")).isEqualTo("worked");
    assertThat(shown(second, "failure")).isEqualTo("cancelled before it began");
    assertThat(second.json().has("result")).isFalse();
    assertThat(shown(second, "state")).isEqualTo("ended");
  }

  @Test
  void aTaskEndsEvenByAnError() throws Exception {
    UpkeepWork broken =
        new UpkeepWork(
            "test",
            ImmutableList.of(),
            (cache, progress) -> {
              throw new InternalError("a mapped file was cut short");
            },
            UpkeepTasksTest::result);
    UpkeepTasks.Task task = tasks.start(broken, "a", SOMEBODY);
    awaitEnd(task);
    assertThat(shown(task, "failure")).isEqualTo("it failed; see the log");
    task.cancel();
    assertThat(task.json().get("cancelled").getAsBoolean()).isFalse();
  }

  @Test
  void oneUserMayNotBlockTheOthers() throws Exception {
    for (int i = 0; i < UpkeepTasks.MOST_OF_ONE; i++) {
      var unused = tasks.start(endless, "a", SOMEBODY);
    }
    assertThrows(ResourceConflictException.class, () -> tasks.start(endless, "a", SOMEBODY));
    assertThat(tasks.start(endless, "a", Account.id(8)).hasEnded()).isFalse();
  }

  @Test
  void tooManyAreRefusedAndEndedOnesAreForgotten() throws Exception {
    for (int i = 0; i < UpkeepTasks.MOST; i++) {
      var unused = tasks.start(endless, "a", Account.id(100 + i));
    }
    assertThrows(ResourceConflictException.class, () -> tasks.start(endless, "a", SOMEBODY));
    List<UpkeepTasks.Task> all = tasks.all();
    all.forEach(UpkeepTasks.Task::cancel);
    all.forEach(UpkeepTasksTest::awaitEnd);
    UpkeepTasks.Task next = tasks.start(endless, "a", SOMEBODY);
    assertThat(tasks.all()).contains(next);
    assertThat(tasks.all().size()).isAtMost(UpkeepTasks.MOST);
  }

  @Test
  void theStopCancelsAll() throws Exception {
    UpkeepTasks.Task first = tasks.start(endless, "a", SOMEBODY);
    UpkeepTasks.Task second = tasks.start(endless, "b", SOMEBODY);
    tasks.stop();
    awaitEnd(first);
    awaitEnd(second);
  }
}
