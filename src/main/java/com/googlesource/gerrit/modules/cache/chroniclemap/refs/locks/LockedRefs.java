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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.loose.RefPaths;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * The locks that one transaction has on its refs: in this process by {@link HeldNames}, against
 * others by git's lock files ({@code NAME.lock}).
 *
 * <p>A lock file is a hard link to the transaction's {@link Journal}, which tells whose it is after
 * its process was killed. The new value of a ref is written to a file beside the journal and
 * renamed into place while the lock stays: so all locks are held until the last ref has changed,
 * and what could not be completed can be undone.
 *
 * <p>Where the journal can't be written, or a ref is on another file system, the lock is a plain
 * file and the new value is written to another one beside it. A single ref is updated just the
 * same. A killed process leaves such a lock for ever, as git and JGit do, so an atomic batch has to
 * be written in another way ({@link #isPlain}).
 *
 * <p>For one thread at a time: that of the writer, or while it waits that of the {@link
 * PackedRefsQueue}. All it costs grows with the refs of the transaction.
 */
public final class LockedRefs implements Closeable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often a folder is made that another process deletes because it is empty. */
  private static final int FOLDER_ATTEMPTS = 20;

  /** How long threads of this process are waited for in any case. */
  private static final long LEAST_WAIT_MILLIS = 1000;

  private static final long FIRST_PAUSE_MILLIS = 1;
  private static final long LONGEST_PAUSE_MILLIS = 200;

  /** Makes names of files that belong to no journal. */
  private static final AtomicLong COUNT = new AtomicLong();

  /** The same for two processes never: in containers their numbers repeat. */
  private static final String PROCESS = UUID.randomUUID().toString();

  /**
   * A lock file.
   *
   * @param key what tells a plain file from another one of its name; null for a link to the journal
   */
  private record Lock(Path file, @Nullable Object key) {}

  private final RefPaths paths;
  private final RefDisk disk;
  private final RefLocks refLocks;
  private final List<String> names;

  /** Null where none can be written: all locks are plain files then. */
  @Nullable private final Journal journal;

  /** Those of the refs, in the order of the names. */
  private final List<Lock> locks = new ArrayList<>();

  /** Folders that were made for locks. */
  private final Set<Path> newFolders = new HashSet<>();

  /** A new value that is written and not in place. */
  private record Value(Path file, byte[] content) {}

  /** New values, by the number of the name; null where there is none. */
  private final Value[] values;

  @Nullable private Lock packedLock;

  /** Whether all files of this transaction could be deleted. */
  private boolean isUnlocked = true;

  /** Whether there is a lock that is no link to the journal. */
  private boolean isPlain;

  private boolean isDurable;
  private boolean closed;

  private LockedRefs(
      RefPaths paths, RefLocks refLocks, List<String> names, @Nullable Journal journal) {
    this.paths = paths;
    this.disk = refLocks.disk();
    this.refLocks = refLocks;
    this.names = names;
    this.journal = journal;
    this.values = new Value[names.size()];
  }

  /** Some refs could not be locked: another one has a lock. */
  public static final class Refused extends Exception {
    private static final long serialVersionUID = 1;

    private final String name;

    Refused(String name) {
      super(name, null, false, false);
      this.name = name;
    }

    /**
     * The ref whose lock is another one's; the first one, where a thread of this process has it.
     */
    public String name() {
      return name;
    }
  }

  /** As {@link RefLocks#lock}. */
  static LockedRefs lock(
      RefPaths paths, RefLocks refLocks, List<Journal.Entry> entries, long waitMillis)
      throws IOException, Refused {
    List<String> names = entries.stream().map(Journal.Entry::name).toList();
    paths.checkNames(names); // before a folder is made for one of them
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis);
    try {
      long wait = TimeUnit.MILLISECONDS.toNanos(Math.max(waitMillis, LEAST_WAIT_MILLIS));
      if (!refLocks.held().take(names, wait)) {
        throw new Refused(names.get(0));
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    LockedRefs locks = null;
    boolean done = false;
    try {
      locks = new LockedRefs(paths, refLocks, names, refLocks.begin(paths.transactions(), entries));
      locks.lockFiles(end);
      done = true;
      return locks;
    } finally {
      if (!done) {
        if (locks == null) {
          refLocks.held().giveBack(names);
        } else {
          locks.close();
        }
      }
    }
  }

  private static InterruptedIOException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    InterruptedIOException failure = new InterruptedIOException();
    failure.initCause(e);
    return failure;
  }

  private void lockFiles(long end) throws IOException, Refused {
    for (long pause = FIRST_PAUSE_MILLIS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS)) {
      String refused = tryLockFiles();
      if (refused == null) {
        return;
      }
      // None is kept while others are waited for: these may want it.
      unlockFiles();
      if (System.nanoTime() - end >= 0) {
        throw new Refused(refused);
      }
      try {
        Thread.sleep(pause);
      } catch (InterruptedException e) {
        throw interrupted(e);
      }
    }
  }

  /** Returns the name that another one has locked, or null if all are locked now. */
  @Nullable
  private String tryLockFiles() throws IOException {
    for (String name : names) {
      Lock lock = tryLock(RefPaths.lockOf(paths.loose(name)));
      if (lock == null) {
        return name;
      }
      locks.add(lock);
    }
    return null;
  }

  /** Returns null if the file is there already. */
  @Nullable
  private Lock tryLock(Path file) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        // Cheaper than the exception, where a new change needs a folder of its own.
        if (!isBesideLast(file) && !file.getParent().toFile().isDirectory()) {
          disk.makeFolders(file.getParent());
          newFolders.add(file.getParent());
        }
        return journal == null ? create(file, null) : link(file);
      } catch (IOException e) {
        // A folder above may just have been deleted, as it was empty.
        if (attempt == FOLDER_ATTEMPTS || (journal != null && !Files.exists(journal.file()))) {
          throw e;
        }
      }
    }
  }

  /** Whether the folder is there for certain, as it has a lock of this transaction. */
  private boolean isBesideLast(Path file) {
    return !locks.isEmpty() && locks.getLast().file.getParent().equals(file.getParent());
  }

  @Nullable
  private Lock link(Path file) throws IOException {
    Lock lock = new Lock(file, null);
    try {
      disk.link(file, journal.file());
      return lock;
    } catch (FileAlreadyExistsException e) {
      // A network file system may have lost its answer to a call that made it.
      return isOwn(lock) ? lock : null;
    } catch (NoSuchFileException e) {
      throw e;
    } catch (UnsupportedOperationException | FileSystemException e) {
      // A file system without hard links, with too few of them, or another one than the journal's.
      return create(file, e);
    }
  }

  /**
   * Makes a lock that is a plain file, as git's are: it is as good as a link while this process
   * lives, but nobody can tell afterwards whose it was.
   */
  @Nullable
  private Lock create(Path file, @Nullable Exception why) throws IOException {
    try {
      disk.create(file);
    } catch (FileAlreadyExistsException e) {
      return null;
    } catch (IOException e) {
      if (why != null) {
        e.addSuppressed(why);
      }
      throw e;
    }
    Lock lock = null;
    try {
      lock = new Lock(file, key(file));
    } finally {
      if (lock == null) {
        delete(file); // else it would be taken for the lock of somebody else
      }
    }
    isPlain = true;
    if (why != null) {
      refLocks.warnOfPlainLock(file, why);
    }
    return lock;
  }

  private static Object key(Path file) throws IOException {
    Object key = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    return key == null ? file : key;
  }

  /**
   * Whether a lock is there and is this transaction's. Somebody may have deleted it, and somebody
   * else made one: by hand, or on another machine where this process was taken for dead.
   */
  private boolean isOwn(Lock lock) {
    try {
      return lock.key == null
          ? Files.isSameFile(lock.file, journal.file())
          : lock.key.equals(key(lock.file));
    } catch (IOException e) {
      return false;
    }
  }

  /** Whether the ref is locked by this transaction still. */
  public boolean isLocked(int number) {
    return isOwn(locks.get(number));
  }

  /**
   * Locks {@code packed-refs} in this transaction's name.
   *
   * @return false if another one has it locked
   */
  public boolean lockPackedRefs() throws IOException {
    packedLock = tryLock(RefPaths.lockOf(paths.packedRefs()));
    return packedLock != null;
  }

  /** Lets {@code packed-refs} go, if it is locked. */
  public void unlockPackedRefs() {
    if (packedLock != null) {
      delete(packedLock.file);
      packedLock = null;
    }
  }

  /** A file on the file system of {@code packed-refs}, for its new content. */
  public Path besidePackedRefs() {
    return journal == null
        ? plainFileIn(paths.packedRefs().getParentFile().toPath())
        : journal.beside("packed");
  }

  /** A file that is no ref for anybody, wherever it is. */
  private static Path plainFileIn(Path folder) {
    return folder.resolve(
        ".cache-chroniclemap-" + PROCESS + "-" + COUNT.incrementAndGet() + RefPaths.LOCK);
  }

  /**
   * Whether there are locks of which nobody can tell whose they are if the process is killed: so
   * the transaction could not be completed.
   */
  public boolean isPlain() {
    return isPlain;
  }

  public List<String> names() {
    return names;
  }

  // ---- new values

  /** Writes the new value of a ref, which {@link #publish} puts into place. */
  public void write(int number, ObjectId id) throws IOException {
    byte[] line = new byte[Constants.OBJECT_ID_STRING_LENGTH + 1];
    id.copyTo(line, 0);
    line[line.length - 1] = '\n';
    write(number, line);
  }

  /** Writes the new content of a loose ref. */
  public void write(int number, byte[] content) throws IOException {
    Lock lock = locks.get(number);
    // A plain lock may be on another file system than the journal.
    Path file =
        lock.key == null
            ? journal.beside(Integer.toString(number))
            : plainFileIn(lock.file.getParent());
    values[number] = new Value(file, content);
    disk.write(file, content);
  }

  /** Has the disk keep the new values that were written. */
  public void syncValues() throws IOException {
    disk.syncFiles(written());
  }

  /** Has the disk keep one that was written. */
  public void syncValue(int number) throws IOException {
    disk.syncFiles(List.of(values[number].file));
  }

  private List<Path> written() {
    return Arrays.stream(values).filter(Objects::nonNull).map(Value::file).toList();
  }

  /**
   * Decides that the new values are put into place. Not for plain locks.
   *
   * @param durable whether the decision has to survive a crash of the machine
   * @throws IOException if it can't be decided; then the decision must be taken back
   */
  public void decide(boolean durable) throws IOException {
    isDurable = durable;
    journal.decide(durable, written(), durable ? folders() : List.of());
  }

  /** Takes the decision back, if there was one: all refs have their old values again. */
  public void undecide() throws IOException {
    journal.undecide(isDurable);
  }

  /**
   * Puts a new value into the place of its loose ref.
   *
   * @throws IOException if it can't be, as where a folder that is not empty has its name, or where
   *     the ref is not locked any more
   */
  public void publish(int number) throws IOException {
    checkLocked(number);
    File target = paths.loose(names.get(number));
    Value value = values[number];
    try {
      disk.renameOverEmptyFolders(value.file, target);
    } catch (NoSuchFileException e) {
      // A network file system may have lost its answer to a call that renamed it.
      if (Files.exists(value.file)
          || !Arrays.equals(value.content, Files.readAllBytes(target.toPath()))) {
        throw e;
      }
    }
    values[number] = null;
  }

  /**
   * Deletes the file of a loose ref, if it is there.
   *
   * @throws IOException if it can't be deleted, or if the ref is not locked any more
   */
  public void deleteLoose(int number) throws IOException {
    checkLocked(number);
    disk.deleteLoose(paths.loose(names.get(number)));
  }

  /**
   * Checks that the ref is locked by this transaction still: somebody may have deleted the lock
   * file, and the ref may then be anybody's.
   */
  public void checkLocked(int number) throws IOException {
    if (!isLocked(number)) {
      throw new IOException(
          locks.get(number).file
              + " was deleted while its process held it: nothing is changed there");
    }
  }

  /** Has the disk keep which refs there are in the folders of this transaction's refs. */
  public void syncFolders() throws IOException {
    disk.syncFolders(folders());
  }

  /** Those of the locks, and of new ones also all that are above them, as far as {@code refs/}. */
  private Set<Path> folders() {
    Path top = paths.refsFolder().toPath();
    Set<Path> folders = new LinkedHashSet<>();
    for (Lock lock : locks) {
      Path folder = lock.file.getParent();
      if (Files.exists(folder)) {
        folders.add(folder);
      }
      if (newFolders.contains(folder)) {
        for (Path above = folder; above.startsWith(top); above = above.getParent()) {
          if (Files.exists(above)) {
            folders.add(above);
          }
        }
      }
    }
    return folders;
  }

  // ---- the end

  private void unlockFiles() {
    locks.forEach(lock -> delete(lock.file));
    locks.clear();
  }

  private void delete(Path file) {
    try {
      deleteTwice(file);
    } catch (IOException e) {
      isUnlocked = false;
      logger.atSevere().withCause(e).log(
          "cannot delete %s: delete it by hand, or Gerrit does when it is next started", file);
    }
  }

  /** A lock that stays keeps everybody out, so a failure is not taken at its word. */
  private void deleteTwice(Path file) throws IOException {
    try {
      disk.delete(file);
    } catch (IOException e) {
      disk.delete(file);
    }
  }

  /** Lets all go. What was written and not put into place is removed. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      written().forEach(this::delete);
      unlockPackedRefs();
      unlockFiles();
      if (journal != null) {
        refLocks.end(journal, isUnlocked);
      }
    } finally {
      refLocks.held().giveBack(names);
    }
  }
}
