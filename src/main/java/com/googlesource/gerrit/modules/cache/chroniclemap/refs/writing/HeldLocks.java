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

import static com.google.common.base.Preconditions.checkState;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.EmptyRefFolders;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.NfsRevalidation;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.Ref;

/**
 * The refs that one transaction has locked, with their new values. Threads of this process are
 * excluded by {@link NameReservations}, other processes by git's lock files ({@code NAME.lock}).
 *
 * <p>A lock file is a hard link to an anchor of the transaction's {@link Journal}, which shows the
 * owner of the lock after a process was killed. The new value of a ref is written beside the
 * journal and renamed into place while the lock stays. So all refs stay locked until the last one
 * has changed, and changes can be undone. The lock of a single ref has the new value, and is
 * renamed into place itself if nothing can fail after that.
 *
 * <p>Where no journal can be written, or a ref's folder can have no link to it, all updates are
 * JGit's.
 *
 * <p>For one thread at a time: that of the writer or, while the writer waits, that of the {@code
 * PackedRefsQueue}. All costs grow with the refs of the transaction.
 */
final class HeldLocks implements Closeable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often to make a folder that other processes delete because it is empty. */
  private static final int MAX_FOLDER_ATTEMPTS = 20;

  /** The minimum wait for threads of this process. */
  private static final long MIN_WAIT_MILLIS = 1000;

  private static final long FIRST_PAUSE_MILLIS = 1;
  private static final long MAX_PAUSE_MILLIS = 200;

  private final RefPaths paths;
  private final RefDisk disk;
  private final JournalFolder journals;
  final Journal journal;
  final List<String> names;

  /** In the order of names. */
  final List<LockedRef> refs;

  /** The folder of the last lock. */
  @Nullable private Path folder;

  /** The folders that this transaction made for locks. */
  private final Set<Path> newFolders = new HashSet<>();

  /**
   * Whether others may have a ref whose lock was this transaction's: somebody has deleted the lock,
   * perhaps to take the ref, or it was to become the ref.
   */
  private boolean isLost;

  @Nullable private Path packedLock;

  /**
   * The file to replace while {@code packed-refs} is locked: behind symbolic links, as in git. Null
   * until the first attempt to lock it.
   */
  @Nullable Path packedRefs;

  /** The locks that could not be deleted, and those that may be there. */
  private final Set<Path> left = new HashSet<>();

  private boolean closed;

  private HeldLocks(
      RefPaths paths,
      JournalFolder journals,
      List<String> names,
      List<LockedRef> refs,
      Journal journal) {
    this.paths = paths;
    this.disk = journals.disk;
    this.journals = journals;
    this.names = names;
    this.refs = refs;
    this.journal = journal;
    for (int i = 0; i < refs.size(); i++) {
      refs.get(i).held = this;
      refs.get(i).number = i;
    }
  }

  /**
   * Locks refs.
   *
   * @param given in the order of names, each name once; none for a writer of {@code packed-refs}
   *     alone
   * @param waitMillis how long to wait for other lock holders; for threads of this process, the
   *     wait is a second at least
   * @throws RefusedException if there is another lock holder of a ref, or a ref in the place of a
   *     folder; none is locked then
   * @throws RefReader.LeftToJGit if JGit must write; none is locked then
   * @throws IOException if a lock can't be made; none is locked then
   */
  static HeldLocks lock(
      RefPaths paths, JournalFolder journals, List<? extends LockedRef> given, long waitMillis)
      throws IOException {
    List<LockedRef> refs = List.copyOf(given);
    List<String> names = refs.stream().map(ref -> ref.name).toList();
    for (LockedRef ref : refs) {
      ref.file = paths.toLock(ref.name); // before a folder is made for one of them
    }
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis);
    try {
      long wait = TimeUnit.MILLISECONDS.toNanos(Math.max(waitMillis, MIN_WAIT_MILLIS));
      if (!journals.held.take(names, wait)) {
        throw new RefusedException(names.get(0), RefPaths.lockOf(refs.get(0).file));
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    HeldLocks locks = null;
    try {
      Journal journal = journals.begin(paths.transactions, refs);
      locks = new HeldLocks(paths, journals, names, refs, journal);
      locks.lockFiles(end);
      return locks;
    } catch (Throwable e) {
      if (locks == null) {
        journals.held.release(names);
      } else {
        locks.close();
      }
      throw e;
    }
  }

  /**
   * Returns the refs of another process's transaction, for its recovery, which looks for each lock
   * and deletes it. Must not be closed.
   */
  static HeldLocks ofDead(RefPaths paths, JournalFolder journals, Journal.Found dead)
      throws IOException {
    for (LockedRef ref : dead.refs()) {
      ref.file = paths.loose(ref.name);
      ref.lock = RefPaths.lockOf(ref.file);
    }
    return new HeldLocks(paths, journals, List.of(), dead.refs(), dead.journal());
  }

  private static InterruptedIOException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return (InterruptedIOException) new InterruptedIOException().initCause(e);
  }

  private void lockFiles(long end) throws IOException {
    for (long pause = FIRST_PAUSE_MILLIS; ; pause = Math.min(2 * pause, MAX_PAUSE_MILLIS)) {
      RefusedException refused = tryLockFiles();
      if (refused == null) {
        return;
      }
      // Keeps no lock while it waits, as the other holder may need that one.
      unlockFiles();
      if (System.nanoTime() - end >= 0) {
        throw refused;
      }
      try {
        Thread.sleep(pause);
      } catch (InterruptedException e) {
        throw interrupted(e);
      }
    }
  }

  /**
   * Locks the files. Returns the failure if another holder has one of them, or null if all are
   * locked now.
   */
  @Nullable
  private RefusedException tryLockFiles() throws IOException {
    for (LockedRef ref : refs) {
      Path lock = RefPaths.lockOf(ref.file);
      try {
        if (!tryLock(lock, ref.number / Journal.MAX_LINKS)) {
          return new RefusedException(ref.name, lock);
        }
      } catch (NotDirectoryException e) {
        throw new RefusedException(ref.name, null);
      }
      ref.lock = lock;
    }
    return null;
  }

  /** Whether there is a ref in the place of a folder. */
  private static boolean isBelowFile(File file) {
    File folder = file.getParentFile();
    return folder != null && (folder.isFile() || isBelowFile(folder));
  }

  /**
   * Makes a lock file, unless others have it.
   *
   * @throws NotDirectoryException if there is a ref in the place of a folder
   */
  private boolean tryLock(Path file, int anchor) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        // This check is cheaper than an exception. A new change needs a new folder. That of the
        // previous lock certainly exists.
        if (!file.getParent().equals(folder)) {
          folder = file.getParent();
          if (!folder.toFile().isDirectory()) {
            disk.makeFolders(folder);
            newFolders.add(folder);
          }
        }
        return link(file, anchor);
      } catch (IOException e) {
        folder = null;
        if (isBelowFile(file.toFile())) { // soon, as others may delete the ref
          throw new NotDirectoryException(file.getParent().toString());
        }
        // Another process may have deleted the empty folder.
        if (attempt == MAX_FOLDER_ATTEMPTS || !Files.exists(journal.file())) {
          throw canBeNoLink(file, e)
              ? journals.leaveToJGit("cannot make " + file + " as a hard link of its repository", e)
              : e;
        }
      }
    }
  }

  private boolean link(Path file, int anchor) throws IOException {
    try {
      disk.link(file, journal.anchor(anchor));
      if (!journals.showsLinks) {
        journals.showsLinks = isOwn(file);
        if (!journals.showsLinks) {
          unlock(file); // as nobody could ever tell whose it is
          throw new IOException("it has another inode than its journal (CIFS needs serverino)");
        }
      }
      return true;
    } catch (NoSuchFileException e) {
      throw e;
    } catch (UnsupportedOperationException | FileSystemException e) {
      // A network file system may have made the link and lost its answer.
      if (isOwn(file)) {
        return true;
      }
      if (e instanceof FileAlreadyExistsException) {
        return false;
      }
      throw e instanceof IOException failure ? failure : new IOException(e);
    }
  }

  /** Whether a lock is this transaction's. If nobody can tell, it is looked at again later. */
  private boolean isOwn(Path lock) throws IOException {
    try {
      return journal.isLink(lock);
    } catch (Throwable e) {
      left.add(lock);
      throw e;
    }
  }

  /**
   * Whether there can be files but no links, which no attempt has made. Not for a packed-refs that
   * leads out of the repository, as JGit would replace the symbolic link.
   */
  private boolean canBeNoLink(Path file, IOException why) {
    if (why instanceof NoSuchFileException
        || !Files.exists(journal.file())
        || !file.normalize().startsWith(paths.transactions.getParent())) {
      return false;
    }
    try {
      disk.create(file);
      disk.delete(file);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Locks {@code packed-refs} for this transaction.
   *
   * @return false if there is another lock holder
   */
  boolean lockPackedRefs() throws IOException {
    packedRefs = RefPaths.behindLinks(paths.packedRefs.toPath());
    Path lock = RefPaths.lockOf(packedRefs.toFile());
    packedLock = tryLock(lock, 0) ? lock : null;
    return packedLock != null;
  }

  /** Unlocks {@code packed-refs}, if it is locked. */
  void unlockPackedRefs() {
    if (packedLock != null) {
      unlock(packedLock);
      packedLock = null;
    }
  }

  /** A file on the file system of {@code packed-refs}, for its new content. */
  Path besidePackedRefs() {
    return journal.beside("packed");
  }

  // ---- new values

  /** A ref to be locked and changed. */
  static class LockedRef {
    final String name;

    /** The new value, which is the zero id to delete the ref. */
    final ObjectId newId;

    /** Null unless the ref is being locked, as all that follows. */
    private HeldLocks held;

    /** Its number among the refs. */
    private int number;

    /** The file of the loose ref. */
    File file;

    /** Its lock file; null unless the ref is locked. */
    @Nullable Path lock;

    /** The file of a new value that is not published; null if there is none beside the journal. */
    @Nullable private Path value;

    /** The new content of the loose ref. */
    byte[] content;

    /** Whether a value was published, whose file keeps its folder. */
    private boolean isPublished;

    LockedRef(String name, ObjectId newId) {
      this.name = name;
      this.newId = newId;
      this.content = Constants.encode(newId.name() + '\n');
    }

    /**
     * Whether the transaction still has the lock.
     *
     * @throws IOException if the disk does not tell
     */
    final boolean isLocked() throws IOException {
      return held.journal.isLink(lock);
    }

    /**
     * Writes the new content of the loose ref, which {@link #publish} renames into place.
     *
     * @param staysLocked whether the ref has to be locked after that, too. Otherwise its lock file
     *     is renamed if it has this content
     */
    final void write(String line, boolean staysLocked) throws IOException {
      content = Constants.encode(line + '\n');
      if (staysLocked || held.journal.named == null || !line.equals(newId.name())) {
        value = held.journal.beside(Integer.toString(number));
        held.disk.write(value, content, /* synced= */ false);
      }
    }

    /**
     * Renames the new value into the place of the loose ref. If that is the lock file, this unlocks
     * the ref.
     *
     * @throws IOException if a folder that is not empty has the ref's name, if the lock was lost,
     *     or if the disk fails
     */
    final void publish() throws IOException {
      held.checkLocked(List.of(this));
      boolean unlocks = value == null;
      checkState(!unlocks || held.journal.named != null, "%s has no new value", name);
      held.isLost |= unlocks; // even if the disk says that it has failed
      held.disk.renameOverEmptyFolders(unlocks ? lock : value, file, this::hasArrived);
      lock = unlocks ? null : lock;
      value = null;
      isPublished = true;
    }

    /** Whether the file of the new value is in the place of the ref, though its rename failed. */
    private boolean hasArrived() throws IOException {
      Path place = file.toPath();
      NfsRevalidation.OF_SYSTEM.openFolder(place.getParent()); // or the old file may be seen there
      return value == null
          ? held.journal.isLink(place)
          : Files.notExists(value) && Arrays.equals(content, Files.readAllBytes(place));
    }

    /**
     * Gives the ref its old value again, in a loose file.
     *
     * @param old a loose ref
     * @param durable whether to sync the file
     */
    final void rollBack(Ref old, boolean durable) throws IOException {
      write(
          old.isSymbolic() ? "ref: " + old.getTarget().getName() : old.getObjectId().name(),
          /* staysLocked= */ true);
      if (durable) {
        held.disk.syncFiles(List.of(value));
      }
      publish();
    }

    /**
     * Deletes the file of the loose ref, if it exists.
     *
     * @throws IOException if the lock was lost, or if the disk fails
     */
    final void deleteLoose() throws IOException {
      held.checkLocked(List.of(this));
      isPublished = false;
      held.disk.deleteLoose(file);
    }
  }

  /**
   * Checks that the transaction still has the locks of refs. If somebody has deleted a lock file,
   * another process may be changing the ref. The locks are looked at once, and each anchor after
   * them.
   */
  void checkLocked(List<? extends LockedRef> some) throws IOException {
    boolean wasLost = isLost;
    isLost = true; // until the disk tells otherwise
    Path lost = journal.firstOther(some.stream().map(ref -> ref.lock).toList());
    if (lost != null) {
      throw new IOException(
          lost + " was deleted while its process held it: nothing is changed there");
    }
    isLost = wasLost;
  }

  /** Syncs the written values. */
  void syncValues() throws IOException {
    disk.syncFiles(written());
  }

  private List<Path> written() {
    return refs.stream().map(ref -> ref.value).filter(Objects::nonNull).toList();
  }

  /**
   * Decides that the new values are published.
   *
   * @param durable whether the decision has to survive a crash of the machine
   * @throws IOException if the decision failed; then {@link Journal#rollBackDecision} must follow
   */
  void decide(boolean durable) throws IOException {
    journal.decide(durable, written(), durable ? folders() : List.of());
  }

  /** Syncs the folders of this transaction's refs. */
  void syncFolders() throws IOException {
    disk.syncFolders(folders());
  }

  /** The folders of the locks. A new folder comes with all folders above it up to {@code refs/}. */
  private Set<Path> folders() {
    Path top = paths.refsFolder.toPath();
    Set<Path> folders = new LinkedHashSet<>();
    for (LockedRef ref : refs) {
      Path parent = ref.lock.getParent();
      if (folders.add(parent) && newFolders.contains(parent)) {
        for (Path above = parent.getParent(); above.startsWith(top); above = above.getParent()) {
          folders.add(above);
        }
      }
    }
    folders.removeIf(Files::notExists); // not one that the disk does not tell of
    return folders;
  }

  // ---- unlock

  private void unlockFiles() {
    for (LockedRef ref : refs) {
      if (ref.lock != null) {
        unlock(ref.lock);
        ref.lock = null;
      }
    }
    folder = null;
  }

  /** Deletes a lock file, in up to two attempts, as a lock that stays excludes everybody. */
  private void unlock(Path lock) {
    try {
      if (!isLost || journal.isLink(lock)) {
        disk.delete(lock);
      } else if (LooseFile.isThere(lock.toFile())) {
        logger.atWarning().log("lock %s is not deleted, as it may be another process's", lock);
      }
    } catch (IOException e) {
      try {
        // If the first attempt has deleted the lock, the file may be another holder's by now.
        if (journal.isLink(lock)) {
          disk.delete(lock);
        }
      } catch (IOException again) {
        left.add(lock);
        logger.atSevere().withCause(again).log(
            "cannot delete %s: Gerrit tries again every ten seconds, and when it is next started",
            lock);
      }
    }
  }

  /** Tries again to delete the locks that could not be deleted, and then the journal. */
  void unlockAgain() {
    isLost = true; // others may have the locks by now
    List<Path> again = List.copyOf(left);
    left.clear();
    again.forEach(this::unlock);
    endJournal();
  }

  /** If locks could not be deleted, their journal stays until the upkeep, or a recovery, has. */
  private void endJournal() {
    if (left.isEmpty()) {
      JournalFolder.close(journal);
    } else {
      journals.addLeft(this);
    }
  }

  private void deleteEmptyFolders() {
    EmptyRefFolders.deleteAbove(
        refs.stream()
            .filter(ref -> !ref.isPublished)
            .collect(Collectors.toMap(ref -> ref.name, ref -> ref.file)));
  }

  /** Unlocks all and deletes the values that were not published, and folders that are empty. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      written().forEach(value -> JournalFolder.close(() -> disk.delete(value)));
      unlockPackedRefs();
      unlockFiles();
      endJournal();
      journals.release(journal.owner);
      deleteEmptyFolders(); // last, as it may run out of memory
    } finally {
      journals.held.release(names);
    }
  }
}
