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
import com.google.common.flogger.LogPerBucketingStrategy;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.PackedEdits;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RepositoryFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.HeldLocks.LockedRef;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.ObjectId;

/**
 * The recovery of a repository after processes were killed. It completes the transactions that they
 * had decided, and deletes their locks. {@link Journal} describes the files on disk.
 *
 * <p>While a dead process's lock of a ref is there, nobody else has changed the ref. A ref whose
 * lock is gone has its final value. So recovery is right in both cases, and can be repeated if it
 * is killed too. Only the thread that holds the lock of the {@link JournalOwner} file recovers its
 * journals.
 *
 * <p>After a crash of the machine, a deleted lock may reappear although its ref has changed since,
 * as neither was synced. So only durable decisions count then, before which the locks were synced.
 * For all other transactions, the locks are deleted and no ref is changed.
 *
 * <p>All writes are synced, whatever {@code core.fsyncRefFiles} says: recovery is rare, and a
 * second crash is likelier after a first one. Without dead processes, one folder is listed.
 */
record Recovery(RepositoryFiles refs, RepositoryWriter writes) {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The log names each file, once a minute or an hour at most. */
  private static final LogPerBucketingStrategy<Object> BY_FILE =
      LogPerBucketingStrategy.byHashCode(1 << 16);

  /** Few transactions take longer. */
  private static final long OLD_MILLIS = TimeUnit.MINUTES.toMillis(1);

  /**
   * Recovers all dead processes' transactions.
   *
   * @return whether there were any files of dead processes
   */
  boolean run() {
    List<Dead> dead = new ArrayList<>();
    try {
      takeDead(dead);
      Path packedRefsLock = refs.paths.packedRefsLock();
      // This comes first, as the completion of any transaction may have to write packed-refs.
      for (Dead each : dead) {
        for (Journal.Found journal : each.journals) {
          deleteIfOwn(packedRefsLock, journal.journal());
        }
      }
      for (Dead each : dead) {
        finish(each);
      }
    } catch (IOException | RuntimeException e) {
      failed(refs.paths.transactions, e);
    } finally {
      dead.forEach(each -> JournalFolder.close(each.owner));
    }
    return !dead.isEmpty();
  }

  /**
   * Like {@link #run()}, for a file that excludes this process. If it is a lock that stays, it is
   * named: it may be one that another program left, or whose journal is gone after a crash of the
   * machine.
   */
  boolean run(@Nullable Path lock) {
    boolean found = run();
    long since = lock == null ? 0 : lock.toFile().lastModified(); // 0 if it is gone
    if (since > 0
        && System.currentTimeMillis() - since > OLD_MILLIS
        && lock.toString().endsWith(RefPaths.LOCK)) {
      logger
          .atWarning()
          .per(lock, BY_FILE)
          .atMostEvery(1, TimeUnit.MINUTES)
          .log(
              "%s excludes updates; delete it if its process is dead, and no file in %s is a link"
                  + " to it",
              lock, refs.paths.transactions);
    }
    return found;
  }

  private static void failed(Path what, Exception e) {
    logger
        .atSevere()
        .withCause(e)
        .per(what, BY_FILE)
        .atMostEvery(1, TimeUnit.MINUTES)
        .log("cannot complete the recovery of %s after a killed process; it is tried again", what);
  }

  /** The files of a dead process, which this thread has taken. */
  private record Dead(JournalOwner.Taken owner, List<Journal.Found> journals) {}

  private void takeDead(List<Dead> dead) throws IOException {
    Set<Path> owners = new TreeSet<>();
    for (Path file : LooseFile.list(refs.paths.transactions)) {
      JournalOwner.ofOthers(file).ifPresent(owners::add);
    }
    for (Path owner : owners) {
      try {
        take(owner, dead);
      } catch (IOException | RuntimeException e) {
        failed(owner, e);
      }
    }
  }

  private void take(Path file, List<Dead> dead) throws IOException {
    JournalOwner.Taken owner = JournalOwner.takeDead(file);
    if (owner == null) {
      return;
    }
    boolean isDead = false;
    try {
      List<Journal.Found> journals = new ArrayList<>();
      List<Path> files = owner.files();
      for (Path each : files) {
        if (Journal.isJournal(each)) {
          journals.add(Journal.read(writes.disk, each, files));
        }
      }
      String text = owner.text();
      ProcessOrigin origin = ProcessOrigin.parse(text);
      for (Journal.Found journal : journals) {
        origin = origin == null ? journal.origin() : origin; // version 1.0.0 has it only there
      }
      isDead =
          !JournalOwner.isLiving(file)
              && (text.lines().anyMatch(line -> line.startsWith(JournalOwner.DEAD))
                  || ProcessOrigin.isDead(origin, refs.paths.transactions));
      if (isDead) {
        dead.add(new Dead(owner, journals));
      } else if (!journals.isEmpty()) {
        logger
            .atWarning()
            .per(file, BY_FILE)
            .atMostEvery(1, TimeUnit.HOURS)
            .log(
                "%s: cannot determine whether the process that owns %s is alive, so its locks stay;"
                    + " if certain that it is dead, run there: echo dead >> cache-chroniclemap/%s",
                refs.paths.packedRefs.getParent(), file, file.getFileName());
      }
    } finally {
      if (!isDead) {
        owner.close();
      }
    }
  }

