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
import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.Generation;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The holder of a store's file, and of the state that follows from it. No other class sets either.
 *
 * <p>Safe for any thread, except where a method requires the {@link WriterLock}.
 */
final class FileHolder {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How long after the store's creation a caller may wait for the file to be opened. */
  private static final long OPEN_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final StoreContext context;
  private final Consumer<FileInUse> failed;
  private final long openDeadline = System.nanoTime() + OPEN_WAIT_NANOS;

  /** To be counted down when the first file is open, or when opening it has failed. */
  final CountDownLatch opened = new CountDownLatch(1);

  /**
   * Held while a file comes into use, is replaced or fails. So a thread that reports a failure goes
   * on only when nobody can use the file any more. The holder waits for nothing but the disk.
   */
  private final Object switching = new Object();

  private volatile StoreState state = StoreState.OPENING;
  private volatile StartReport start = StartReport.PENDING;

  /** Null unless the state is READY. A reader may see file and state disagree for a moment. */
  private volatile FileInUse file;

  /** The last file that failed; null if none has. */
  private volatile FileInUse givenUp;

  private final AtomicBoolean toldOfChange = new AtomicBoolean();

  /** Whether all values were removed before the file was open. Guarded by the writer lock. */
  private boolean clearWhenOpen;

  /**
   * Starts without a file.
   *
   * @param failed called with a file that failed, once it is not in use any more; on any thread,
   *     even that of a reader inside the gate or one in the middle of a change
   */
  FileHolder(StoreContext context, Consumer<FileInUse> failed) {
    this.context = context;
    this.failed = failed;
  }

  // ---- what there is

  /** The open file; null if there is none. */
  FileInUse file() {
    return file;
  }

  /** Whether the store still uses these files. */
  boolean uses(FileInUse asked) {
    return file == asked;
  }

  /**
   * Like {@link #uses}, but waits for a thread that is giving the files up: that thread deletes
   * them before {@link #uses} returns false.
   */
  boolean stillUses(FileInUse asked) {
    synchronized (switching) {
      return file == asked;
    }
  }

