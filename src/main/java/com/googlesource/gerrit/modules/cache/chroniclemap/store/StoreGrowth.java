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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.io.IOException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Replaces a store's file by a larger one when it fills, or by one of another size on request, in
 * the background: {@link Generations} tells how. The writer's lock is taken for one segment at a
 * time, so that others wait for it for milliseconds at most.
 */
final class StoreGrowth implements DiskBudget.Owner {
  /** After a growth failed, the next one is tried no earlier. */
  private static final long RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** How long a putter may wait for a growth when no more writes can wait. */
  private static final long BRIEF_MILLIS = 500;

  private final StoreSettings settings;
  private final StoreFile file;
  private final PendingWrites pending;
  private final FaultLog faults;
  private final GrowthPlan plan;
  private final WriterLock lock;
  private final StoreCounters counters;
  private final MaxAge maxAge;
  private final StoreThreads threads;
  private final DiskBudget budget;
  private final Runnable grown;

  /** Done unless a growth is running or about to. */
  private final AtomicReference<CompletableFuture<Boolean>> run =
      new AtomicReference<>(CompletableFuture.completedFuture(false));

  private volatile long refusedUntil = System.nanoTime();

  /**
   * Begins with nothing to do.
   *
   * @param grown told when there is more room, or there will be none
   */
  StoreGrowth(
      StoreSettings settings,
      StoreFile file,
      PendingWrites pending,
      MaxAge maxAge,
      StoreCounters counters,
      FaultLog faults,
      WriterLock lock,
      StoreThreads threads,
      DiskBudget budget,
      Runnable grown) {
    this.settings = settings;
    this.file = file;
    this.pending = pending;
    this.maxAge = maxAge;
    this.counters = counters;
    this.faults = faults;
    this.plan = new GrowthPlan(settings.maxBytes());
    this.lock = lock;
    this.threads = threads;
    this.budget = budget;
    this.grown = grown;
  }

  /** Whether the file is growing, or about to. */
  boolean isRunning() {
    return !run.get().isDone();
  }

  /** Returns when no growth is running. Not under the writer's lock. */
  void await() {
    run.get().join();
  }

