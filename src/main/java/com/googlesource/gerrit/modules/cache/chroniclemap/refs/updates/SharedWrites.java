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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.updates;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks.RefLocks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.packed.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.Transactions;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What all that write the refs of one repository folder in this process share, whatever instances
 * of the repository there are.
 */
public final class SharedWrites {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final RefLocks locks;
  private final Transactions transactions = new Transactions();
  private final RefDisk disk;
  private final PackedRefsQueue queue;
  private final Executor background;

  /** How many loose refs there are, about: those counted last, and those made since. */
  private final AtomicInteger loose = new AtomicInteger();

  /** How many there may be, as the last packing found; 0 before the first. */
  private volatile int most;

  /** Guarded by this. */
  private boolean used;

  private final AtomicBoolean packing = new AtomicBoolean();

  /**
   * Makes it.
   *
   * @param disk by which files are changed
   * @param writer runs rewrites, each on a thread that nobody interrupts
   * @param background packs
   */
  public SharedWrites(PackedRefsFile file, RefDisk disk, Executor writer, Executor background) {
    this.disk = disk;
    this.locks = new RefLocks(disk);
    this.queue = new PackedRefsQueue(file, disk, writer);
    this.background = background;
  }

  /** Runs something once, for the first who asks; the others wait until it is done. */
  synchronized void beforeFirstUse(Runnable recovery) {
    if (!used) {
      used = true;
      recovery.run();
    }
  }

  public RefLocks locks() {
    return locks;
  }

  RefDisk disk() {
    return disk;
  }

  public Transactions transactions() {
    return transactions;
  }

  PackedRefsQueue queue() {
    return queue;
  }

  /** Notes how many loose refs a packing has left, and how many there may be before the next. */
  void packed(int looseRefs, int mostLoose) {
    loose.set(looseRefs);
    most = mostLoose;
  }

  /** Notes how many loose refs there are, from one who has seen all. */
  public void counted(int looseRefs) {
    loose.set(looseRefs);
  }

  /**
   * Notes loose refs that were made.
   *
   * @param least how many there may be in any case; 0 for any number
   * @param pack is run in the background, once at a time, if there are too many now; calls {@link
   *     #packed}
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
      // The refs are made all the same; the next ones try again.
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log("cannot pack loose refs");
    }
  }
}
