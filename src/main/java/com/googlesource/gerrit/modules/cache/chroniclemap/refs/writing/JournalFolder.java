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

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.UninterruptedThreads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The folder of journals of one repository, and the names that they lock, for all writers in this
 * process and all instances of the repository. Any thread may call.
 */
final class JournalFolder implements Closeable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How many repositories keep their owner file for the next journal. */
  private static final int MAX_OWNERS = 64;

  /**
   * The repositories whose refs were changed last. One that leaves this cache closes its owner
   * file, unless a journal needs it: {@link #upkeep} does that later. The disk of one may hang, for
   * which the writer of another must not wait.
   */
  private static final Cache<JournalFolder, Boolean> OWNERS =
      CacheBuilder.newBuilder()
          .concurrencyLevel(1) // or each segment would get a part of the room
          .maximumSize(MAX_OWNERS)
          .<JournalFolder, Boolean>removalListener(evicted -> evicted.getKey().closeInBackground())
          .build();

  final RefDisk disk;
  final NameReservations held = new NameReservations();

  /**
   * Shows that this process lives while it has journals. Kept some seconds for the next journals.
   * Guarded by this.
   */
  @Nullable private JournalOwner owner;

  /** Whether the owner was used since the last {@link #upkeep}. Guarded by this. */
  private boolean used;

  /** Held in {@link #upkeep}. */
  private final Lock tending = new ReentrantLock();

  /** The transactions of which locks could not be deleted. Guarded by this. */
  private final List<HeldLocks> left = new ArrayList<>();

  /** How long JGit makes all updates before this module tries again whether it can. */
  private static final long RETRY_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** Whether a lock was seen to be a link to its journal. Some file systems do not show that. */
  volatile boolean showsLinks;

  /** When locks could last not be links to a journal, by {@link System#nanoTime}; null if never. */
  @Nullable private volatile Long leftToJGit;

  /** Makes it without touching the disk. */
  JournalFolder(RefDisk disk) {
    this.disk = disk;
  }

  /**
   * Begins the journal of a transaction, whose owner has to be {@linkplain #release released}.
   *
   * @param folder made if it is missing
   * @throws RefReader.LeftToJGit if nobody may write in the folder
   */
  Journal begin(Path folder, List<HeldLocks.LockedRef> refs) throws IOException {
    JournalOwner mine = null;
    Journal journal = null;
    try {
      mine = owner(folder);
      var unused = OWNERS.asMap().putIfAbsent(this, true);
      journal = Journal.begin(disk, mine, refs);
      return journal;
    } catch (IOException e) {
      Path there = Files.exists(folder) ? folder : folder.getParent();
      if (Files.isDirectory(there) && Files.isWritable(there)) {
        throw e; // the disk refuses it now, and may take it later
      }
      throw leaveToJGit(there + " has to be a folder that the user who runs Gerrit can write", e);
    } finally {
      if (mine != null && journal == null) {
        release(mine);
      }
    }
  }

  private synchronized JournalOwner owner(Path folder) throws IOException {
    if (owner != null && !owner.isThere()) {
      // The folder was deleted, perhaps with the repository, and may have been made again. Journals
      // without an owner file would be taken for those of a dead process, so there must be a new
      // owner. The old owner stays until the last of its journals ends, as others must know that it
      // lives.
      if (owner.inUse == 0) {
        close(owner);
      }
      owner = null;
    }
    if (owner == null) {
      owner = JournalOwner.make(disk, folder);
    }
    owner.inUse++;
    used = true;
    return owner;
  }

  /**
   * Whether JGit has to make all updates for now, as locks can't be links to a journal.
   *
   * @param now by {@link System#nanoTime}
   */
  boolean isLeftToJGit(long now) {
    Long since = leftToJGit;
    return since != null && now - since < RETRY_NANOS;
  }

  /**
   * Leaves all updates to JGit for some minutes, as nobody could tell the locks of a killed
   * process.
   *
   * @return what a writer has to throw
   */
  RefReader.LeftToJGit leaveToJGit(String why, Exception e) {
    Level level = leftToJGit == null ? Level.WARNING : Level.FINE;
    leftToJGit = System.nanoTime();
    logger.at(level).withCause(e).log(
        "%s. JGit updates the refs there until that is mended: if this process is killed, the locks"
            + " that it leaves have to be deleted by hand, and each atomic batch rewrites"
            + " packed-refs",
        why);
    return new RefReader.LeftToJGit();
  }

  /** Has the upkeep try again to delete the locks of a transaction. */
  synchronized void addLeft(HeldLocks locks) {
    left.add(locks);
  }

  /** Ends the use of an owner by a journal. */
  synchronized void release(JournalOwner of) {
    of.inUse--;
    if (of != owner && of.inUse == 0) {
      close(of);
    }
  }

  /** Deletes the owner file unless it is in use. */
  private synchronized void closeIdle() {
    if (owner != null && owner.inUse == 0) {
      close(owner);
      owner = null;
    }
  }

  void closeInBackground() {
    var unused = UninterruptedThreads.start(Executors.callable(() -> close()));
  }

  /** Does {@link #tend}, unless another thread does, which the disk may keep there. */
  void upkeep() {
    if (tending.tryLock()) {
      try {
        tend();
      } finally {
        tending.unlock();
      }
    }
  }

  /**
   * Tries again to delete locks that could not be deleted, and deletes the owner file if no
   * transaction used it since the last call.
   */
  private synchronized void tend() {
    List<HeldLocks> again = List.copyOf(left);
    left.clear();
    again.forEach(HeldLocks::unlockAgain);
    if (!used) {
      closeIdle();
    }
    used = false;
  }

  /** Deletes the owner file unless it is in use. */
  @Override
  public void close() {
    tend();
    tend();
  }

  static void close(Closeable file) {
    try {
      file.close();
    } catch (IOException e) {
      logger.atSevere().withCause(e).log(
          "cannot close or delete a file of a completed transaction");
    }
  }
}