  /** The last file that failed; null if none has. */
  FileInUse givenUp() {
    return givenUp;
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

  /** Returns when the file is open, or opening it has failed. */
  void awaitOpened() throws InterruptedException {
    opened.await();
  }

  /** Waits for the file to be opened, if the store was created only a short while ago. */
  void awaitOpenBriefly() {
    if (isOpening()) {
      try {
        long nanos = openDeadline - System.nanoTime();
        if (nanos > 0) {
          var unused = opened.await(nanos, TimeUnit.NANOSECONDS);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Like {@link #awaitOpened}, but not interruptible: an interrupt stays pending. */
  void awaitOpenedForever() {
    Uninterruptibles.awaitUninterruptibly(opened);
  }

  // ---- files that come and go

  /**
   * Takes a file into use. Under the writer lock.
   *
   * @param emptyBytes size of the empty file that replaces it if all values were removed meanwhile
   * @return whether they were
   */
  boolean use(FileInUse opening, StartReport report, long emptyBytes) throws IOException {
    // An earlier store of these files may have been changed while this one was opening.
    boolean marked = context.files.isMarkedForDiscard();
    boolean cleared = clearWhenOpen || marked;
    if (cleared) {
      try {
        // The keys that were changed are not known.
        context.importGuard.changingAll();
        opening.clear(emptyBytes).unmap();
        if (marked) {
          context.files.unmarkForDiscard();
        }
      } catch (IOException | RuntimeException | Error e) {
        opening.unmap();
        throw e;
      }
      clearWhenOpen = false;
    }
    synchronized (switching) {
      start = report;
      file = opening;
      state = StoreState.READY;
    }
    return cleared;
  }

  /** Replaces the file by an empty one. Under the writer lock. */
  Generation clear(FileInUse cleared, long bytes) throws IOException {
    synchronized (switching) {
      return file == cleared ? cleared.clear(bytes) : null;
    }
  }

  /**
   * Replaces the old generation by the next one. Under the writer lock.
   *
   * @return the old generation; null if the store has given up its files, or the rebuild
   */
  Generation install(FileInUse rebuilt) throws IOException {
    // Without this lock, another thread could give the files up and delete them, and this one would
    // then add a file.
    synchronized (switching) {
      return file == rebuilt && rebuilt.isRebuilding() ? rebuilt.finishRebuild() : null;
    }
  }

  /** Notes that the file could not be opened. Under the writer lock. */
  void giveUp(Throwable cause) {
    synchronized (switching) {
      forget();
      start = new StartReport(StartReport.Kind.NONE, StoreOpener.reasonOf(cause), 0, 0);
      state = StoreState.FAILED;
      if (file != null) {
        givenUp = file;
        file = null;
      }
    }
  }

  /** Gives a file up after an error of the disk or of Chronicle-Map, if it is still in use. */
  void fail(FileInUse failing, Throwable cause) {
    synchronized (switching) {
      if (failing == null || file != failing) {
        return;
      }
      // Before the file is null: a removal that finds no file counts as done, and its caller looks
      // for the fault.
      forget();
      context.faults.count(cause);
      start =
          new StartReport(
              start.kind(), StoreOpener.reasonOf(cause), start.entries(), start.millis());
      state = StoreState.FAILED;
      file = null;
      givenUp = failing;
    }
    context.faults.tell(
        cause,
        "its file failed and was given up; it is kept in memory only until there is another");
    failed.accept(failing);
  }

  /**
   * Forces to disk what was written so far; for any thread. If the disk did not take it, the file
   * fails, as the system drops such pages from memory and older values would be read.
   *
   * @param all see {@link FileInUse#force}
   */
  void force(boolean all) {
    FileInUse forced = file;
    if (forced != null) {
      boolean unused = force(forced, () -> forced.force(all));
    }
  }

  /**
   * Forces a file to disk like {@link #force}, before another file replaces it.
   *
   * @return whether the disk has all of the file
   */
  boolean forceBeforeReplacing(FileInUse replaced) {
    return force(replaced, replaced::forceCurrent);
  }

  private boolean force(FileInUse forced, FolderDisk.Step forcing) {
    try {
      forcing.run();
      return true;
    } catch (FileSystemException e) {
      // Of a file that failed or was closed meanwhile, nothing is forced any more.
      if (stillUses(forced)) {
        // Too many open files, for example. The disk has refused nothing so far.
        context.faults.warn(
            e, "cannot open its folder to force it to disk; tried again after a minute at most");
      }
    } catch (IOException | RuntimeException | InternalError e) {
      fail(forced, e);
      if (state == StoreState.CLOSED) {
        // The store was closed while the disk was still writing.
        markForDiscard();
      }
    }
    return false;
  }

  /**
   * Repairs, where needed, the segments of a file that were not used yet.
   *
   * @param leaveTime whether to leave the disk to others for two thirds of the time
   */
  void checkAll(FileInUse checked, boolean leaveTime) {
    try {
      for (int i = 0; uses(checked) && checked.unchecked() > 0; i++) {
        long begun = System.nanoTime();
        if (!checked.check(i)) {
          return;
        }
        if (leaveTime) {
          LockSupport.parkNanos(2 * (System.nanoTime() - begun));
        }
      }
    } catch (StoreBusyException e) {
      // The remaining segments are checked when they are first used.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError e) {
      fail(checked, e);
    }
  }

  /**
   * Closes the holder: nothing is found or stored any more. Under the writer lock.
   *
   * @return the file there was, for the caller to close; null if there was none
   */
  FileInUse letGo() {
    synchronized (switching) {
      FileInUse last = file;
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
   * Marks the files for discard if the store was closed: a change that comes now is not in them.
   */
  void forgetIfClosed() {
    if (state == StoreState.CLOSED) {
      markForDiscard();
      if (toldOfChange.compareAndSet(false, true)) {
        logger.atInfo().log(
            "Cache %s was changed after it was closed and starts empty at the next start: its file"
                + " still holds what was invalidated",
            context.settings.name());
      }
    }
  }

  /** Ensures that nobody uses the files any more, after a change that cannot be noted. */
  void forgetAll(IOException cause) {
    FileInUse failing = file;
    if (failing != null) {
      fail(failing, cause);
    } else {
      markForDiscard();
    }
  }

  /** Ensures that the next start does not use what the files hold now. */
  void markForDiscard() {
    orWarn(context.files::markForDiscard);
  }

  /** Like {@link #markForDiscard}, unless this store brings its changes into the files first. */
  void markEarly() {
    orWarn(context.files::markEarly);
  }

  /** Takes {@link #markEarly} back, once the file has all early changes and may be used again. */
  void removeEarlyMarker() {
    try {
      context.files.unmarkEarly();
    } catch (IOException e) {
      context.faults.warn(e, "will start empty: cannot delete", context.files.earlyMarker());
    }
  }

  /** Deletes or marks the files, so that nobody uses what they hold. */
  private void forget() {
    orWarn(context.files::discard);
  }

  private void orWarn(FolderDisk.Step step) {
    try {
      step.run();
    } catch (IOException | RuntimeException e) {
      context.faults.warn(
          e,
          "its files can neither be deleted nor marked: before the next start delete all of them,"
              + " whatever their names end with, or entries that were invalidated may come back");
    }
  }
}
