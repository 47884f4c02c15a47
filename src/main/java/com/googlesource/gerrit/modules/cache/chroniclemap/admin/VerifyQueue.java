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
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.restapi.ResourceConflictException;
import com.google.gerrit.server.git.WorkQueue;
import com.google.gerrit.server.restapi.config.ListTasks.TaskInfo;
import com.google.gson.JsonObject;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;

/**
 * The queue of verifies that REST and SSH commands start: one at a time, in a queue of Gerrit's,
 * which lists and cancels them. The {@link History} has those that have ended. Any thread may call.
 */
@Singleton
final class VerifyQueue implements LifecycleListener {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final long LOOK_AGAIN_MILLIS = 1000;
  private static final String CANCELLED = "cancelled before it began";
  private static final String INTERRUPTED = "interrupted";

  private final ExecutorService queue;

  /** Null if only refs are kept, so that nothing is ever queued. */
  @Nullable private final CacheInventory inventory;

  private final History history;

  /** What is queued or running, in the order of its start. Guarded by this. */
  private final List<Run> runs = new ArrayList<>();

  @Inject
  VerifyQueue(WorkQueue queues, Optional<CacheInventory> inventory, History history) {
    this.queue = queues.createQueue(1, AdminPlugin.NAME);
    this.inventory = inventory.orElse(null);
    this.history = history;
  }

  @Override
  public void start() {}

  /** Cancels all, as Gerrit waits for them when Gerrit stops its queues. */
  @Override
  public void stop() {
    var unused = queue.shutdownNow();
  }

  /**
   * Starts a verify of a cache, as soon as those before it have ended.
   *
   * @param by the user who starts it
   * @throws ResourceConflictException if the same is queued or running, and not cancelled; so there
   *     are never more of these than caches, with and without repair
   */
  synchronized Run start(boolean repair, String cache, String by) throws ResourceConflictException {
    // Of a task that is cancelled just when it begins, Gerrit calls neither run nor cancel.
    runs.removeIf(run -> !run.isLeft());
    Run started = new Run(repair, cache, by);
    if (runs.stream()
        .filter(run -> !run.task.isDone())
        .anyMatch(run -> run.repair == repair && run.cache.equals(cache))) {
      throw new ResourceConflictException(
          started.work() + " " + cache + " is queued or running already");
    }
    started.task = (WorkQueue.Task<?>) queue.submit(started);
    runs.add(started);
    return started;
  }

  /** Waits for the result. An interrupt ends the wait, and not the verify. */
  synchronized VerifyResult await(Run run) throws InterruptedException {
    while (run.isLeft() && run.result == null) {
      // Looks again, as Gerrit does not tell of each task that it cancels; see above.
      wait(LOOK_AGAIN_MILLIS);
    }
    return run.result == null ? run.none(CANCELLED) : run.result;
  }

  /** Returns what is queued or running, in the order of its start. */
  synchronized ImmutableList<Run> queued() {
    return runs.stream().filter(Run::isLeft).collect(ImmutableList.toImmutableList());
  }

  /**
   * Notes a verify that has ended.
   *
   * @param begun in milliseconds since the epoch
   */
  private void end(Run run, long begun, VerifyResult result) {
    try {
      // What was found comes before the end.
      history.look();
      String why = result.why().isEmpty() ? "" : ", " + result.why();
      String text = run.work() + " by " + run.by + ": " + result.verdict().shown + why;
      long now = System.currentTimeMillis();
      history.add(
          new Events.Event(
              begun, now, run.cache, run.work(), text, 1, run.by, result.json(), run.id()));
    } finally {
      // Whatever the history says: a command waits for this. Only now, so that whoever asks for
      // what is queued, and then for the events, finds the verify.
      synchronized (this) {
        runs.remove(run);
        run.result = result;
        notifyAll();
      }
    }
  }

  /** A verify of one cache. Gerrit lists it by its string, and interrupts it to cancel it. */
  final class Run implements WorkQueue.CancelableRunnable, Progress {
    private final boolean repair;
    private final String cache;
    private final String by;

    /** Null only while it is being submitted. Guarded by the queue until then. */
    WorkQueue.Task<?> task;

    private volatile int done;
    private volatile int total;

    /** Whether it has begun, so that its end will be noted. */
    private volatile boolean begun;

    /** Set when it has ended. */
    @Nullable private volatile VerifyResult result;

    Run(boolean repair, String cache, String by) {
      this.repair = repair;
      this.cache = cache;
      this.by = by;
    }

    /** The name of the work. */
    private String work() {
      return repair ? "repair" : "verify";
    }

    private VerifyResult none(String why) {
      return VerifyResult.none(cache, repair, why);
    }

    /** As Gerrit's own REST API shows it. */
    TaskInfo info() {
      return new TaskInfo(task);
    }

    /** The id of its task. Waits for the start, which may not have returned yet. */
    private String id() {
      synchronized (VerifyQueue.this) {
        return info().id;
      }
    }

    /** Whether it is yet to end. Gerrit calls a task done that was cancelled and still runs. */
    private boolean isLeft() {
      return !task.isDone() || begun;
    }

    JsonObject json() {
      JsonObject out = new JsonObject();
      TaskInfo info = info();
      out.addProperty("id", info.id);
      out.addProperty("work", work());
      out.addProperty("cache", cache);
      out.addProperty("by", by);
      out.addProperty("start", CachesJson.timestamp(info.startTime.getTime()));
      boolean isRunning = info.state == WorkQueue.Task.State.RUNNING;
      out.addProperty("state", isRunning ? "running" : task.isDone() ? "ending" : "queued");
      out.addProperty("progress", progress());
      return out;
    }

    @Override
    public void step(int stepsDone, int allSteps) {
      done = stepsDone;
      total = allSteps;
    }

    /** An interrupt, by which Gerrit cancels it, ends the work after its current step. */
    @Override
    public void run() {
      begun = true;
      end(this, System.currentTimeMillis(), verify());
    }

    private VerifyResult verify() {
      try {
        VerifyReport report = inventory.verify(cache, repair, this);
        boolean isDone = report.complete() || report.repaired();
        return new VerifyResult(cache, repair, report, isDone ? "" : whyIncomplete());
      } catch (InterruptedException e) {
        return none(INTERRUPTED);
      } catch (Exception | Error e) {
        logger.atWarning().withCause(e).log("%s of cache %s failed; run it again", work(), cache);
        return none("it failed; see the log");
      }
    }

    private String whyIncomplete() {
      if (Thread.currentThread().isInterrupted()) {
        return INTERRUPTED;
      }
      boolean hasFile =
          inventory.reports().stream()
              .filter(report -> report.name().equals(cache))
              .anyMatch(report -> report.disk().state() == StoreState.READY);
      return hasFile
          ? "its file failed or could not be read (see the log): run it again"
          : "it has no file; see the show command";
    }

    /** Called instead of {@link #run}. */
    @Override
    public void cancel() {
      end(this, System.currentTimeMillis(), none(CANCELLED));
    }

    /** How much of it is done; empty if that is unknown. */
    private String progress() {
      return Units.percent(done, total);
    }

    /** As Gerrit shows an SSH command, and how much of it is done. */
    @Override
    public String toString() {
      return (AdminPlugin.NAME + " " + work() + " " + cache + " (" + by + ") " + progress())
          .stripTrailing();
    }
  }
}
