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
import com.google.common.flogger.LogPerBucketingStrategy;
import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FileReplacedException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.DiscardMarkers;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Level;

/**
 * The file that a store uses now, and the state that follows from it: the file is opened, replaced
 * by a new one after it failed, and closed. No other class sets either.
 *
 * <p>Safe for any thread, except where a method requires the writer lock.
 */
final class CurrentFile {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How long {@link #close} writes queued writes: up to 16 MB, perhaps to a slow disk. */
  private static final long WRITE_NANOS = TimeUnit.MILLISECONDS.toNanos(400);

  /** Bytes from which the system is advised of random access as soon as the file is open. */
  private static final long LARGE = 256 << 20;

  private final StoreContext context;

  /** Writes what was queued until there was a file, and before it is closed. */
  final StoreWriter writer;

  /** Counted down when the first file is open, or when opening it has failed. */
  final CountDownLatch opened = new CountDownLatch(1);

  /**
   * Held while a file comes into use, is replaced or fails. So a thread that reports a failure goes
   * on only when nobody can use the file any more. Whoever holds it waits for nothing but the disk
   * and the invalidations under way.
   */
  private final Object switching = new Object();

  private volatile StoreState state = StoreState.OPENING;
  private volatile StartReport start = StartReport.PENDING;

  /** Null unless the state is READY. A reader may see file and state disagree for a moment. */
  private volatile StoreFile file;

  /** The last file that failed; null if none has. */
  private volatile StoreFile failedFile;

  /** The evidence against the last file that failed. Guarded by {@link #switching}. */
  private Optional<LostContentException> lost = Optional.empty();

  /** Whether a file may be there that is not in use. Guarded by {@link #switching}. */
  private boolean untouched;

  /** Whether the files are marked because they miss a change. Guarded by {@link #switching}. */
  private boolean missedNoted;

  /** Whether all values were removed before the file was open. Guarded by the writer lock. */
  private boolean clearWhenOpen;

  /** Whether {@link #markEarly} was called and not taken back. Guarded by the writer lock. */
  private boolean isMarkedEarly;

  /**
   * Held while a new file is created in place of one that failed, and by {@link #close} to rule
   * that out. {@link StoreContext#lock} lists the order of locks.
   */
  private final Object healing = new Object();

  /** Whether the store was closed. Guarded by {@link #healing}. */
  private boolean closed;

  /** Whether a thread has begun to open the file for the first time. */
  private final AtomicBoolean begun = new AtomicBoolean();

  /** The file that was closed properly; null before that, or if it could not be. */
  private volatile StoreFile closedCleanly;

  /** Starts without a file. */
  CurrentFile(StoreContext context) {
    this.context = context;
    this.writer = new StoreWriter(context, this);
  }

  // ---- what there is

  /** The open file; null if there is none. */
  StoreFile file() {
    return file;
  }

  /**
   * Whether the store still uses a file. Waits for a thread that is giving the file up: that thread
   * deletes it before {@link #file} returns another.
   */
  boolean usesAfterFailure(StoreFile asked) {
    synchronized (switching) {
      return file == asked;
    }
  }

  StoreState state() {
    return state;
  }

  StartReport report() {
    return start;
  }

  boolean isOpening() {
    return state == StoreState.OPENING;
  }

  /** Whether nothing is found or stored, for now or for good. */
  boolean isOver() {
    return state == StoreState.FAILED || state == StoreState.CLOSED;
  }

