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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FileReplacedException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The life of a store's file: it is opened, replaced by a new one after it failed, and closed.
 *
 * <p>Safe for any thread.
 */
final class StoreLifecycle {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How long {@link #close} writes queued writes: up to 16 MB, perhaps to a slow disk. */
  private static final long WRITE_NANOS = TimeUnit.MILLISECONDS.toNanos(400);

  /** Bytes from which the system is advised of random access as soon as the file is open. */
  private static final long LARGE = 256 << 20;

  /**
   * When segments that may be damaged, and that were not used until then, are checked: not while
   * the server starts.
   */
  private static final long CHECK_AFTER_SECONDS = 60;

  private static final long MIN_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(1);
  private static final long MAX_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(10);

  private final StoreContext context;
  private final CurrentFile current;
  private final StoreWriter writer;

  /**
   * Held while a new file is created in place of one that failed, and by {@link #close} to rule
   * that out. {@link WriterLock} lists the order of locks.
   */
  private final Object healing = new Object();

  /** Whether the store was closed. Guarded by {@link #healing}. */
  private boolean closed;

  /** When a new file was last tried; milliseconds since the epoch. Guarded by {@link #healing}. */
  private long lastHeal;

  /**
   * How long after {@link #lastHeal} no new file is tried; 0 before the first time. Guarded by
   * {@link #healing}.
   */
  private long pauseMillis;

  /** Whether a thread has begun to open the file for the first time. */
  private final AtomicBoolean begun = new AtomicBoolean();

  /** The file that was closed properly; null before that, or if it could not be. */
  private volatile StoreFile closedCleanly;

  StoreLifecycle(StoreContext context, CurrentFile current, StoreWriter writer) {
    this.context = context;
    this.current = current;
    this.writer = writer;
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
      open(new StoreOpener(context, context.discarded, /* first= */ true), MIN_PAUSE_MILLIS);
    } finally {
      current.opened.countDown();
    }
    boolean isTold = context.isClosing || context.folder.obstacle().isPresent();
    return isTold ? Optional.empty() : Optional.of(current.report());
  }

  /**
   * Returns once the file is open or opening it has failed, without an import that may take long.
   * If the opening is still queued, this thread does it, so that it waits for no other store.
   */
  void finishOpening() {
    context.isClosing = true;
    var unused = open();
    Uninterruptibles.awaitUninterruptibly(current.opened);
  }

  private void open(StoreOpener opener, long pause) {
    try {
      takeOver(opener.open());
    } catch (IOException | RuntimeException | Error e) {
      openFailed(e, opener, pause);
    }
  }

  private void takeOver(StoreOpener.Opened result) throws IOException {
    StoreFile file = result.file();
    context.lock.lock();
    try {
      current.install(file, result.report());
      context.isSeedAwaited = false;
      context.files.wasOpen = true;
      // Queued writes go into the file before any others, so that the early marker is not needed
      // afterwards.
      boolean all = writer.writeAll(Long.MAX_VALUE);
      if (context.settings.oldValues() == OldValues.SECRET) {
        // The changes made before there was a file were not forced to disk.
        current.force(/* all= */ false);
      }
      if (all && current.state() == StoreState.READY) {
        current.removeEarlyMarker();
      }
    } finally {
      context.lock.unlock();
    }
    // The file may have become smaller before a kill or a failure, and so the room for the saved
    // usage.
    context.threads.onDiskThread(current::saveUsage);
    if (file.diskBytes() >= LARGE) {
      // At once, as the page cache may be cold; for smaller files, the periodic upkeep does this.
      context.threads.onDiskThread(file::expectRandomAccess);
    }
    if (file.state().counts.unchecked() > 0) {
      boolean unused =
          context.threads.later(this::checkRest, CHECK_AFTER_SECONDS, TimeUnit.SECONDS);
    }
  }

  /** Begins to check what was not used since the file was opened. */
  void checkRest() {
    current.checkRest();
  }

