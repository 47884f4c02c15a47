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

import com.google.common.flogger.FluentLogger;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.eclipse.jgit.annotations.Nullable;

/**
 * Journals of one repository that no transaction uses just now: they are kept for the next ones for
 * some seconds, as few as may be, since each is an open file.
 *
 * <p>Any thread may call.
 */
final class JournalPool {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final int MOST = 4;

  private final RefDisk disk;

  /** The one that was used last is the first. Guarded by this. */
  private final Deque<Journal> idle = new ArrayDeque<>();

  /** Says that this process lives, while there is any journal. Guarded by this. */
  @Nullable private JournalOwner owner;

  /** How many of the idle ones, at the end, were not used since the last look. Guarded by this. */
  private int unused;

  JournalPool(RefDisk disk) {
    this.disk = disk;
  }

  /**
   * Begins a transaction in a journal, which is made if there is none.
   *
   * @throws IOException if it can't be written: no lock may be taken then
   */
  Journal take(Path folder, List<Journal.Entry> entries) throws IOException {
    Journal journal = take(folder);
    boolean begun = false;
    try {
      journal.begin(entries);
      begun = true;
      return journal;
    } finally {
      if (!begun) {
        giveBack(journal, false);
      }
    }
  }

  private synchronized Journal take(Path folder) throws IOException {
    if (owner != null && !owner.isThere()) {
      begin();
    }
    Journal journal = pollIdle();
    if (journal == null) {
      if (owner == null) {
        owner = JournalOwner.make(disk, folder);
      }
      journal = Journal.create(disk, owner);
    }
    owner.inUse++;
    return journal;
  }

  @Nullable
  private Journal pollIdle() {
    for (Journal journal : idle) {
      if (journal.mayLock()) {
        idle.remove(journal);
        unused = Math.min(unused, idle.size());
        return journal;
      }
    }
    return null;
  }

  /**
   * Takes the journals whose decisions the disk is to forget before they can be used again; to be
   * given back.
   */
  synchronized List<Journal> takeOver() {
    List<Journal> over = idle.stream().filter(journal -> !journal.mayLock()).toList();
    idle.removeAll(over);
    unused = Math.min(unused, idle.size());
    over.forEach(journal -> journal.owner().inUse++);
    return over;
  }

  /**
   * Begins anew: somebody has deleted the folder, with the repository perhaps, which may have been
   * made again since. Journals that have no owner's file would be taken for a dead process's.
   */
  private void begin() {
    idle.forEach(JournalPool::close);
    idle.clear();
    unused = 0;
    // Else with the last of its journals: until then others must know that this process lives.
    if (owner.inUse == 0) {
      close(owner);
    }
    owner = null;
  }

  /**
   * Takes a journal back whose transaction is over.
   *
   * @param clean whether none of its locks is left
   */
  synchronized void giveBack(Journal journal, boolean clean) {
    JournalOwner itsOwner = journal.owner();
    itsOwner.inUse--;
    if (clean && itsOwner == owner && idle.size() < MOST) {
      idle.addFirst(journal);
      return;
    }
    close(journal);
    if (itsOwner != owner && itsOwner.inUse == 0) {
      close(itsOwner);
    }
  }

  /** Closes those that nobody has used since this was last called. */
  synchronized void closeUnused() {
    for (; unused > 0; unused--) {
      close(idle.pollLast());
    }
    unused = idle.size();
    if (unused == 0 && owner != null && owner.inUse == 0) {
      close(owner);
      owner = null;
    }
  }

  /** Closes all that are idle. */
  public void close() {
    closeUnused();
    closeUnused();
  }

  private static void close(Closeable file) {
    try {
      file.close();
    } catch (IOException e) {
      logger.atSevere().withCause(e).log("cannot delete a file of a transaction that is over");
    }
  }
}
