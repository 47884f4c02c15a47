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

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FileReplacedException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable.VerifyCounts;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.PrimitiveIterator.OfInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/**
 * The upkeep of a store's file while requests continue: it is checked, and swept of damage and of
 * values that are too old.
 *
 * <p>Safe for any thread.
 */
final class StoreUpkeep {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final long MIN_SWEEP_MILLIS = TimeUnit.MINUTES.toMillis(1);
  private static final long SAVE_MILLIS = TimeUnit.MINUTES.toMillis(10);
  private static final long MAX_SWEEP_MILLIS = TimeUnit.HOURS.toMillis(1);

  private final StoreContext context;
  private final CurrentFile current;

  /** When the use of values was last saved; milliseconds since the epoch. */
  private volatile long lastSave;

  /** When the last sweep began; milliseconds since the epoch. */
  private volatile long lastSweep;

  /** The last sweep. */
  private volatile BooleanSupplier sweeping;

  /** How many segments were swept, in turns. The next sweep begins with the one that follows. */
  private final AtomicInteger swept = new AtomicInteger();

  StoreUpkeep(StoreContext context, CurrentFile current) {
    this.context = context;
    this.current = current;
    this.lastSweep = context.clock.getAsLong();
    this.lastSave = lastSweep;
  }

  /** See {@link Store#verify}. */
  VerifyReport verify(boolean repair, Progress progress) throws InterruptedException {
    long begun = System.nanoTime();
    current.opened.await();
    VerifyCounts counts = new VerifyCounts();
    StoreFile file = current.file();
    boolean complete = file != null && verifyAll(file, progress, counts, repair);
    note(file, counts, complete);
    boolean repaired = complete && counts.dropped > 0 && counts.dropped == counts.damaged;
    if (counts.dropped > 0) {
      logger.atInfo().log(
          "Cache %s: damaged entries of its file were dropped: %d",
          context.settings.name(), counts.dropped);
    }
    long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
    return new VerifyReport(
        counts.values, counts.bytes, counts.damaged, repaired, complete, millis);
  }

  private void note(StoreFile file, VerifyCounts counts, boolean complete) {
    long known = 0;
    context.lock.lock();
    try {
      if (file != null && current.file() == file) {
        known = file.noteDamaged(counts.damaged, counts.dropped, complete);
      }
    } finally {
      context.lock.unlock();
    }
    // Of a check that ends early, nobody knows which ones it has met.
    if (counts.damaged > (complete ? known : 0)) {
      logger.atWarning().log(
          "Cache %s: verify found damaged entries, each of which is a miss: %d",
          context.settings.name(), counts.damaged);
    }
  }

  /** Returns whether all segments were checked. */
  private boolean verifyAll(
      StoreFile file, Progress progress, VerifyCounts counts, boolean repair) {
    try (SegmentReader reader = file.reader()) {
      if (!whileInUse(file, () -> counts.damaged += file.values.map.hasHeader() ? 0 : 1)) {
        return false;
      }
      int segments = file.state().counts.segments;
      for (int i = 0; i < segments; i++) {
        context.yieldToWaiters();
        int segment = i;
        if (Thread.currentThread().isInterrupted()
            || !whileInUse(
                file, () -> file.values.verifySegment(segment, reader, counts, repair))) {
          return false;
        }
        reader.dropPages();
        progress.step(i + 1, segments);
      }
      return true;
    } catch (IOException | StoreBusyException e) {
      // A file that is not in use any more may have been deleted.
      if (current.usesAfterFailure(file)) {
        context.faults.warn(e, "cannot be checked");
      }
      return false;
    }
  }

  /**
   * Runs a step under the writer lock while the store still uses a file.
   *
   * @return false if it is not any more, or the file has failed
   */
  private boolean whileInUse(StoreFile file, Disk.Step step) throws IOException {
    context.lock.lock();
    try {
      return current.file() == file && hasRun(file, step);
    } finally {
      context.lock.unlock();
    }
  }

