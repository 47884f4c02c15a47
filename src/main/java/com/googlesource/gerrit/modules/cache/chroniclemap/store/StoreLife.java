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
import java.io.IOException;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * How a store's file comes and goes: it is opened, replaced by a new one after it failed, and
 * closed.
 *
 * <p>Safe for any thread.
 */
final class StoreLife {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final StoreSettings settings;
  private final StoreFiles files;
  private final FaultLog faults;
  private final StoreFile file;
  private final Supplier<StoreOpener> openers;
  private final PendingWrites pending;
  private final StoreGrowth growth;
  private final StoreWriter writer;
  private final WriterLock lock;
  private final StoreThreads threads;
  private final LongSupplier clock;

  /**
   * Held while a new file is made in place of one that failed, and while that is ruled out. See
   * {@link WriterLock} for the order of locks.
   */
  private final Object healing = new Object();

  /** Guarded by {@link #healing}. */
  private final HealTimes times = new HealTimes();

  /** Whether the store was closed. Guarded by {@link #healing}. */
  private boolean closed;

  /**
   * Begins before the file is opened.
   *
   * @param clock milliseconds since the epoch
   */
  StoreLife(
      StoreSettings settings,
      StoreFiles files,
      FaultLog faults,
      StoreFile file,
      Supplier<StoreOpener> openers,
      PendingWrites pending,
      StoreGrowth growth,
      StoreWriter writer,
      WriterLock lock,
      StoreThreads threads,
      LongSupplier clock) {
    this.settings = settings;
    this.files = files;
    this.faults = faults;
    this.file = file;
    this.openers = openers;
    this.pending = pending;
    this.growth = growth;
    this.writer = writer;
    this.lock = lock;
    this.threads = threads;
    this.clock = clock;
  }

  // ---- opening

  /** Whether the file that is to be opened is so large that it takes a while. */
  boolean hasLargeFile() {
    try {
      Optional<StoreFiles.GenerationFile> newest = files.newest();
      return newest.isPresent()
          && files.disk().size(newest.get().path()) >= CleanMarker.LARGE_BYTES;
    } catch (IOException e) {
      faults.warn(e, "its file's size can't be told before it is opened");
      return false;
    }
  }

  /** Opens the file; returns how it was found when that is done or has failed. */
  StartReport open() {
    try {
      takeOver(openers.get().open());
      noteOpened();
    } catch (IOException | RuntimeException | Error e) {
      giveUp(e);
    } finally {
      file.openingEnded();
    }
    return file.report();
  }

  private void noteOpened() {
    synchronized (healing) {
      times.opened(clock.getAsLong());
    }
  }

  private void takeOver(StoreOpener.Opened result) {
    lock.lock();
    try {
      file.use(result.generations(), result.report());
      // Applied before anyone else writes: after that the marker is not needed any more.
      var unused = writer.writeAll();
      if (file.state() == StoreState.READY) {
        file.removeDiscardMarker();
      }
    } finally {
      lock.unlock();
    }
  }

  /** There is no file for now. */
  private void giveUp(Throwable cause) {
    lock.lock();
    try {
      // Who opened the store tells of it.
      faults.count(cause);
      file.giveUp(cause);
      pending.clear();
    } finally {
      lock.unlock();
    }
    releaseDisk();
    healLater();
  }

  // ---- a file that failed

  /** Unmaps a file that is not in use any more, and sees to another one. */
  void replaceLater(Generations failed) {
    // Not here: the caller may be a reader inside the gate, or in the middle of a change.
    var unused = threads.write(() -> unmapAndHeal(failed));
  }

  private void unmapAndHeal(Generations generations) {
    unmap(generations);
    releaseDisk();
    healLater();
  }

  /** Leaves the disk to the other stores until there is a file again. */
  private void releaseDisk() {
    synchronized (healing) {
      if (file.state() == StoreState.FAILED) {
        growth.releaseDisk();
      }
    }
  }

  private void unmap(Generations generations) {
    lock.lock();
    try {
      if (file.isOver()) {
        pending.clear();
      }
      generations.unmap();
    } catch (RuntimeException | InternalError e) {
      faults.warn(e, "cannot unmap its file");
    } finally {
      lock.unlock();
    }
  }

  private void healLater() {
    synchronized (healing) {
      if (!closed) {
        times.failed(clock.getAsLong()).ifPresent(seconds -> threads.later(this::heal, seconds));
      }
    }
  }

  /** Makes a new file if the last one failed or none could be made. */
  void heal() {
    synchronized (healing) {
      if (closed || file.state() != StoreState.FAILED) {
        return;
      }
      try {
        if (growth.isRunning()) {
          throw new IOException("the growth of the old file has not ended");
        }
        if (file.givenUp() != null) {
          // Its name may be used again.
          unmap(file.givenUp());
        }
        takeOver(openers.get().openEmpty("its file failed: " + file.report().detail()));
        times.opened(clock.getAsLong());
        logger.atInfo().log("Cache %s has a file again", settings.name());
      } catch (IOException | RuntimeException | Error e) {
        // Of any kind: whatever keeps this one from being made, there is a next time.
        faults.count(e);
        releaseDisk();
        healLater();
      }
    }
  }

  // ---- the end

  /** Writes what waits, unmaps the file and says on disk that it is in order. */
  void close() {
    boolean interrupted = file.awaitOpenForever();
    synchronized (healing) {
      closed = true;
    }
    boolean written = false;
    try {
      writer.flush();
      // What did not fit the old file is in the next one only.
      growth.await();
      written = true;
    } finally {
      closeFile(written);
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void closeFile(boolean written) {
    lock.lock();
    try {
      boolean inOrder = false;
      try {
        if (written) {
          var unused = writer.writeAll();
          inOrder = true;
        }
      } finally {
        letGoOfFile(inOrder);
      }
    } catch (IOException | RuntimeException | InternalError e) {
      faults.warn(e, "could not be closed properly and will be recovered at the next start");
    } finally {
      lock.unlock();
      growth.leaveDisk();
    }
  }

  private void letGoOfFile(boolean inOrder) throws IOException {
    Generations generations = file.letGo();
    pending.clear();
    if (generations == null) {
      return;
    }
    if (inOrder) {
      generations.closeCleanly();
    } else {
      generations.unmap();
    }
  }
}
