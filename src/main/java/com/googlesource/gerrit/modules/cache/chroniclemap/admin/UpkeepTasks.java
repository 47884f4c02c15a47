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

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.Ints;
import com.google.common.util.concurrent.ThreadFactoryBuilder;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.entities.Account;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gson.JsonObject;
import com.google.inject.Singleton;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Long work that was started by REST, with its progress. One task runs at a time, in the order in
 * which they were started; the results of the last ones are kept in memory. Any thread may call.
 */
@Singleton
final class UpkeepTasks implements LifecycleListener {
  /** How many tasks are known. The oldest ones that have ended are forgotten first. */
  static final int MOST = 50;

  private final ExecutorService executor =
      Executors.newSingleThreadExecutor(
          new ThreadFactoryBuilder()
              .setDaemon(true)
              .setNameFormat(AdminPlugin.NAME + "-upkeep")
              .build());

  /** By id. Guarded by this. */
  private final TreeMap<Integer, Task> tasks = new TreeMap<>();

  /** The newest id. Guarded by this. */
  private int last;

  @Override
  public void start() {}

  /** Cancels all tasks. No thread is interrupted, as that would close the file that it reads. */
  @Override
  public void stop() {
    executor.shutdown();
    all().forEach(task -> task.watched.cancel());
  }

  /**
   * Starts work on a cache, as soon as the tasks before it have ended.
   *
   * @throws ResourceConflictException if too many tasks are waiting
   */
  synchronized Task start(UpkeepWork work, String cache, Account.Id by)
      throws ResourceConflictException {
    if (tasks.size() == MOST) {
      Task oldest =
          tasks.values().stream()
              .filter(Task::hasEnded)
              .findFirst()
              .orElseThrow(
                  () ->
                      new ResourceConflictException(
                          MOST + " tasks are waiting already; try again later"));
      tasks.remove(oldest.id);
    }
    Task task = new Task(++last, work, cache, by);
    executor.execute(task);
    tasks.put(task.id, task);
    return task;
  }

  synchronized ImmutableList<Task> all() {
    return ImmutableList.copyOf(tasks.values());
  }

  synchronized Optional<Task> find(String id) {
    return Optional.ofNullable(Ints.tryParse(id)).map(tasks::get);
  }

  /** Work on one cache. */
  static final class Task implements Runnable {
    private final int id;
    private final UpkeepWork work;
    private final String cache;
    private final Account.Id by;
    private final WatchedTask watched = new WatchedTask();
    private volatile boolean isRunning;
    @Nullable private volatile UpkeepResult result;

    private Task(int id, UpkeepWork work, String cache, Account.Id by) {
      this.id = id;
      this.work = work;
      this.cache = cache;
      this.by = by;
    }

    @Override
    public void run() {
      isRunning = true;
      result =
          watched.isCancelled()
              ? work.refused(cache, "cancelled before it began")
              : work.run(cache, watched);
    }

    /** Cancels the task. What it had done stays, and its file is as it was. */
    void cancel() {
      watched.cancel();
    }

    boolean hasEnded() {
      return result != null;
    }

    /** Who has started it. */
    Account.Id by() {
      return by;
    }

    JsonObject json() {
      UpkeepResult known = result;
      JsonObject out = new JsonObject();
      out.addProperty("id", Integer.toString(id));
      out.addProperty("kind", work.name());
      out.addProperty("cache", cache);
      out.addProperty("account_id", by.get());
      out.addProperty("state", known != null ? "ended" : isRunning ? "running" : "waiting");
      out.addProperty("cancelled", watched.isCancelled());
      out.addProperty("steps_done", watched.done());
      out.addProperty("steps", watched.total());
      if (known != null) {
        out.addProperty("failure", known.failure());
        out.add("result", UpkeepShown.json(known));
      }
      return out;
    }
  }
}