  /** Runs a step; returns false if the file has failed. */
  private boolean hasRun(StoreFile file, Disk.Step step) throws IOException {
    try {
      step.run();
      return true;
    } catch (StoreBusyException e) {
      throw e;
    } catch (RuntimeException | InternalError | LinkageError e) {
      current.fail(file, e);
      return false;
    }
  }

  /**
   * Sweeps when that is due for the maximum age, or for segments that were not used since the file
   * was opened. At each call, also forces the file to disk; every 10 minutes, saves the use of
   * values.
   */
  void everyMinute() {
    long interval = Math.clamp(context.maxAgeMillis / 10, MIN_SWEEP_MILLIS, MAX_SWEEP_MILLIS);
    long now = context.clock.getAsLong();
    StoreFile file = current.file();
    // Also if the clock was set back.
    if (Math.abs(now - lastSweep) >= interval
        || (file != null && file.state().counts.unchecked() > 0)) {
      lastSweep = now;
      sweep();
    }
    if (file != null) {
      discardIfReplaced(file);
      // Not when the file is opened: that would cost each start some processor time.
      file.values.map.expectRandomAccess();
      context.threads.onDiskThread(current::unmarkEarly);
      context.threads.onDiskThread(() -> current.force(/* all= */ true));
      if (Math.abs(now - lastSave) >= SAVE_MILLIS) {
        lastSave = now;
        context.threads.onDiskThread(current::saveUsage);
      }
    }
  }

  /** The values of another file may have been invalidated since. */
  private void discardIfReplaced(StoreFile file) {
    try {
      file.state().checkInPlace();
    } catch (NoSuchFileException e) {
      // A file that was deleted, by a newer version of a plugin's cache, stays deleted.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (FileReplacedException e) {
      current.markForDiscard();
      context.faults.warn(
          e,
          "its file was replaced by another program while it was in use: the cache goes on, but"
              + " will start empty");
    } catch (IOException e) {
      context.faults.warn(e, "cannot tell whether its file still has its name");
    }
  }

  /**
   * Sweeps the file in the background. This takes the place of the last sweep, which may take
   * longer than the interval: otherwise there would be ever more of them.
   */
  void sweep() {
    BooleanSupplier sweep = newSweep();
    sweeping = sweep;
    context.threads.inSteps(() -> sweeping == sweep && sweep.getAsBoolean());
  }

  /**
   * A sweep, which repairs or empties segments where that is due, and removes what is too old: each
   * call reads one of the segments that need it, and returns false if none is left. It begins where
   * the last one is, so that all have their turn even if none ever comes to its end.
   */
  BooleanSupplier newSweep() {
    StoreFile file = current.file();
    if (file == null) {
      return () -> false;
    }
    int all = file.state().counts.segments;
    OfInt segments =
        IntStream.range(0, all).map(i -> Math.floorMod(swept.getAndIncrement(), all)).iterator();
    return () -> segments.hasNext() && sweepNext(file, segments);
  }

  /** Returns false if the sweep has to end. */
  private boolean sweepNext(StoreFile file, OfInt segments) {
    context.yieldToWaiters();
    try (SegmentReader reader = file.reader()) {
      int[] segment = {-1};
      Disk.Step search = () -> segment[0] = file.values.nextToSweep(segments, context::isTooOld);
      if (!whileInUse(file, search) || segment[0] < 0) {
        return false;
      }
      // Repairs or empties the segment where that is due. A change would wait for the writer lock
      // as long as the disk does not respond.
      if (!hasRun(file, () -> file.values.map.check(segment[0]))) {
        return false;
      }
      LongAdder expired = context.counts.expired;
      Disk.Step removal =
          () -> expired.add(file.values.removeOld(segment[0], reader, context::isTooOld));
      boolean isInUse = whileInUse(file, removal);
      reader.dropPages();
      return isInUse;
    } catch (StoreBusyException e) {
      // The next sweep finds what is left.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
      return true;
    } catch (IOException e) {
      boolean isInUse = current.usesAfterFailure(file);
      // A file that is not in use any more may have been deleted.
      if (isInUse) {
        context.faults.warn(e, "old values stay: cannot read");
      }
      return isInUse;
    }
  }
}
