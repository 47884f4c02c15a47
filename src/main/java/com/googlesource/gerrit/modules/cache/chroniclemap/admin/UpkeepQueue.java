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
import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.server.git.WorkQueue;
import com.google.gerrit.server.restapi.config.ListTasks.TaskInfo;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;

/**
 * The queue of long work that REST and SSH commands start: one at a time, in a queue of Gerrit's,
 * which lists and cancels it. The {@link History} has the work that has ended. Any thread may call.
 */
@Singleton
final class UpkeepQueue implements LifecycleListener {
  private static final long LOOK_AGAIN_MILLIS = 1000;
  private static final String CANCELLED = "cancelled before it began";

  private final ExecutorService queue;
  private final History history;

  /** The work that is queued or running, in the order of its start. Guarded by this. */
  private final List<Queued> tasks = new ArrayList<>();

  /** Work that is queued or running. */
  record Queued(WorkQueue.Task<?> task, Run run) {
    /** As Gerrit's own REST API shows it. */
    TaskInfo info() {
      return new TaskInfo(task);
    }

    JsonObject json() {
      JsonObject out = new JsonObject();
      TaskInfo info = info();
      out.addProperty("id", info.id);
      out.addProperty("work", run.work.name());
      out.addProperty("cache", run.cache);
      out.addProperty("by", run.by);
      out.addProperty("start", info.startTime.getTime());
      boolean isRunning = info.state == WorkQueue.Task.State.RUNNING;
      out.addProperty("state", isRunning ? "running" : task.isDone() ? "ending" : "queued");
      out.addProperty("progress", run.progress());
      return out;
    }

    /** Whether it is yet to end. Gerrit calls a task done that was cancelled and still runs. */
    boolean isLeft() {
      return !task.isDone() || run.begun;
    }
  }

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
   * @throws ResourceConflictException if such work on the cache is queued or running, and not
   *     cancelled; so there are never more of these than caches and kinds of work
   */
  synchronized Queued start(UpkeepWork work, String cache, String by)
      throws ResourceConflictException {
    // Of a task that is cancelled just when it begins, Gerrit calls neither run nor cancel.
    tasks.removeIf(queued -> !queued.isLeft());
    if (tasks.stream()
        .filter(queued -> !queued.task.isDone())
        .anyMatch(q -> q.run.work.name().equals(work.name()) && q.run.cache.equals(cache))) {
      throw new ResourceConflictException(
          work.name() + " " + cache + " is queued or running already");
    }
    Run run = new Run(this, work, cache, by);
    Queued queued = new Queued((WorkQueue.Task<?>) queue.submit(run), run);
    run.id = queued.info().id;
    tasks.add(queued);
    return queued;
  }

  /** Waits for the result of work. An interrupt ends the wait, and not the work. */
  synchronized UpkeepResult await(Queued queued) throws InterruptedException {
    while (queued.isLeft() && queued.run.result == null) {
      // Looks again, as Gerrit does not tell of each task that it cancels; see above.
      wait(LOOK_AGAIN_MILLIS);
    }
    UpkeepResult result = queued.run.result;
    return result == null ? queued.run.work.refused().apply(queued.run.cache, CANCELLED) : result;
  }

  /** Returns the work that is queued or running, in the order of its start. */
  synchronized ImmutableList<Queued> queued() {
    return tasks.stream().filter(Queued::isLeft).collect(ImmutableList.toImmutableList());
  }

  /**
   * Notes work that has ended.
   *
   * @param begun in milliseconds since the epoch
   * @param result null if it was cancelled before it began
   */
  private void end(Run run, long begun, String outcome, @Nullable UpkeepResult result) {
    try {
      // What the work has found comes before its end.
      history.look();
      String text = run.work.name() + " by " + run.by + ": " + outcome;
      @Nullable JsonObject figures = result == null ? null : UpkeepFormat.json(result);
      long now = System.currentTimeMillis();
      history.add(
          new Events.Event(begun, now, run.cache, run.work.name(), text, 1, figures, idOf(run)));
    } finally {
      // Whatever the history says: a command waits for this. Only now, so that whoever asks for
      // what is queued, and then for the events, finds the work.
      synchronized (this) {
        tasks.removeIf(queued -> queued.run.equals(run));
        run.result = result == null ? run.work.refused().apply(run.cache, CANCELLED) : result;
        notifyAll();
      }
    }
  }

  /** Waits for the start, which may not have returned yet, and so set the id. */
  private synchronized String idOf(Run run) {
    return run.id;
  }

  /** Work on one cache. Gerrit lists it by its string, and interrupts it to cancel it. */
  static final class Run implements WorkQueue.CancelableRunnable, Progress {
    private final UpkeepQueue queue;
    final UpkeepWork work;
    final String cache;
    final String by;

    /** Of its task, once it has one. Guarded by the queue. */
    private String id = "";

    private volatile int done;
    private volatile int total;

    /** Whether it has begun, so that its end will be noted. */
    private volatile boolean begun;

    private volatile boolean cancelled;

    /** Set when it has ended. */
    @Nullable private volatile UpkeepResult result;

    Run(UpkeepQueue queue, UpkeepWork work, String cache, String by) {
      this.queue = queue;
      this.work = work;
      this.cache = cache;
      this.by = by;
    }

    @Override
    public void step(int stepsDone, int allSteps) {
      done = stepsDone;
      total = allSteps;
    }

    @Override
    public boolean isCancelled() {
      return cancelled;
    }

    /**
     * Works on a thread of its own, as an interrupt would close the file that the work reads. An
     * interrupt of the calling thread cancels the work, which then ends after its current step.
     */
    @Override
    public void run() {
      begun = true;
      long start = System.currentTimeMillis();
      UpkeepResult[] found = {
        work.refused().apply(cache, "it could not be started or has failed: see the log")
      };
      try {
        Thread worker =
            Thread.ofPlatform()
                .daemon()
                .name(work.name() + " " + cache)
                .start(() -> found[0] = work.run(cache, this));
        while (worker.isAlive()) {
          try {
            worker.join();
          } catch (InterruptedException e) {
            cancelled = true;
          }
        }
      } finally {
        String why = found[0].detail().isEmpty() ? "" : ", " + found[0].detail();
        queue.end(this, start, found[0].shown() + why, found[0]);
      }
    }

    /** Called instead of {@link #run}. */
    @Override
    public void cancel() {
      queue.end(this, System.currentTimeMillis(), CANCELLED, null);
    }

    /** How much of it is done; empty if that is unknown. */
    String progress() {
      return Units.percent(done, total);
    }

    /** As Gerrit shows an SSH command, and how much of it is done. */
    @Override
    public String toString() {
      return (AdminPlugin.NAME + " " + work.name() + " " + cache + " (" + by + ") " + progress())
          .stripTrailing();
    }
  }
}