  private void finish(Dead dead) {
    boolean all = true;
    for (Journal.Found journal : dead.journals) {
      try {
        finish(journal);
      } catch (IOException | RuntimeException e) {
        failed(journal.journal().file(), e);
        all = false;
      }
    }
    if (!all) {
      return; // the files are needed for the next attempt
    }
    try {
      for (Path left : dead.owner.files()) {
        writes.disk.delete(left);
      }
      writes.disk.delete(dead.owner.file());
    } catch (IOException | RuntimeException e) {
      failed(dead.owner.file(), e);
    }
  }

  /**
   * Completes a transaction and deletes its locks.
   *
   * @throws IOException if that fails; then the journal stays with locks for the next attempt
   */
  private void finish(Journal.Found found) throws IOException {
    HeldLocks dead = HeldLocks.ofDead(refs.paths, writes.locks, found);
    if (found.isToComplete()) {
      checkPlaces(dead);
    }
    if (found.journal().hasLinks()) {
      if (!found.isWhole()) {
        throw new IOException(
            "a crash of the machine took its text: delete the locks that `find . -name '*.lock'"
                + " -samefile FILE` lists, and then this file");
      }
      logger.atInfo().log(
          "%s: a killed process left a transaction of %s loose refs, whose locks are deleted; %s",
          refs.paths.packedRefs.getParent(),
          found.refs().size(),
          found.isToComplete()
              ? "its transaction was decided and is completed"
              : "nothing has to be completed");
    }
    if (found.isToComplete()) {
      complete(dead);
    }
    for (LockedRef ref : dead.refs) {
      deleteIfOwn(ref.lock, found.journal());
    }
    writes.disk.delete(found.journal().file());
  }

  /** Checks that all refs can be set, before any of them is: half of a batch must not be seen. */
  private static void checkPlaces(HeldLocks dead) throws IOException {
    for (LockedRef ref : dead.refs) {
      if (!isDeletion(ref)
          && ref.file.isDirectory()
          && ref.isLocked()
          && !EmptyRefFolders.deleteTree(ref.file.toPath())) {
        throw new DirectoryNotEmptyException(ref.file.getPath());
      }
    }
  }

  private static boolean isDeletion(LockedRef ref) {
    return ref.newId.equals(ObjectId.zeroId());
  }

  /**
   * Changes the refs that are still locked. The others are complete, also if somebody deletes a
   * lock meanwhile. The values are written again, as a crash may have taken those of the dead
   * process.
   */
  private void complete(HeldLocks dead) throws IOException {
    List<LockedRef> left = new ArrayList<>();
    for (LockedRef ref : dead.refs) {
      if (ref.isLocked()) {
        left.add(ref);
        if (!isDeletion(ref)) {
          ref.write(ref.newId.name(), /* staysLocked= */ true);
        }
      }
    }
    dead.syncValues();
    for (LockedRef ref : left) {
      if (!isDeletion(ref) && ref.isLocked()) {
        ref.publish();
      }
    }
    List<LockedRef> deletions = left.stream().filter(Recovery::isDeletion).toList();
    if (!deletions.isEmpty()) {
      delete(deletions);
    }
    dead.syncFolders();
  }

  private void delete(List<LockedRef> deletions) throws IOException {
    try (HeldLocks none = HeldLocks.lock(refs.paths, writes.locks, List.of(), 0)) {
      writes.queue.run(
          new PackedRefsQueue.Request() {
            @Override
            public void collect(ParsedRefs packed, PackedEdits edits) throws IOException {
              for (LockedRef ref : deletions) {
                if (ref.isLocked()) {
                  edits.remove(ref.name, packed);
                }
              }
            }

            @Override
            public void finish() throws IOException {
              for (LockedRef ref : deletions) {
                if (ref.isLocked()) {
                  ref.deleteLoose();
                }
              }
            }
          },
          new PackedRefsQueue.Options(none, true, true),
          refs::lockedList);
    }
  }

  private void deleteIfOwn(Path lock, Journal journal) throws IOException {
    if (journal.isLink(lock)) {
      writes.disk.delete(lock);
    }
  }
}