  /** Goes on without a file, which could not be opened. */
  private void openFailed(Throwable cause, StoreOpener opener, long pause) {
    context.lock.lock();
    try {
      // Only counted: the caller that opened the store logs the cause.
      count(cause);
      current.openFailed(
          cause, opener.lost(), opener.isUntouched(), TimeUnit.MILLISECONDS.toMinutes(pause));
      context.pending.clear();
    } finally {
      context.lock.unlock();
    }
  }

  // ---- a file that failed

  /** Unmaps a failed file in the background; {@link #healIfDue} opens or replaces it later. */
  void replaceLater(StoreFile failed) {
    // Not on this thread, which may be a reader of it or in the middle of a change.
    var unused = context.threads.write(() -> unmap(failed));
  }

  private void unmap(StoreFile file) {
    context.lock.lock();
    try {
      if (current.isOver()) {
        context.pending.clear();
      }
    } finally {
      context.lock.unlock();
    }
    // Writers hold the lock, so each of them has seen by now that this file is not used any more.
    context.unmap(file);
  }

  /**
   * Calls {@link #heal}, unless that was tried recently. If files fail again and again, because the
   * disk is broken or full, the pause between two attempts doubles, from one minute to ten.
   */
  void healIfDue() {
    synchronized (healing) {
      if (closed || current.state() != StoreState.FAILED) {
        return;
      }
      long now = context.clock.getAsLong();
      // The clock may have been set back.
      long since = Math.abs(now - lastHeal);
      if (since >= pauseMillis) {
        boolean lasted = since > 2 * MAX_PAUSE_MILLIS;
        pauseMillis =
            lasted
                ? MIN_PAUSE_MILLIS
                : Math.clamp(2 * pauseMillis, MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS);
        lastHeal = now;
        heal();
      }
    }
  }

  /**
   * Opens the file again if it failed or could not be opened, as a start does. There is a new one
   * if there was evidence against the last one, or if that misses a change.
   */
  void heal() {
    synchronized (healing) {
      if (closed || current.state() != StoreState.FAILED) {
        return;
      }
      try {
        context.folder.openIfDue();
        if (current.failedFile() != null) {
          // The new file may get the name of the failed one.
          unmap(current.failedFile());
        }
        open(
            new StoreOpener(context, current.reopen(), /* first= */ !context.files.wasOpen),
            pauseMillis);
        if (current.state() == StoreState.READY) {
          logger.atInfo().log(
              "Cache %s has a file again: %s", context.settings.name(), current.report());
        }
      } catch (IOException | RuntimeException | Error e) {
        // Whatever the cause, the next healIfDue tries again.
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
        boolean unused = writer.writeAll(WRITE_NANOS);
        inOrder = true;
      } finally {
        detachFile(inOrder);
      }
    } catch (FileReplacedException e) {
      current.markForDiscard();
      context.faults.warn(e, "will start empty: another file has the name of its file");
    } catch (IOException | RuntimeException | InternalError | LinkageError e) {
      context.faults.warn(
          e, "could not be closed properly and will be recovered at the next start");
    } finally {
      context.lock.unlock();
    }
  }

  private void detachFile(boolean inOrder) throws IOException {
    StoreFile file = current.detach();
    context.pending.close();
    if (file == null) {
      if (current.failedFile() != null) {
        // Another store may create a file of the same name.
        current.failedFile().unmap();
      }
      return;
    }
    if (inOrder) {
      file.closeCleanly();
      closedCleanly = file;
    } else {
      file.unmap();
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
          current.markForDiscard();
        } else if (ours.get()) {
          // A failure does not matter once the folder was given back.
          context.faults.warn(
              e, "cannot make sure that its file is on disk; it is used again if it is");
        }
      }
      // Last, as the time for all of this is short, and the values matter more.
      context.usage.save(closedFile.bytes(), /* closing= */ true);
    }
  }
}