  /** Waits for the file to be opened, if the store was created only a short while ago. */
  void awaitOpenBriefly() {
    if (isOpening()) {
      try {
        long nanos = context.openDeadline - System.nanoTime();
        if (nanos > 0) {
          var unused = opened.await(nanos, TimeUnit.NANOSECONDS);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  // ---- opening

  /**
   * Opens the file, unless another thread has begun to; returns how it was found, once it is open
   * or opening it has failed. Empty if nobody needs to know, as the store is about to be closed, or
   * no store can be opened, which is reported once.
   */
  Optional<StartReport> open() {
    if (!begun.compareAndSet(false, true)) {
      return Optional.empty();
    }
    try {
      open(new StoreOpener(context, Optional.empty(), /* first= */ true));
    } finally {
      opened.countDown();
    }
    boolean isTold = context.isClosing || context.folder.obstacle().isPresent();
    return isTold ? Optional.empty() : Optional.of(start);
  }

  /**
   * Returns once the file is open or opening it has failed, without an import that may take long.
   * If the opening is still queued, this thread does it, so that it waits for no other store.
   */
  void finishOpening() {
    context.isClosing = true;
    var unused = open();
    Uninterruptibles.awaitUninterruptibly(opened);
  }

  private void open(StoreOpener opener) {
    try {
      install(opener.open());
    } catch (IOException | RuntimeException | Error e) {
      openFailed(e, opener);
    }
  }

  private void install(StoreOpener.Opened found) throws IOException {
    StoreFile opening = found.file();
    context.lock.lock();
    try {
      clearIfRemoved(opening);
      synchronized (switching) {
        lost = Optional.empty();
        missedNoted = false;
        start = found.report();
        file = opening;
        state = StoreState.READY;
      }
      opening.values.expectEvictionIfDue();
      context.isSeedAwaited = false;
      context.files.wasOpen = true;
      // Queued writes go into the file before any others.
      boolean unused = writer.writeAll(Long.MAX_VALUE);
      if (context.settings.oldValues() == OldValues.SECRET) {
        // A disk that takes nothing must show now, and not at the first change.
        force(/* all= */ false);
      }
      unmarkEarly();
      writer.writeSoon();
    } finally {
      context.lock.unlock();
    }
    // The file may have become smaller before a kill or a failure, and so the room for the saved
    // usage.
    context.threads.onDiskThread(this::saveUsage);
    if (opening.values.map.diskBytes() >= LARGE) {
      // At once, as the page cache may be cold; for smaller files, the periodic upkeep does this.
      context.threads.onDiskThread(opening.values.map::expectRandomAccess);
    }
  }

  /** Clears a file that is about to come into use if all values were removed meanwhile. */
  private void clearIfRemoved(StoreFile opening) throws IOException {
    try {
      // An earlier store of these files may have been changed while this one was opening.
      boolean marked = context.files.markers.isMarked();
      if (clearWhenOpen || marked) {
        opening.clear();
        if (marked) {
          context.files.markers.unmark();
        }
      }
      clearWhenOpen = false;
    } catch (IOException | RuntimeException | Error e) {
      opening.unmap();
      throw e;
    }
  }

  /** Goes on without a file, which could not be opened. */
  private void openFailed(Throwable cause, StoreOpener opener) {
    context.lock.lock();
    try {
      // Only counted: the caller that opened the store logs the cause.
      count(cause);
      synchronized (switching) {
        boolean unused = forgetIf(opener.lost().or(() -> LostContentException.in(cause)));
        untouched = opener.isUntouched() && lost.isEmpty();
        String what =
            untouched
                ? "its file, which is left as it is, cannot be opened"
                : "no file can be created";
        String detail = what + " now: " + Remedy.of(cause) + "; tried again each minute";
        start = new StartReport(StartReport.Kind.NONE, detail, 0, 0);
        state = StoreState.FAILED;
        if (file != null) {
          failedFile = file;
          file = null;
        }
      }
      context.pending.clear();
    } finally {
      context.lock.unlock();
    }
  }

  // ---- a file that failed

  /**
   * Gives a file up after an error of the disk or of Chronicle-Map, if it is still in use. It is
   * deleted only if the error is evidence against its content. If not, it is opened again later; a
   * change that it misses until then has to be reported to {@link #noteMissed}.
   */
  void fail(StoreFile failing, Throwable cause) {
    boolean unused = failIfUsed(failing, cause);
  }

  private boolean failIfUsed(StoreFile failing, Throwable cause) {
    boolean isLost;
    synchronized (switching) {
      if (failing == null || file != failing) {
        return false;
      }
      // Before the file is null: a removal that finds no file counts as done, and its caller looks
      // for the fault.
      boolean unused = forgetIf(LostContentException.in(cause));
      isLost = lost.isPresent();
      untouched = !isLost;
      context.faults.count(cause);
      String detail =
          isLost
              ? "its file failed: " + lost.get().getMessage()
              : "its file, which is left as it is, cannot be used now: "
                  + Remedy.of(cause)
                  + "; tried again each minute";
      start = new StartReport(start.kind(), detail, start.entries(), start.millis());
      state = StoreState.FAILED;
      file = null;
      failedFile = failing;
    }
    context.faults.tell(
        cause,
        isLost
            ? "its file failed; the cache is in memory only until a new file is created"
            : "its file cannot be used now; it is kept and opened again later, and the cache is in"
                + " memory only until then");
    // Not on this thread, which may be a reader of it or in the middle of a change.
    var unused = context.threads.write(() -> unmap(failing));
    return true;
  }

  private void unmap(StoreFile failed) {
    context.lock.lock();
    try {
      if (isOver()) {
        context.pending.clear();
      }
    } finally {
      context.lock.unlock();
    }
    // Writers hold the lock, so each of them has seen by now that this file is not used any more.
    context.unmap(failed);
  }

  /**
   * Opens the file again if it failed or could not be opened, as a start does. There is a new one
   * if there was evidence against the last one, or if that misses a change.
   */
  void heal() {
    synchronized (healing) {
      if (closed || state != StoreState.FAILED) {
        return;
      }
      try {
        context.folder.openIfDue();
        if (failedFile != null) {
          // The new file may get the name of the failed one.
          unmap(failedFile);
        }
        open(new StoreOpener(context, reopen(), /* first= */ !context.files.wasOpen));
        if (state == StoreState.READY) {
          // On a broken disk, files may fail and be opened again for a long time.
          logger
              .atInfo()
              .atMostEvery(10, TimeUnit.MINUTES)
              .per(context.settings.name(), LogPerBucketingStrategy.knownBounded())
              .log("Cache %s has a file again: %s", context.settings.name(), start);
        }
      } catch (IOException | RuntimeException | Error e) {
        // Whatever the cause, the next call tries again.
        count(e);
      }
    }
  }

  private void count(Throwable cause) {
    // What keeps all stores from their folder is reported once.
    if (!(cause instanceof StoreUnavailableException)) {
      context.faults.count(cause);
    }
  }

  /**
   * Begins to open the file again after it failed or could not be opened.
   *
   * @return the evidence against the file
   * @throws IOException if that is not known
   */
  private Optional<LostContentException> reopen() throws IOException {
    context.lock.lock();
    try {
      synchronized (switching) {
        lost = lost.isPresent() ? lost : context.files.markers.evidence();
        state = StoreState.OPENING;
        return lost;
      }
    } finally {
      context.lock.unlock();
    }
  }

  // ---- while it is in use

  /**
   * Forces to disk what was written so far; for any thread. If the disk did not take it, the file
   * fails, as the system drops such pages from memory and older values would be read.
   *
   * @param all see {@link StoreFile#force}
   */
  void force(boolean all) {
    StoreFile forced = file;
    if (forced == null) {
      return;
    }
    try {
      forced.force(all);
    } catch (FileSystemException e) {
      // A file that failed or was closed meanwhile may be deleted, and only what the disk has
      // refused matters.
      if (usesAfterFailure(forced)) {
        // Too many open files, for example. The disk has refused nothing so far.
        context.faults.warn(
            e, "cannot open its folder to force it to disk; tried again after a minute at most");
      }
    } catch (IOException | RuntimeException | InternalError | LinkageError e) {
      if (!failIfUsed(forced, e) && isOver() && LostContentException.in(e).isPresent()) {
        // The store was closed, or failed for another reason, while the disk was still writing.
        markForDiscard();
      }
    }
  }

  /** Saves how often values are used. */
  void saveUsage() {
    StoreFile used = file;
    if (used != null) {
      context.usage.save(used.name.bytes(), /* closing= */ false);
    }
  }

  // ---- the end

  /**
   * Writes what is queued, unmaps the file and marks it as closed. A copy that has to be made
   * before the file opens is given up.
   */
  void close() {
    // An interrupt would close the channels through which a file is opened or closed.
    boolean interrupted = Thread.interrupted();
    finishOpening();
    synchronized (healing) {
      closed = true;
    }
    try {
      closeFile();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void closeFile() {
    context.lock.lock();
    try {
      boolean inOrder = false;
      try {
        // Writes that stay queued are lost. The older value of a put or removal is invalidated, or
        // the changing thread sees that the store is closed and marks the files. The older value of
        // a computed value stays, as after a kill.
        if (writer.writeAll(WRITE_NANOS)) {
          unmarkEarly();
        }
        inOrder = true;
      } finally {
        detach(inOrder);
      }
    } catch (FileReplacedException e) {
      markForDiscard();
      context.faults.warn(e, "will start empty: another file has the name of its file");
    } catch (IOException | RuntimeException | InternalError | LinkageError e) {
      context.faults.warn(
          e, "could not be closed properly and will be recovered at the next start");
    } finally {
      context.lock.unlock();
    }
  }

  /** From here on, nothing is found or stored any more. */
  private void detach(boolean inOrder) throws IOException {
    StoreFile last;
    synchronized (switching) {
      if (state == StoreState.FAILED && lost.isPresent() && !missedNoted) {
        // What could not be recorded may be now.
        missedNoted = markOrForget();
      }
      last = file;
      if (state != StoreState.FAILED) {
        state = StoreState.CLOSED;
      }
      file = null;
    }
    context.pending.close();
    if (last == null) {
      if (failedFile != null) {
        // Another store may create a file of the same name.
        failedFile.unmap();
      }
    } else if (inOrder) {
      last.closeCleanly();
      closedCleanly = last;
    } else {
      last.unmap();
    }
  }

  /**
   * Releases the closed file: nothing is noted about it any more. To be called after {@link #close}
   * and, if it is called at all, after {@link #forceClosed}.
   */
  void release() {
    StoreFile closedFile = closedCleanly;
    if (closedFile != null) {
      closedFile.release();
      context.usage.close();
    }
  }

  /**
   * Forces the closed file to disk, so that it is known to be whole even if the machine stops. To
   * be called after {@link #close}.
   *
   * @param ours see {@link StoreFile#forceClosed}
   */
  void forceClosed(AtomicBoolean ours) {
    StoreFile closedFile = closedCleanly;
    if (closedFile != null) {
      try {
        closedFile.forceClosed(ours);
      } catch (IOException | RuntimeException | InternalError | LinkageError e) {
        if (LostContentException.in(e).isPresent()) {
          context.faults.warn(e, "the disk did not take all of its file, so it will start empty");
          markForDiscard();
        } else if (ours.get()) {
          // A failure does not matter once the folder was given back.
          context.faults.warn(
              e, "cannot make sure that its file is on disk; it is used again if it is");
        }
      }
      // Last, as the time for all of this is short, and the values matter more.
      context.usage.save(closedFile.name.bytes(), /* closing= */ true);
    }
  }

  // ---- what must not be found again

  /** Removes all values once the file is open, or else at the next start. Under the writer lock. */
  void clearWhenOpen() {
    clearWhenOpen = true;
    markEarly();
  }

  /**
   * Marks the files for discard after a change that they miss, because the store was closed or its
   * file could not be used. A new file misses nothing. Not needed for a change of one key whose old
   * values stay valid.
   *
   * @param all whether all values were removed
   * @return false if there is a file again, or soon will be; then the change must be made again
   */
  boolean noteMissed(boolean all) {
    synchronized (switching) {
      if (!isOver()) {
        return false;
      }
      if ((untouched || state == StoreState.CLOSED)
          && (all || context.settings.oldValues() != OldValues.PURE)) {
        lost = Optional.of(DiscardMarkers.missedChange());
        boolean wasNoted = missedNoted;
        // At each change: while this process cannot open the folder, another one may, and deletes
        // the marker with the files. While the marker is there, that is one failed creation.
        missedNoted = markOrForget();
        logger.at(missedNoted && !wasNoted ? Level.INFO : Level.FINE).log(
            "Cache %s was changed without its file and starts empty when that is opened next: it"
                + " still holds what was invalidated",
            context.settings.name());
      }
      return true;
    }
  }

  private boolean markOrForget() {
    try {
      context.files.markMissed();
      return true;
    } catch (IOException e) {
      // Files can be deleted on a disk without room for a marker. Not for each change.
      return missedNoted
          || (forgetIf(lost) && (context.files.isNotedByOthers() || context.distrusts()));
    }
  }

  /** Ensures that the next start does not use what the files hold now. */
  void markForDiscard() {
    boolean unused = orWarn(context.files.markers::mark);
  }

  /**
   * Like {@link #markForDiscard}, unless this store brings the changes that are queued into the
   * files first. Under the writer lock.
   */
  void markEarly() {
    isMarkedEarly = true;
    boolean unused = orWarn(context.files::markEarly);
  }

  /**
   * Takes {@link #markEarly} back if the file can take what was queued when that was last called.
   * What is queued meanwhile has no older value in the file, or is marked once this has the lock no
   * more. So this does not depend on a moment without changes.
   */
  void unmarkEarly() {
    context.lock.lock();
    try {
      if (isMarkedEarly && writer.writeAll(Long.MAX_VALUE)) {
        if (context.settings.oldValues() == OldValues.SECRET) {
          // These changes were not forced to disk when they were made.
          force(/* all= */ false);
        }
        if (state == StoreState.READY) {
          context.files.markers.unmarkEarly();
          isMarkedEarly = false;
        }
      }
    } catch (IOException e) {
      context.faults.warn(e, "will start empty: cannot take a note back in the file lock");
    } finally {
      context.lock.unlock();
    }
  }

  /**
   * If there is evidence against the files, deletes or marks them, so that nobody uses them.
   * Returns false if that fails.
   */
  private boolean forgetIf(Optional<LostContentException> evidence) {
    lost = evidence;
    return evidence.isEmpty()
        || orWarn(() -> context.files.discard(/* all= */ false, evidence.get(), context::endSeed));
  }

  private boolean orWarn(Disk.Step step) {
    try {
      step.run();
      return true;
    } catch (IOException | RuntimeException e) {
      if (context.distrusts()) {
        return true;
      }
      context.faults.warn(
          e,
          "its files can neither be deleted nor marked: before the next start delete all of them,"
              + " whatever their names end with, or entries that were invalidated may come back");
      return false;
    }
  }
}
