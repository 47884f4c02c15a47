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
import com.google.common.collect.ImmutableMap;
import com.google.common.flogger.FluentLogger;
import com.google.common.primitives.Ints;
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
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How many tasks are known. The oldest ones that have ended are forgotten first. */
  static final int MOST = 50;

  /** How many tasks of one user may wait or run. */
  static final int MOST_OF_ONE = 10;

  private final ExecutorService executor =
      Executors.newSingleThreadExecutor(
          Thread.ofPlatform().daemon().name(AdminPlugin.NAME + "-upkeep").factory());

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
    all().forEach(Task::cancel);
  }

  /**
   * Starts work on a cache, as soon as the tasks before it have ended.
   *
   * @throws ResourceConflictException if too many tasks are waiting, of all users or of this one
   */
  synchronized Task start(UpkeepWork work, String cache, Account.Id by)
      throws ResourceConflictException {
    if (tasks.values().stream().filter(t -> t.by.equals(by) && !t.hasEnded()).count()
        >= MOST_OF_ONE) {
      throw new ResourceConflictException(
          MOST_OF_ONE + " tasks of yours are waiting already; cancel some, or try again later");
    }
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
    private enum State {
      WAITING,
      RUNNING,
      ENDED
    }

    private final int id;
    private final UpkeepWork work;
    final String cache;

    /** Who has started it. */
    final Account.Id by;

    private final WatchedTask watched = new WatchedTask();

    // Guarded by this.
    private State state = State.WAITING;
    private String failure = "";
    @Nullable private UpkeepResult result;

    private Task(int id, UpkeepWork work, String cache, Account.Id by) {
      this.id = id;
      this.work = work;
      this.cache = cache;
      this.by = by;
    }

    @Override
    public void run() {
      synchronized (this) {
        if (state == State.ENDED) {
          return;
        }
        state = State.RUNNING;
      }
      UpkeepResult done = null;
      try {
        done = work.run(cache, watched);
      } catch (RuntimeException | Error e) {
        logger.atSevere().withCause(e).log("%s of cache %s failed", work.name(), cache);
      }
      synchronized (this) {
        result = done;
        failure = done == null ? "it failed; see the log" : done.failure();
        state = State.ENDED;
      }
    }

    /** Cancels the task, unless it has ended. The file is left as it was. */
    synchronized void cancel() {
      if (!hasEnded()) {
        watched.cancel();
        if (state == State.WAITING) {
          failure = "cancelled before it began";
          state = State.ENDED;
        }
      }
    }

    synchronized boolean hasEnded() {
      return state == State.ENDED;
    }

    /**
     * What the page shows of the task.
     *
     * @param mayCancel whether the user may cancel it
     */
    synchronized ImmutableMap<String, ?> shown(boolean mayCancel) {
      WatchedTask.Steps steps = watched.steps;
      String ended = failure.isEmpty() && result != null ? result.shown() : failure;
      String going = watched.isCancelled() ? "cancelled, ending" : CachesJson.lower(state);
      return ImmutableMap.<String, Object>builder()
          .put("id", id)
          .put("kind", work.name())
          .put("cache", cache)
          .put("state", hasEnded() ? ended : going)
          .put("mayCancel", mayCancel && !hasEnded())
          .put("done", steps.done())
          .put("total", steps.total())
          .build();
    }

    synchronized JsonObject json() {
      JsonObject out = new JsonObject();
      out.addProperty("id", Integer.toString(id));
      out.addProperty("kind", work.name());
      out.addProperty("cache", cache);
      out.addProperty("account_id", by.get());
      out.addProperty("state", CachesJson.lower(state));
      out.addProperty("cancelled", watched.isCancelled());
      WatchedTask.Steps steps = watched.steps;
      out.addProperty("steps_done", steps.done());
      out.addProperty("steps", steps.total());
      out.addProperty("failure", failure);
      if (result != null) {
        out.add("result", UpkeepShown.json(result));
      }
      return out;
    }
  }
}
