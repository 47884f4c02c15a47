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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.Generation;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * How a store's file comes and goes: it is opened, replaced by a new one after it failed, and
 * closed.
 *
 * <p>Safe for any thread.
 */
final class StoreLife {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /**
   * How long a store that is closed writes what is queued: up to 16 MB, where the disk may be slow.
   */
  private static final long WRITE_NANOS = TimeUnit.MILLISECONDS.toNanos(400);

  /** Bytes of a file from which on it matters how the system reads it. */
  private static final long LARGE = 256 << 20;

  /**
   * When segments that may be damaged, and that nobody has used until then, are checked: a server
   * that starts has better to do.
   */
  private static final long CHECK_AFTER_SECONDS = 60;

  private static final long MIN_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(1);
  private static final long MAX_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(10);

  private final StoreContext context;
  private final FileHolder holder;
  private final StoreGrowth growth;
  private final StoreWriter writer;

  /**
   * Held while a new file is made in place of one that failed, and while that is ruled out. See
   * {@link WriterLock} for the order of locks.
   */
  private final Object healing = new Object();

  /** Whether the store was closed. Guarded by {@link #healing}. */
  private boolean closed;

  /** When a new file was last tried to be made; milliseconds since the epoch. As above. */
  private long lastHeal;

  /** How long after that it is tried no more; 0 before the first time. As above. */
  private long pauseMillis;

  /** What was closed; null before that, or if it could not be. */
  private volatile FileInUse left;

  /** Begins before the file is opened. */
  StoreLife(StoreContext context, FileHolder holder, StoreGrowth growth, StoreWriter writer) {
    this.context = context;
    this.holder = holder;
    this.growth = growth;
    this.writer = writer;
  }

  // ---- opening

  /** Opens the file; returns how it was found when that is done or has failed. */
  StartReport open() {
    try {
      takeOver(new StoreOpener(context).open());
    } catch (IOException | RuntimeException | Error e) {
      giveUp(e);
    } finally {
      holder.openingEnded();
    }
    return holder.report();
  }

  private void takeOver(StoreOpener.Opened result) throws IOException {
    boolean cleared;
    context.lock.lock();
    try {
      cleared = holder.use(result.file(), result.report(), growth.emptyBytes(result.file()));
      growth.fitIfDue(result.file());
      // Brought into the file before anyone else writes: after that the marker is not needed.
      boolean all = writer.writeAllNow();
      if (context.settings.oldValues() == OldValues.DANGEROUS) {
        // Nobody has forced what was changed before there was a file.
        holder.force(/* all= */ false);
      }
      if (all && holder.state() == StoreState.READY) {
        holder.removeEarlyMarker();
      }
    } finally {
      context.lock.unlock();
    }
    if (cleared) {
      context.dropOtherVersions();
    }
    if (result.file().diskBytes() >= LARGE) {
      // Now, as the page cache may be cold; smaller ones when there is time.
      context.threads.settle(result.file()::expectRandomAccess);
    }
    if (result.file().unchecked() > 0) {
      Runnable check = () -> holder.checkAll(result.file(), /* leaveTime= */ true);
      context.threads.later(
          () -> {
            boolean unused = context.threads.maintain(check);
          },
          CHECK_AFTER_SECONDS);
    }
  }

  /** There is no file for now. */
  private void giveUp(Throwable cause) {
    context.lock.lock();
    try {
      // Who opened the store tells of it.
      context.faults.count(cause);
      endImport();
      holder.giveUp(cause);
      context.pending.clear();
    } finally {
      context.lock.unlock();
    }
  }

  /** Nobody knows what was in the file that could not be opened. */
  private void endImport() {
    try {
      context.importGuard.end();
    } catch (IOException e) {
      context.faults.warn(e, "cannot note that nothing may be imported into its next file");
    }
  }

  // ---- a file that failed

  /** Unmaps a file that is not in use any more; {@link #heal} sees to another one. */
  void replaceLater(FileInUse failed) {
    // Not here: the caller may be a reader inside the gate, or in the middle of a change.
    var unused = context.threads.write(() -> unmap(failed));
  }

