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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The state that all writers of one repository folder share in this process, for all instances of
 * the repository. Any thread may call.
 */
public final class RepositoryWriter {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  final JournalFolder locks;
  public final Transactions transactions = new Transactions();
  final RefDisk disk;
  final PackedRefsQueue queue;
  private final Executor background;

  /** About how many loose refs there are: those counted last, and those made since. */
  private final AtomicInteger loose = new AtomicInteger();

  /** How many loose refs the last packing allows; 0 before the first one. */
  private volatile int most;

  /** Guarded by this. */
  private boolean used;

  private final AtomicBoolean packing = new AtomicBoolean();

  /**
   * Makes the state without touching the disk.
   *
   * @param writer runs rewrites, each on a thread that nobody interrupts
   * @param background packs loose refs
   */
  public RepositoryWriter(PackedRefsFile file, RefDisk disk, Executor writer, Executor background) {
    this.disk = disk;
    this.locks = new JournalFolder(disk);
    this.queue = new PackedRefsQueue(file, disk, writer);
    this.background = background;
  }

  /** What closes the journals in the background, without a reference to this object. */
  public Runnable closing() {
    return locks::closeInBackground;
  }

  /** Closes the journals, which are opened again if they are needed. */
  public void close() {
    locks.close();
  }

  /** Deletes what could not be deleted before. Must be called every few seconds. */
  public void upkeep() {
    locks.upkeep();
  }

  /** Runs a recovery at the first call. Other callers wait for its end. */
  synchronized void beforeFirstUse(Runnable recovery) {
    if (!used) {
      used = true;
      recovery.run();
    }
  }

  /**
   * Notes how many loose refs a packing has left, and how many there may be before the next one.
   */
  void packed(int looseRefs, int mostLoose) {
    loose.set(looseRefs);
    most = mostLoose;
  }

  /** Notes how many loose refs a complete listing has found. */
  public void counted(int looseRefs) {
    loose.set(looseRefs);
  }

  /**
   * Counts new loose refs.
   *
   * @param least how many loose refs there may be in any case; 0 for any number
   * @param pack a packing, which calls {@link #packed}. If there are too many loose refs, it runs
   *     in the background, unless one is running
   */
  void added(int looseRefs, int least, Runnable pack) {
    if (loose.addAndGet(looseRefs) <= Math.max(least, most)
        || least <= 0
        || !packing.compareAndSet(false, true)) {
      return;
    }
    try {
      background.execute(
          () -> {
            try {
              pack.run();
            } finally {
              packing.set(false);
            }
          });
    } catch (RuntimeException | Error e) {
      packing.set(false);
      // The refs are made all the same. The next ones try again.
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "cannot start the packing of loose refs; the next new refs try again");
    }
  }
}
