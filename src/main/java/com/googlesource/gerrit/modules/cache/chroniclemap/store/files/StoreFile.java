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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.files;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles.FileName;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The file of a store while it is mapped. It is opened once, used and closed once; only a store
 * that is opened with another limit, or whose file failed, gets another one.
 *
 * <p>Any thread may read and invalidate {@link #values} at any time. After the file was unmapped,
 * reads find nothing. Writes are for the holder of the store's writer lock.
 */
public final class StoreFile {
  private final Disk disk;
  public final FileName name;

  public final ValueTable values;

  /** Counts the damaged records of all files of the store. */
  private final LongAdder damaged;

  /** How many damaged entries are known. Changed under the writer lock. */
  private volatile long unrepaired;

  /** Held while the file is forced to disk, and while it is closed. */
  private final ReentrantLock forcing = new ReentrantLock();

  /** Whether the file is closed, or will be by the thread that is forcing it. */
  private volatile boolean released;

  /** Whether the state file was forced since the file was. Guarded by {@link #forcing}. */
  private boolean saved;

  /** Why the disk did not take what was written; null if it did. Guarded by {@link #forcing}. */
  private IOException refused;

  /** Takes over a mapped file. */
  public StoreFile(Disk disk, FileName name, ValueTable values, LongAdder damaged) {
    this.disk = disk;
    this.name = name;
    this.values = values;
    this.damaged = damaged;
  }

  /**
   * Notes how many damaged entries were found, and counts those that were not known. Under the
   * writer lock.
   *
   * @param dropped how many of them are gone; those that were known count as gone first
   * @param isAll whether there are no others
   * @return how many were known
   */
  public long noteDamaged(long found, long dropped, boolean isAll) {
    long known = Math.min(found, unrepaired);
    damaged.add(found - known);
    unrepaired = (isAll ? found : Math.max(found, unrepaired)) - dropped;
    return known;
  }

  /**
   * Removes all values. Once this returns, none of them is found, even after a kill, or after a
   * crash of the machine, which a changed file does not survive. The segments are emptied when they
   * are used next, or checked. Under the writer lock.
   *
   * @throws IOException if the disk does not take the note of the change; then nothing is removed
   */
  public void clear() throws IOException {
    state().noteChange();
    state().counts.emptyAll();
    unrepaired = 0;
  }

  /** How many damaged entries were found, and are still there. */
  public long unrepaired() {
    return unrepaired;
  }

  // ---- the file

  /** Waits for the readers, then unmaps the file and its state file. */
  public synchronized void unmap() {
    values.map.shut();
    try {
      // Whatever failed may have left a segment half written.
      state().counts.markAll();
    } finally {
      try {
        values.map.unmap();
      } finally {
        release();
      }
    }
  }

  /** A reader of the file that bypasses the mapping. */
  public SegmentReader reader() {
    return values.map.reader();
  }

  /** The state of the file. */
  public FileState state() {
    return values.map.state;
  }

  /**
   * Forces to disk what was written to the file so far; does nothing if nothing was written since
   * the last call. If several threads call at the same time, one of them forces for all that came
   * before it began.
   *
   * @param all whether to force the state file too. Once that is done, the file survives a crash of
   *     the machine, with its content of then or later
   * @throws FileSystemException if the folder cannot be opened at the moment
   * @throws IOException if the disk did not take what was written; the system says so only once, so
   *     each later call throws again
   */
  public void force(boolean all) throws IOException {
    forcing.lock();
    try {
      throwIfRefused();
      if (released) {
        throw new NoSuchFileException(name.path().toString());
      }
      if (state().takeUnforced()) {
        saved = false;
        try {
          values.map.force();
        } catch (IOException e) {
          refused = e;
          throw e;
        }
      }
      if (all && !saved) {
        if (!state().isNoted(FileState.FORCED_AT)) {
          // So that no older file has this one's name after a crash of the machine.
          disk.sync(name.path().toAbsolutePath().getParent());
          state().noteForced();
        }
        state().force();
        saved = true;
      }
    } finally {
      forcing.unlock();
      closeIfReleased();
    }
  }

  /** The system reports an error of the disk only once, perhaps to another thread's fsync. */
  private void throwIfRefused() throws IOException {
    if (refused != null) {
      throw new IOException("the disk did not take what was written", refused);
    }
  }

  /**
   * Marks the file, to which nobody writes any more, as closed, and unmaps it. The mark takes no
   * longer for a large file. File and state file stay open for {@link #forceClosed}, until {@link
   * #release}.
   *
   * @throws FileReplacedException if another file was put in the place of one of them
   */
  public void closeCleanly() throws IOException {
    values.map.shut();
    try {
      // A newer version of a plugin's cache may have deleted the file.
      if (disk.exists(name.path())) {
        state().close();
      }
    } catch (IOException | RuntimeException | Error e) {
      unmap();
      throw e;
    }
    // Last, as this takes the longer the more of the file was touched.
    values.map.unmap();
  }

  /**
   * Closes the unmapped file: nothing is noted about it any more. Does not wait for a thread that
   * is forcing it, which then closes it.
   */
  public void release() {
    state().unmap();
    released = true;
    closeIfReleased();
  }

  private void closeIfReleased() {
    if (released && forcing.tryLock()) {
      try {
        values.map.release();
      } finally {
        forcing.unlock();
      }
    }
  }

  /**
   * Forces a closed file to disk, so that it is known to be whole even if the machine stops, or
   * after it was copied. To be called after {@link #closeCleanly}. Takes as long as the disk needs.
   *
   * @param ours whether the folder still belongs to this process, asked after the disk has done its
   *     part; does not change while {@code ours} is held as a lock
   */
  public void forceClosed(AtomicBoolean ours) throws IOException {
    forcing.lock();
    try {
      throwIfRefused();
      if (released || state().isNoted(FileState.ON_DISK_AT) || !disk.exists(name.path())) {
        return;
      }
      values.map.force();
      // The state file holds the counts of the segments.
      state().force();
      ifOurs(ours, state()::noteOnDisk);
      // A file in which nothing was ever invalidated can be used as a copy without a checksum.
      if (state().isChanged()) {
        int checksum = values.map.checksum();
        ifOurs(ours, () -> state().noteChecksum(checksum));
      }
    } finally {
      forcing.unlock();
      closeIfReleased();
    }
  }

  private static void ifOurs(AtomicBoolean ours, Runnable note) {
    synchronized (ours) {
      if (ours.get()) {
        note.run();
      }
    }
  }
}
