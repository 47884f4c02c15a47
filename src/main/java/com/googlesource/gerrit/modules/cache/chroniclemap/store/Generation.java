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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One file of a store while it is mapped, and the gate that keeps it mapped while anyone reads it.
 *
 * <p>Reads may come from any thread at any time, also after the file was unmapped: then they find
 * nothing; so may {@link #markVoid}. Writes are for the holder of the store's writer lock.
 */
final class Generation {
  private final Disk disk;
  private final FilesOnDisk.GenerationName name;
  private final ValueTable values;
  private final Gate gate = new Gate();

  Generation(Disk disk, FilesOnDisk.GenerationName name, ValueTable values) {
    this.disk = disk;
    this.name = name;
    this.values = values;
  }

  FilesOnDisk.GenerationName name() {
    return name;
  }

  /** For the writer. */
  ValueTable values() {
    return values;
  }

  /**
   * Returns null if there is no value or the file was unmapped, {@link Value#VOID} if it is void.
   */
  Value read(byte[] key) throws DamagedEntryException {
    long stamp = gate.enter();
    if (stamp == 0) {
      return null;
    }
    try {
      return values.read(key);
    } finally {
      gate.leave(stamp);
    }
  }

  /** Makes a value void, if there is one; for any thread. */
  void markVoid(byte[] key) {
    long stamp = gate.enter();
    if (stamp != 0) {
      try {
        values.markVoid(key);
      } finally {
        gate.leave(stamp);
      }
    }
  }

  /** Waits for the readers inside and unmaps the file, with what is known of it. */
  synchronized void unmap() {
    gate.shut();
    values.map().close();
    release();
  }

  /** Unmaps what is known of the file. */
  void release() {
    state().release();
  }

  /** Opens the file a second time, for reading it past its mapping. */
  FileChannel openChannel() throws IOException {
    return disk.open(name.path(), Set.of(StandardOpenOption.READ));
  }

  /** Puts a segment in order that may not be, unless the file was unmapped. */
  void check(int segment) {
    long stamp = gate.enter();
    if (stamp != 0) {
      try {
        values.map().check(segment);
      } finally {
        gate.leave(stamp);
      }
    }
  }

  /** See {@link RecordMap#expectRandomAccess}. */
  void expectRandomAccess() {
    long stamp = gate.enter();
    if (stamp != 0) {
      try {
        values.map().expectRandomAccess();
      } finally {
        gate.leave(stamp);
      }
    }
  }

  /** What is known of the file. */
  FileState state() {
    return values.map().state();
  }

  /**
   * Says that the file, which nobody writes to any more, is in order, and unmaps it. To say so
   * takes as long for a large file as for any. What is known of it stays mapped for {@link
   * #settle}, until {@link #release}.
   */
  void closeCleanly() throws IOException {
    gate.shut();
    try {
      // A newer version of a plugin's cache may have removed the file of this one.
      if (disk.exists(name.path())) {
        state().close(name.path());
      }
    } finally {
      // Last: it takes the longer the more of the file was touched.
      values.map().close();
    }
  }

  /**
   * After {@link #closeCleanly}: sees to it that the file is known to be in order when the machine
   * was stopped meanwhile, and after it was copied. Takes as long as the disk needs.
   *
   * @param ours whether the folder is still this process's, asked when the disk has done its part;
   *     it stays so while {@code ours} is held as a lock
   */
  void settle(AtomicBoolean ours) throws IOException {
    if (state().isOnDisk() || !disk.exists(name.path())) {
      return;
    }
    disk.force(name.path());
    // What the segments hold, too.
    disk.force(name.statePath());
    synchronized (ours) {
      if (ours.get()) {
        state().noteOnDisk();
      }
    }
    // Where nothing was ever invalidated, a copy is of use without.
    if (state().isChanged()) {
      int checksum = state().checksum(name.path());
      synchronized (ours) {
        if (ours.get()) {
          state().noteChecksum(checksum);
        }
      }
    }
  }
}
