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
 * Which file a store has, and the state that follows from it. Nobody else sets either.
 *
 * <p>Safe for any thread, but for what says that it is called under the {@link WriterLock}.
 */
final class FileHolder {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How long, from the store's making, a caller may wait for the file to be opened. */
  private static final long OPEN_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final StoreContext context;
  private final Consumer<FileInUse> failed;
  private final long openDeadline = System.nanoTime() + OPEN_WAIT_NANOS;
  private final CountDownLatch opened = new CountDownLatch(1);

  /**
   * Held while the file comes into use, is replaced by another one or fails: whoever sees it fail
   * goes on when nobody can use it any more. Nothing but the disk is waited for while it is held.
   */
  private final Object switching = new Object();

  private volatile StoreState state = StoreState.OPENING;
  private volatile StartReport start = StartReport.PENDING;

  /** Null unless the state is READY, or just about to be. */
  private volatile FileInUse file;

  /** The last file that failed; null if none has. */
  private volatile FileInUse givenUp;

  private final AtomicBoolean toldOfChange = new AtomicBoolean();

  /** Whether all values were removed before the file was open. Guarded by the writer's lock. */
  private boolean clearWhenOpen;

  /**
   * Begins without a file.
   *
   * @param failed told of a file that failed when it is not in use any more; by any thread, a
   *     reader inside the gate or in the middle of a change too
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
   * As {@link #uses}, when nobody is giving them up any more: they are deleted before that is so.
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

  /** How the file was found. */
  StartReport report() {
    return start;
  }

  boolean isOpening() {
    return state == StoreState.OPENING;
  }

  /** Whether nothing is found and nothing stored, for now or for ever. */
  boolean isOver() {
    return state == StoreState.FAILED || state == StoreState.CLOSED;
  }

  // ---- waiting for the first file

  /** The first file is open, or opening it has failed. */
  void openingEnded() {
    opened.countDown();
  }

  /** Returns when the file is open, or opening it has failed. */
  void awaitOpened() throws InterruptedException {
    opened.await();
  }

  /** Waits for the file to be opened, for a short while after the store was made. */
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

  /** As {@link #awaitOpened}; an interrupt is kept for later. */
  void awaitOpenedForever() {
    Uninterruptibles.awaitUninterruptibly(opened);
  }

  // ---- files that come and go

  /**
   * Takes a file into use. Under the writer's lock.
   *
   * @param emptyBytes of the empty file that takes its place, if all values were removed meanwhile
   * @return whether they were
   */
  boolean use(FileInUse opening, StartReport report, long emptyBytes) throws IOException {
    // An earlier user may have been told of a change since this one began to open the file.
    boolean marked = context.files.isMarkedForDiscard();
    boolean cleared = clearWhenOpen || marked;
    if (cleared) {
      try {
        // What was changed is not known key by key.
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

  /** Puts an empty file in the place of what there is. Under the writer's lock. */
  Generation clear(FileInUse cleared, long bytes) throws IOException {
    synchronized (switching) {
      return file == cleared ? cleared.clear(bytes) : null;
    }
  }

  /**
   * Puts the next generation in the old one's place. Under the writer's lock.
   *
   * @return the old one; null if the store has given its files or the rebuild up
   */
  Generation install(FileInUse rebuilt) throws IOException {
    // Or else who gives the files up deletes those there were, and this makes another.
    synchronized (switching) {
      return file == rebuilt && rebuilt.isRebuilding() ? rebuilt.finishRebuild() : null;
    }
  }

  /** There is no file for now: it could not be opened. Under the writer's lock. */
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

  /** Gives the file up after an error that Chronicle-Map should not have thrown. */
  void fail(FileInUse failing, Throwable cause) {
    synchronized (switching) {
      if (failing == null || file != failing) {
        return;
      }
      // First: whoever sees that there is no file takes a removal for done, and looks for the
      // fault.
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
   * Forces to disk what was changed until now; for any thread. The file fails if the disk did not
   * take it: older values may be read then, as the system drops such pages from memory.
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
   * As above, of the file that another one is to replace.
   *
   * @return whether the disk has all of it
   */
  boolean forceBeforeReplacing(FileInUse replaced) {
    return force(replaced, replaced::forceCurrent);
  }

  private interface DiskStep {
    void run() throws IOException;
  }

  private boolean force(FileInUse forced, DiskStep forcing) {
    try {
      forcing.run();
      return true;
    } catch (FileSystemException e) {
      if (!stillUses(forced)) {
        // It failed or was closed meanwhile, and may be deleted.
        return false;
      }
      // Too many open files, for example. The disk has refused nothing so far.
      context.faults.warn(
          e, "cannot open its file to force it to disk; tried again after a minute at most");
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
   * Repairs, where needed, each segment of a file that nobody has used yet.
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
      // Then each is checked when it is first used.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError e) {
      fail(checked, e);
    }
  }

  /**
   * Nothing is found and stored any more. Under the writer's lock.
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

  /** Has all values removed when the file is open, or before. Under the writer's lock. */
  void clearWhenOpen() {
    clearWhenOpen = true;
    markEarly();
  }

  /** What is changed after the store was closed is in its file as it was. */
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

  /** Makes sure that nobody uses what the files hold, after a change that can't be noted. */
  void forgetAll(IOException cause) {
    FileInUse failing = file;
    if (failing != null) {
      fail(failing, cause);
    } else {
      markForDiscard();
    }
  }

  /** Makes sure that the next start does not use what the files hold now. */
  void markForDiscard() {
    orWarn(context.files::markForDiscard);
  }

  /**
   * Makes sure that the next start does not use what the files hold now, unless this store brings
   * its changes into them first.
   */
  void markEarly() {
    orWarn(context.files::markEarly);
  }

  /** What this store removed before the file was open is removed: the file may be used again. */
  void removeEarlyMarker() {
    try {
      context.files.unmarkEarly();
    } catch (IOException e) {
      context.faults.warn(e, "will start empty: cannot delete", context.files.earlyMarker());
    }
  }

  /** Makes sure that nobody uses what is in the files. */
  private void forget() {
    orWarn(context.files::discard);
  }

  private void orWarn(DiskStep step) {
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