  private void unmap(FileInUse file) {
    context.lock.lock();
    try {
      if (holder.isOver()) {
        context.pending.clear();
      }
      file.abandonRebuild();
    } finally {
      context.lock.unlock();
    }
    // Whoever writes holds the lock, and so has seen by now that this file is not used any more.
    try {
      file.unmap();
    } catch (RuntimeException | InternalError e) {
      context.faults.warn(e, "cannot unmap its file");
    }
  }

  /**
   * As {@link #heal}, unless that was tried lately: where files fail again and again, because the
   * disk is broken or full, the pause between two attempts doubles, from one minute to ten.
   */
  void healIfDue() {
    synchronized (healing) {
      // A growth that is making a file for the one that failed ends soon.
      if (closed || holder.state() != StoreState.FAILED || growth.isRunning()) {
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

  /** Makes a new file if the last one failed or none could be made. */
  void heal() {
    synchronized (healing) {
      if (closed || holder.state() != StoreState.FAILED) {
        return;
      }
      try {
        if (growth.isRunning()) {
          throw new IOException("the growth of the old file has not ended");
        }
        if (holder.givenUp() != null) {
          // Its name may be used again.
          unmap(holder.givenUp());
        }
        takeOver(
            new StoreOpener(context).openEmpty("its file failed: " + holder.report().detail()));
        logger.atInfo().log("Cache %s has a file again", context.settings.name());
      } catch (IOException | RuntimeException | Error e) {
        // Of any kind: whatever keeps this one from being made, there is a next time.
        context.faults.count(e);
      }
    }
  }

  // ---- the end

  /**
   * Writes what is queued, unmaps the file and marks it as whole. A growth that does not end in a
   * moment is dropped, with what found room in the larger file only.
   */
  void close() {
    holder.awaitOpenedForever();
    boolean interrupted = Thread.interrupted();
    synchronized (healing) {
      closed = true;
    }
    try {
      // What did not fit the old file is in the next one only.
      growth.awaitBriefly();
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
        // What is left is lost. The older value of what was put or removed is invalidated, or
        // whoever changes it sees that the store is closed and sees to that. The older value of
        // what was only computed stays, as after a kill.
        writer.writeFor(WRITE_NANOS);
        inOrder = true;
      } finally {
        letGoOfFile(inOrder);
      }
    } catch (IOException | RuntimeException | InternalError e) {
      context.faults.warn(
          e, "could not be closed properly and will be recovered at the next start");
    } finally {
      context.lock.unlock();
      // The threads are stopped next, perhaps before one came to it.
      growth.giveUp();
    }
  }

  private void letGoOfFile(boolean inOrder) throws IOException {
    FileInUse file = holder.letGo();
    context.pending.close();
    if (file == null) {
      if (holder.givenUp() != null) {
        // Another store may make a file of its name.
        holder.givenUp().unmap();
      }
      return;
    }
    if (inOrder) {
      file.closeCleanly();
      left = file;
    } else {
      file.unmap();
    }
  }

  /**
   * After {@link #close} and, if it is called at all, {@link #settle}: nothing is noted any more.
   */
  void release() {
    FileInUse closedFile = left;
    if (closedFile != null) {
      closedFile.release();
    }
  }

  /**
   * After {@link #close}: has what was written brought to the disk, so that it is known to be whole
   * when the machine was stopped meanwhile.
   *
   * @param ours see {@link Generation#settle}
   */
  void settle(AtomicBoolean ours) {
    FileInUse closedFile = left;
    if (closedFile != null) {
      closedFile.saveUsage();
      try {
        closedFile.settle(ours);
      } catch (FileSystemException e) {
        // Once the folder was given back it is merely late.
        if (ours.get()) {
          context.faults.warn(
              e, "cannot make sure that its file is on disk; it is used again if it is");
        }
      } catch (IOException | InternalError e) {
        context.faults.warn(e, "the disk did not take all of its file, so it will start empty");
        holder.markForDiscard();
      }
    }
  }
}