  /** Returns when no growth is running, or after a while. Not under the writer's lock. */
  void awaitBriefly() {
    try {
      var unused = run.get().get(BRIEF_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // Then something has to go from the files there are.
    }
  }

  /**
   * Sees to it that the file grows. Under the writer's lock.
   *
   * @param valueLength bytes of a value that did not fit, or 0
   * @return whether there will be more room soon
   */
  boolean request(Generations generations, int valueLength) {
    if (generations.isRebuilding() && isRunning()) {
      // The value did not fit the next file either; that one may grow in its turn.
      return plan.next(generations.nextBytes(), valueLength, 0).isPresent();
    }
    long current = generations.current().name().bytes();
    OptionalLong bytes = plan.next(current, valueLength, generations.liveBytes() + pending.bytes());
    if (bytes.isEmpty() && generations.isShortOfSlots()) {
      // Values are far smaller than when the file was made: it has room but no slots for them. At
      // its limit it can only be made anew by way of a smaller one.
      bytes = plan.previous(current);
    }
    if (bytes.isEmpty() || System.nanoTime() - refusedUntil < 0) {
      return false;
    }
    return begin(generations, bytes.getAsLong(), Progress.NONE, new CompletableFuture<>())
        || isRunning();
  }

  /**
   * Replaces the file by one of another size.
   *
   * @return told whether that was done; empty if it can't be begun, as another rebuild is running
   */
  Optional<CompletableFuture<Boolean>> rebuild(
      Generations generations, long bytes, Progress progress) {
    CompletableFuture<Boolean> mine = new CompletableFuture<>();
    return begin(generations, bytes, progress, mine) ? Optional.of(mine) : Optional.empty();
  }

  @Override
  public String cache() {
    return StoreFiles.escape(settings.name());
  }

  @Override
  public long maxBytes() {
    return settings.maxBytes();
  }

  /** Gives half of the file back if it can; another store has a better right to it. */
  @Override
  public void shrink() {
    Generations generations = file.generations();
    if (generations != null) {
      long half = generations.current().name().bytes() / 2;
      if (half >= Geometry.MIN_FILE_BYTES) {
        var unused = rebuild(generations, half, Progress.NONE);
      }
    }
  }

  /** Leaves the disk to the other stores: there is no file. */
  void releaseDisk() {
    budget.release(this);
  }

  /** Says that the file stays, though it is in use no more. */
  void leaveDisk() {
    budget.leave(this);
  }

  /** Returns false if another rebuild is running or the background threads were stopped. */
  private boolean begin(
      Generations generations, long bytes, Progress progress, CompletableFuture<Boolean> mine) {
    CompletableFuture<Boolean> last = run.get();
    if (!last.isDone() || !run.compareAndSet(last, mine)) {
      return false;
    }
    if (!threads.maintain(() -> run(generations, bytes, progress, mine))) {
      mine.complete(false);
      return false;
    }
    return true;
  }

  private void run(
      Generations generations, long bytes, Progress progress, CompletableFuture<Boolean> mine) {
    boolean done = false;
    try {
      done = rebuildNow(generations, bytes, progress);
    } finally {
      mine.complete(done);
      grown.run();
    }
  }

  private boolean rebuildNow(Generations generations, long bytes, Progress progress) {
    long before = generations.current().name().bytes();
    if (bytes > before && !resize(bytes)) {
      // As at its own limit: nothing is wrong.
      refusedUntil = System.nanoTime() + RETRY_NANOS;
      return false;
    }
    boolean done = false;
    Generation made = null;
    try {
      made = make(generations, bytes);
    } catch (IOException | RuntimeException | Error e) {
      // The file in use is not concerned; if it failed meanwhile, that was said.
      if (file.uses(generations)) {
        refuse(e);
      }
    }
    try {
      done = made != null && take(generations, made) && copyAll(generations, progress);
    } catch (IOException e) {
      refuse(e);
      abandon(generations);
    } catch (RuntimeException | Error e) {
      // First: what follows may fail like this.
      file.fail(file.generations(), e);
      abandon(generations);
    }
    var unused = resize(done ? bytes : before);
    return done;
  }

  /** Changes what the store takes of the disk of all; returns false if there is too little. */
  private boolean resize(long bytes) {
    // A growth may end after the file it was for, when nothing is taken any more.
    return !file.isOver() && budget.resize(this, bytes);
  }

  /** Returns null if the store has given its file up. */
  private Generation make(Generations generations, long bytes) throws IOException {
    StoreFiles.GenerationFile name;
    lock.lock();
    try {
      if (!file.uses(generations)) {
        return null;
      }
      name = generations.nextName(bytes);
    } finally {
      lock.unlock();
    }
    return generations.make(name);
  }

  private boolean copyAll(Generations generations, Progress progress) throws IOException {
    int segments = generations.segments();
    for (int i = 0; i < segments; i++) {
      if (progress.isCancelled()) {
        abandon(generations);
        return false;
      }
      lock.giveWay();
      copy(generations, i);
      progress.step(i + 1, segments);
    }
    return finish(generations);
  }

  private void abandon(Generations generations) {
    lock.lock();
    try {
      generations.abandonRebuild();
    } finally {
      lock.unlock();
    }
  }

  private boolean take(Generations generations, Generation made) {
    lock.lock();
    try {
      if (!file.uses(generations)) {
        generations.discard(made);
        return false;
      }
      generations.beginRebuild(made);
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void copy(Generations generations, int segment) throws IOException {
    lock.lock();
    try {
      if (file.uses(generations)) {
        counters.notStored.add(generations.copySegment(segment, maxAge.minCreated()));
      }
    } finally {
      lock.unlock();
    }
  }

  private boolean finish(Generations generations) throws IOException {
    Generation old;
    lock.lock();
    try {
      old = file.install(generations);
      if (old == null) {
        return false;
      }
      counters.growths.increment();
    } finally {
      lock.unlock();
    }
    // Waits for readers; writers need not.
    old.unmap();
    return true;
  }

  private void refuse(Throwable cause) {
    refusedUntil = System.nanoTime() + RETRY_NANOS;
    faults.warn(cause, "cannot be given another file: what is used least leaves the one it has");
  }
}
