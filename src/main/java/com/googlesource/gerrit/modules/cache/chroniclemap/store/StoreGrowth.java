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

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.Generation;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.GenerationFactory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles.GenerationName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.Rebuild;
import java.io.IOException;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/**
 * The growth of a store: replaces its file by a larger one when it fills, or by one of another size
 * on request, as {@link Generation} says. This runs in the background and takes the writer lock for
 * one segment at a time, so that others wait for milliseconds at most.
 */
final class StoreGrowth {
  /** How long after a failed growth no other one is tried. */
  private static final long RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** How long a growth may have run for {@link #awaitYoung} to wait for it. */
  private static final long YOUNG_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** How long {@link #awaitBriefly} waits: a growth of a small file is about done by then. */
  private static final long BRIEF_MILLIS = 300;

  /** So many changed keys are copied while nobody else may write: a matter of a millisecond. */
  private static final int MAX_KEYS_AT_ONCE = 100;

  private final StoreContext context;
  private final CurrentFile current;
  private final GrowthPlan plan;
  private final Runnable grown;

  /** A growth that was requested. */
  private static final class Run extends CompletableFuture<Boolean> {
    /** Whether the growth has begun, or never will. */
    final AtomicBoolean begun = new AtomicBoolean();

    final long requested = System.nanoTime();

    static Run ended() {
      Run run = new Run();
      run.begun.set(true);
      run.complete(false);
      return run;
    }
  }

  /** The last growth; done unless it is running or about to run. */
  private final AtomicReference<Run> run = new AtomicReference<>(Run.ended());

  private volatile long refusedUntil = System.nanoTime();

  /** A file that is copied to another one. */
  private record Copying(Generation file, Generation made, Rebuild rebuild) {}

  /** Null unless a file is copied. Changed under the writer lock. */
  private volatile Copying copying;

  /**
   * Starts with no growth.
   *
   * @param grown called when there is more room, or when there will be none
   */
  StoreGrowth(StoreContext context, CurrentFile current, Runnable grown) {
    this.context = context;
    this.current = current;
    this.plan = new GrowthPlan(context.settings.maxBytes());
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

  /** Cancels a growth that has not begun, so that nobody waits for it. */
  void giveUp() {
    Run last = run.get();
    if (last.begun.compareAndSet(false, true)) {
      last.complete(false);
    }
  }

  /** Like {@link #await}, but only for a short time; an interrupt stays pending. */
  void awaitBriefly() {
    // The caller gives up a growth that is still running.
    boolean unused = awaitEnd(run.get(), MILLISECONDS.toNanos(BRIEF_MILLIS));
  }

  /**
   * Like {@link #await}, but not for a growth that has run for some time, as that of a large file.
   *
   * @return whether no growth is running any more
   */
  boolean awaitYoung() {
    Run last = run.get();
    return awaitEnd(last, last.requested + YOUNG_NANOS - System.nanoTime());
  }

  private static boolean awaitEnd(Run run, long nanos) {
    try {
      var unused = Uninterruptibles.getUninterruptibly(run, nanos, NANOSECONDS);
      return true;
    } catch (ExecutionException | TimeoutException e) {
      return false;
    }
  }

  /**
   * Requests a larger file. Under the writer lock.
   *
   * @param valueLength bytes of a value that did not fit, or 0
   * @return whether there will be more room soon
   */
  boolean request(Generation file, int valueLength) {
    Copying now = copying;
    if (now != null && isRunning()) {
      // The next file has more room, or may grow in turn.
      return now.made.bytes() > file.bytes()
          || plan.next(now.made.bytes(), valueLength, 0).isPresent();
    }
    long bytesNow = file.bytes();
    OptionalLong bytes =
        plan.next(bytesNow, valueLength, file.values.liveBytes() + context.pending.bytes());
    if (bytes.isEmpty() && file.values.isShortOfSlots()) {
      // Values are far smaller than when the file was created: it has room, but no slots for them.
      // A file at its limit gets more slots only by way of a smaller one.
      bytes = plan.previous(bytesNow);
    }
    if (bytes.isEmpty() || System.nanoTime() - refusedUntil < 0) {
      return false;
    }
    long next = bytes.getAsLong();
    return begin(file, () -> rebuildNow(file, next, Progress.NONE), new Run()) || isRunning();
  }

  /**
   * Replaces the file by one of another size.
   *
   * @return completes with whether that was done; it is not if another rebuild is running
   */
  CompletableFuture<Boolean> rebuild(Generation file, long bytes, Progress progress) {
    Run mine = new Run();
    return begin(file, () -> rebuildNow(file, bytes, progress), mine) ? mine : Run.ended();
  }

  /**
   * Replaces the file by an empty one. Under the writer lock.
   *
   * @return whether that was done, which it is not if the file was not in use; then the old one is
   *     to be given to {@link #unmapLater}
   * @throws IOException if no file can be created
   */
  boolean clear(Generation file) throws IOException {
    // An interrupt would close the channel through which the file is created.
    boolean interrupted = Thread.interrupted();
    try {
      abandon(file);
      boolean isDone = current.clear(file, emptyBytes(file));
      // A smaller file allows less room for the saved usage.
      context.threads.settle(current::saveUsage);
      return isDone;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Whether the limit leaves the file no way to grow. Under the writer lock. */
  boolean isAtLimit(Generation file) {
    return file.bytes() > plan.maxBytes() / 2;
  }

  /** Bytes of an empty file that replaces this one. */
  long emptyBytes(Generation file) {
    return Math.min(plan.first(), file.bytes());
  }

  /**
   * Makes the file smaller if it exceeds the store's limit. To be called from time to time, as the
   * disk may have been full.
   */
  void fitIfDue(Generation file) {
    if (file.bytes() > plan.maxBytes()) {
      var unused = rebuild(file, plan.maxBytes(), Progress.NONE);
    }
  }

  /** Returns false if another rebuild is running or this one cannot run now. */
  private boolean begin(Generation file, BooleanSupplier work, Run mine) {
    Run last = run.get();
    if (!last.isDone() || !run.compareAndSet(last, mine)) {
      return false;
    }
    if (!context.threads.grow(() -> run(work, mine))) {
      mine.complete(false);
      return false;
    }
    if (!current.uses(file)) {
      // The store was closed meanwhile, and its threads may have stopped before they began this.
      giveUp();
    }
    return true;
  }

  private void run(BooleanSupplier work, Run mine) {
    if (!mine.begun.compareAndSet(false, true)) {
      return;
    }
    boolean done = false;
    try {
      done = work.getAsBoolean();
      if (done) {
        // On another thread, as the disk may need long.
        context.threads.settle(
            () -> {
              current.saveUsage();
              current.force(/* all= */ true);
            });
      }
    } finally {
      mine.complete(done);
      grown.run();
    }
  }

  /** Runs a step under the writer lock if something is so; returns whether it was. */
  private boolean runIf(BooleanSupplier isSo, FolderDisk.Step step) throws IOException {
    context.lock.lock();
    try {
      boolean runs = isSo.getAsBoolean();
      if (runs) {
        step.run();
      }
      return runs;
    } finally {
      context.lock.unlock();
    }
  }

  private boolean rebuildNow(Generation file, long wanted, Progress progress) {
    long available = GrowthPlan.available(context.settings.oldValues(), context.free());
    long bytes = plan.fitting(file.bytes(), wanted, available);
    if (bytes > file.bytes()
        && bytes > available
        && context.settings.oldValues() != OldValues.SECRET) {
      refuseUnlessFailed(
          file,
          new IOException(
              "what is free on the volume of "
                  + file.name.path().getParent()
                  + " is kept for web_sessions and oauth_tokens"));
      return false;
    }
    GenerationName name;
    context.lock.lock();
    try {
      if (!current.uses(file)) {
        return false;
      }
      // Under the lock: a clear after this creates a file with a higher number, and the one created
      // here is discarded.
      name =
          context.generations.nextName(
              bytes, Geometry.bytesPerSlot(file.values.averageRecordBytes()));
    } finally {
      context.lock.unlock();
    }
    return fillNext(file, name, progress);
  }

  /** Creates a file of another size and copies all values; returns whether it is in use now. */
  private boolean fillNext(Generation file, GenerationName name, Progress progress) {
    Generation made = null;
    try {
      made = context.generations.create(name);
    } catch (IOException | RuntimeException | Error e) {
      refuseUnlessFailed(file, e);
    }
    Copying mine = null;
    try {
      mine = made == null ? null : beginCopy(file, made);
      return mine != null && copyAll(mine, progress) && switchOver(mine);
    } catch (IOException | StoreBusyException | Rebuild.NextFileException | OutOfMemoryError e) {
      // A clear may have abandoned it, and deleted what was to be forced.
      if (mine == null || mine.equals(copying)) {
        refuseUnlessFailed(file, e);
      }
    } catch (RuntimeException | Error e) {
      current.fail(file, e);
    } finally {
      endCopy(file);
    }
    return false;
  }

  /** Returns null if the file is not in use any more. */
  private Copying beginCopy(Generation file, Generation made) throws IOException {
    Copying begun = null;
    context.lock.lock();
    try {
      if (current.uses(file)) {
        begun = new Copying(file, made, file.beginRebuild(made));
        copying = begun;
      }
    } finally {
      context.lock.unlock();
      if (begun == null) {
        context.generations.discard(made);
      }
    }
    return begun;
  }

  /** Ends the copy of a file, if one is running. */
  private void endCopy(Generation file) {
    context.lock.lock();
    try {
      abandon(file);
    } finally {
      context.lock.unlock();
    }
    current.endCopied(file);
    context.generations.tidy();
  }

  /**
   * Abandons the copy of a file, if one is running. Under the writer lock; to be followed by {@link
   * GenerationFactory#tidy} without it.
   */
  void abandon(Generation file) {
    Copying ended = copying;
    if (ended != null && ended.file == file) {
      copying = null;
      file.endRebuild();
      if (!current.uses(ended.made)) {
        context.generations.discardLater(ended.made);
      }
    }
  }

  /** Bytes on disk of the file to which another one is copied; 0 if none is. */
  long nextDiskBytes() {
    Copying now = copying;
    return now == null ? 0 : now.made.diskBytes();
  }

  /** Copies all values but a few; returns false if the copy was abandoned or cancelled. */
  private boolean copyAll(Copying mine, Progress progress) throws IOException {
    int segments = mine.file.state().counts.segments;
    for (int i = 0; i < segments; i++) {
      int segment = i;
      context.lock.yieldToWaiters();
      if (progress.isCancelled()
          || !whileCopying(mine, () -> mine.rebuild.copySegment(segment, context::isTooOld))) {
        return false;
      }
      mine.rebuild.giveBack();
      copyChanged(mine);
      progress.step(i + 1, segments);
    }
    if (!current.forceOrFail(mine.file, /* all= */ false)) {
      throw new IOException("the disk may not have all of the file that was copied");
    }
    if (context.settings.oldValues() == OldValues.SECRET) {
      mine.made.force(/* all= */ false);
    }
    copyChanged(mine);
    // At least once, as the first of them has the new file note on disk that it was changed.
    return whileCopying(mine, () -> mine.rebuild.copyChanged(MAX_KEYS_AT_ONCE));
  }

  /** Copies what was changed meanwhile, but for a few keys, which {@link #switchOver} copies. */
  private void copyChanged(Copying mine) throws IOException {
    int before = Integer.MAX_VALUE;
    // Until they are changed as fast as they are copied, or their segments are busy.
    while (mine.rebuild.noted() > MAX_KEYS_AT_ONCE && mine.rebuild.noted() < before) {
      before = mine.rebuild.noted();
      context.lock.yieldToWaiters();
      if (!whileCopying(mine, () -> mine.rebuild.copyChanged(MAX_KEYS_AT_ONCE))) {
        return;
      }
    }
  }

  /** Runs a step under the writer lock; returns false if the copy was abandoned. */
  private boolean whileCopying(Copying mine, FolderDisk.Step step) throws IOException {
    return runIf(() -> current.uses(mine.file) && mine.equals(copying), step);
  }

  /** Has the copy take the place of the file; returns false if it was abandoned. */
  private boolean switchOver(Copying mine) throws IOException {
    context.lock.lock();
    try {
      if (!mine.equals(copying)
          || !current.replaceByCopy(mine.file, mine.made, mine.rebuild::complete)) {
        return false;
      }
      copying = null;
      mine.file.endRebuild();
      var unused = mine.file.noteDamaged(mine.rebuild.damaged(), 0, /* isAll= */ false);
    } finally {
      context.lock.unlock();
    }
    context.counts.growths.increment();
    context.counts.notStored.add(mine.rebuild.lost());
    try {
      boolean unused = current.forceOrFail(mine.file, /* all= */ false);
    } finally {
      // Without the lock, as this waits for readers.
      context.generations.unmap(mine.file);
    }
    return true;
  }

  /** Unmaps an old generation on another thread, as a large one takes a second or more. */
  void unmapLater(Generation old) {
    context.generations.unmapLater(old);
    if (!context.threads.maintain(context.generations::tidy)) {
      context.generations.tidy();
    }
  }

  /**
   * Refuses growths for a while after one has failed; if the file failed as well, that was logged.
   */
  private void refuseUnlessFailed(Generation file, Throwable cause) {
    if (!current.stillUses(file)) {
      return;
    }
    refusedUntil = System.nanoTime() + RETRY_NANOS;
    context.faults.warn(
        cause,
        "its file cannot get another size; where it has no room, the least-used"
            + " entries are evicted");
  }
}
