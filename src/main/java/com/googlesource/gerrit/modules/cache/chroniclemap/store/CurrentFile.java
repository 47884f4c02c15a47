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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.DiscardMarkers;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.Optional;
import java.util.PrimitiveIterator.OfInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.stream.IntStream;

/**
 * The file that a store uses now, and the state that follows from it. No other class sets either.
 *
 * <p>Safe for any thread, except where a method requires the {@link WriterLock}.
 */
final class CurrentFile {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final StoreContext context;
  private final Consumer<StoreFile> whenFailed;

  /** To be counted down when the first file is open, or when opening it has failed. */
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

  /** The segments that are checked in the background. */
  private volatile OfInt checking;

  /** Whether all values were removed before the file was open. Guarded by the writer lock. */
  private boolean clearWhenOpen;

  /**
   * Starts without a file.
   *
   * @param whenFailed called with a file that failed, once it is not in use any more; on any
   *     thread, even that of a reader or one in the middle of a change
   */
  CurrentFile(StoreContext context, Consumer<StoreFile> whenFailed) {
    this.context = context;
    this.whenFailed = whenFailed;
  }

  // ---- what there is

  /** The open file; null if there is none. */
  StoreFile file() {
    return file;
  }

  /** Whether the store still uses a file. */
  boolean uses(StoreFile asked) {
    return file == asked;
  }

  /**
   * Like {@link #uses}, but waits for a thread that is giving the file up: that thread deletes it
   * before {@link #uses} returns false.
   */
  boolean usesAfterFailure(StoreFile asked) {
    synchronized (switching) {
      return file == asked;
    }
  }

  /** The last file that failed; null if none has. */
  StoreFile failedFile() {
    return failedFile;
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

  // ---- waiting for the first file

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

  // ---- files that come and go

  /**
   * Takes a file into use, and clears it if all values were removed meanwhile. Under the writer
   * lock.
   */
  void install(StoreFile opening, StartReport report) throws IOException {
    try {
      // An earlier store of these files may have been changed while this one was opening.
      boolean marked = context.files.markers.isMarked();
      if (clearWhenOpen || marked) {
        opening.clear();
        if (marked) {
          context.files.markers.unmark();
        }
      }
    } catch (IOException | RuntimeException | Error e) {
      opening.unmap();
      throw e;
    }
    clearWhenOpen = false;
    synchronized (switching) {
      lost = Optional.empty();
      missedNoted = false;
      start = report;
      file = opening;
      state = StoreState.READY;
    }
    opening.values.expectEvictionIfDue();
  }

  /**
   * Notes that the file could not be opened. Under the writer lock.
   *
   * @param evidence against the file, other than the cause
   * @param wasUntouched whether a file that was there before is still as it was
   * @param minutes after which it is tried again
   */
  void openFailed(
      Throwable cause,
      Optional<LostContentException> evidence,
      boolean wasUntouched,
      long minutes) {
    synchronized (switching) {
      boolean unused = forgetIf(evidence.or(() -> LostContentException.in(cause)));
      untouched = wasUntouched && lost.isEmpty();
      String what =
          untouched
              ? "its file, which is left as it is, cannot be opened"
              : "no file can be created";
      String detail =
          what + " now: " + Remedy.of(cause) + "; tried again in about " + minutes + " min";
      start = new StartReport(StartReport.Kind.NONE, detail, 0, 0);
      state = StoreState.FAILED;
      if (file != null) {
        failedFile = file;
        file = null;
      }
    }
  }

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
                  + "; tried again within ten minutes";
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
    whenFailed.accept(failing);
    return true;
  }

  /**
   * Begins to open the file again after it failed or could not be opened.
   *
   * @return the evidence against the file
   * @throws IOException if that is not known
   */
  Optional<LostContentException> reopen() throws IOException {
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
      context.usage.save(used.bytes(), /* closing= */ false);
    }
  }

  /**
   * Repairs or empties, where needed, the segments that were not used yet; one at a time. This
   * takes the place of the last call, which may not have come to its end.
   */
  void checkRest() {
    StoreFile checked = file;
    if (checked != null) {
      OfInt segments = IntStream.range(0, checked.state().counts.segments).iterator();
      checking = segments;
      context.threads.inSteps(
          () ->
              checking == segments
                  && uses(checked)
                  && checked.state().counts.unchecked() > 0
                  && segments.hasNext()
                  && check(checked, segments.nextInt()));
    }
  }

  private boolean check(StoreFile checked, int segment) {
    try {
      checked.check(segment);
      return true;
    } catch (StoreBusyException e) {
      // This segment is checked when it is first used.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
      return true;
    } catch (RuntimeException | InternalError | LinkageError e) {
      fail(checked, e);
    }
    return false;
  }

  /**
   * Detaches the file: nothing is found or stored any more. Under the writer lock.
   *
   * @return the file there was, for the caller to close; null if there was none
   */
  StoreFile detach() {
    synchronized (switching) {
      if (state == StoreState.FAILED && lost.isPresent() && !missedNoted) {
        // What could not be recorded may be now.
        missedNoted = markOrForget();
      }
      StoreFile last = file;
      if (state != StoreState.FAILED) {
        state = StoreState.CLOSED;
      }
      file = null;
      return last;
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

  /** Like {@link #markForDiscard}, unless this store brings its changes into the files first. */
  void markEarly() {
    boolean unused = orWarn(context.files::markEarly);
  }

  /** Takes {@link #markEarly} back, once the file has all early changes and may be used again. */
  void removeEarlyMarker() {
    try {
      context.files.markers.unmarkEarly();
    } catch (IOException e) {
      context.faults.warn(e, "will start empty: cannot take a note back in the file lock");
    }
  }

  /**
   * If there is evidence against the files, deletes or marks them, so that nobody uses them.
   * Returns false if that fails.
   */
  private boolean forgetIf(Optional<LostContentException> evidence) {
    lost = evidence;
    return evidence.isEmpty()
        || orWarn(() -> context.files.discard(evidence.get(), context::endSeed));
  }

  private boolean orWarn(FolderDisk.Step step) {
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
