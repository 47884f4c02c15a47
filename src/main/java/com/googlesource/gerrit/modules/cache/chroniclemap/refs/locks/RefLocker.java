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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.locks;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.RefPaths;
import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/**
 * Locks the refs of one repository folder for all who write them in this process, whatever
 * instances of the repository there are. Any thread may call.
 */
public final class RefLocker implements Closeable {
  private final RefDisk disk;
  private final LockTable table = new LockTable();
  private final JournalPool journals;

  /**
   * Makes it; takes nothing of the disk yet.
   *
   * @param disk by which files are changed
   */
  public RefLocker(RefDisk disk) {
    this.disk = disk;
    this.journals = new JournalPool(disk);
  }

  RefDisk disk() {
    return disk;
  }

  LockTable table() {
    return table;
  }

  JournalPool journals() {
    return journals;
  }

  /**
   * Locks refs.
   *
   * @param entries in the order of their names, each once
   * @param waitMillis how long to wait for other processes; threads of this one are waited for, a
   *     second at least
   * @throws RefLocks.Refused if one of them is locked by another one; none is locked then
   * @throws IOException if a lock can't be made; none is locked then
   */
  public RefLocks lock(RefPaths paths, List<Journal.Entry> entries, long waitMillis)
      throws IOException, RefLocks.Refused {
    return RefLocks.lock(paths, this, entries, waitMillis);
  }

  /** Deletes the files of journals that nobody has used since this was last called. */
  public void closeUnused() {
    journals.closeUnused();
  }

  /** Deletes those of all journals that are not in use. */
  @Override
  public void close() {
    journals.close();
  }
}
