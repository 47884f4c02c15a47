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

import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.server.git.WorkQueue;
import com.google.gerrit.server.restapi.config.ListTasks.TaskInfo;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;

/**
 * The queue of long work that REST starts: one at a time, in a queue of Gerrit's, which lists and
 * cancels it. The {@link History} has the work that has ended. Any thread may call.
 */
@Singleton
final class UpkeepQueue implements LifecycleListener {
  private final ExecutorService queue;
  private final History history;

  /** The work that is queued or running, by its name. Guarded by this. */
  private final Map<String, WorkQueue.Task<?>> tasks = new LinkedHashMap<>();

  @Inject
  UpkeepQueue(WorkQueue queues, History history) {
    this.queue = queues.createQueue(1, AdminPlugin.NAME);
    this.history = history;
  }

  @Override
  public void start() {}

  /** Cancels all work, as Gerrit waits for it when Gerrit stops its queues. */
  @Override
  public void stop() {
    var unused = queue.shutdownNow();
  }

  /**
   * Starts work on a cache, as soon as the work before it has ended.
   *
   * @param by the user who starts it
   * @return the task, as Gerrit's own REST API shows it
   * @throws ResourceConflictException if such work on the cache is queued or running; so there are
   *     never more tasks than caches and kinds of work
   */
  synchronized TaskInfo start(UpkeepWork work, String cache, String by)
      throws ResourceConflictException {
    tasks.values().removeIf(WorkQueue.Task::isDone);
    String name = work.name() + " " + cache;
    if (tasks.containsKey(name)) {
      throw new ResourceConflictException(name + " is queued or running already");
    }
    Run run = new Run(history, work, cache, by, new WatchedRun());
    WorkQueue.Task<?> task = (WorkQueue.Task<?>) queue.submit(run);
    tasks.put(name, task);
    return new TaskInfo(task);
  }

  /** Returns the work that is queued or running, in the order of its start. */
  synchronized List<TaskInfo> tasks() {
    tasks.values().removeIf(WorkQueue.Task::isDone);
    return tasks.values().stream().map(TaskInfo::new).toList();
  }

  /** Work on one cache. Gerrit lists it by its string, and interrupts it to cancel it. */
  private record Run(History history, UpkeepWork work, String cache, String by, WatchedRun watched)
      implements WorkQueue.CancelableRunnable {
    @Override
    public void run() {
      long begun = System.currentTimeMillis();
      UpkeepResult result = work.run(cache, watched, Progress.NONE);
      String why = result.detail().isEmpty() ? "" : ", " + result.detail();
      end(begun, result.shown() + why, UpkeepFormat.json(result));
    }

    /** Called instead of {@link #run}. */
    @Override
    public void cancel() {
      end(System.currentTimeMillis(), "cancelled before it began", null);
    }

    private void end(long begun, String outcome, @Nullable JsonObject result) {
      String text = work.name() + " by " + by + ": " + outcome;
      long now = System.currentTimeMillis();
      history.add(new Events.Event(begun, now, cache, work.name(), text, 1, result));
    }

    /** As Gerrit shows an SSH command, and how much of it is done. */
    @Override
    public String toString() {
      WatchedRun.Steps steps = watched.steps;
      String done = Units.percent(steps.done(), steps.total());
      return (AdminPlugin.NAME + " " + work.name() + " " + cache + " (" + by + ") " + done)
          .stripTrailing();
    }
  }
}
