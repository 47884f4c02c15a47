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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * The locks that one transaction has on its refs: in this process by {@link LockTable}, against
 * others by git's lock files ({@code NAME.lock}).
 *
 * <p>A lock file is a hard link to the transaction's {@link Journal}, so it can be told whose it is
 * after its process was killed. The new value of a ref is written to a file beside the journal and
 * renamed into place while the lock stays: so all locks are held until the last ref has changed,
 * and what could not be finished can be undone.
 *
 * <p>For one thread at a time: that of the writer, or while it waits that of the {@link
 * PackedRefsQueue}. All it costs grows with the refs of the transaction.
 */
public final class RefLocks implements Closeable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often a folder is made that another process deletes because it is empty. */
  private static final int FOLDER_ATTEMPTS = 20;

  /** How long threads of this process are waited for in any case. */
  private static final long LEAST_WAIT_MILLIS = 1000;

  private static final long FIRST_PAUSE_MILLIS = 1;
  private static final long LONGEST_PAUSE_MILLIS = 200;

  private final RefPaths paths;
  private final RefDisk disk;
  private final RefLocker locker;
  private final List<String> names;
  private final Journal journal;

  /** Lock files that were made, in the order of the names. */
  private final List<Path> files = new ArrayList<>();

  /** Files for new values, by the number of the name; null where there is none. */
  private final Path[] values;

  @Nullable private Path packedLock;

  /** Whether nothing of this transaction is left that tells by the journal whose it is. */
  private boolean isClean = true;

  /** Whether there is a lock that can't be told. */
  private boolean isPlain;

  private boolean closed;

  private RefLocks(RefPaths paths, RefLocker locker, List<String> names, Journal journal) {
    this.paths = paths;
    this.disk = locker.disk();
    this.locker = locker;
    this.names = names;
    this.journal = journal;
    this.values = new Path[names.size()];
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

  /** As {@link RefLocker#lock}. */
  static RefLocks lock(
      RefPaths paths, RefLocker locker, List<Journal.Entry> entries, long waitMillis)
      throws IOException, Refused {
    List<String> names = entries.stream().map(Journal.Entry::name).toList();
    paths.checkNames(names); // before a folder is made for one of them
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis);
    try {
      long wait = TimeUnit.MILLISECONDS.toNanos(Math.max(waitMillis, LEAST_WAIT_MILLIS));
      if (!locker.table().take(names, wait)) {
        throw new Refused(names.get(0));
      }
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    RefLocks locks = null;
    boolean done = false;
    try {
      locks =
          new RefLocks(paths, locker, names, locker.journals().take(paths.transactions(), entries));
      locks.lockFiles(end);
      done = true;
      return locks;
    } finally {
      if (!done) {
        if (locks == null) {
          locker.table().giveBack(names);
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
      Path lock = RefPaths.lockOf(paths.loose(name));
      if (!link(lock)) {
        return name;
      }
      files.add(lock);
    }
    return null;
  }

  private boolean link(Path lock) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        // Cheaper than the exception, where a new change needs a folder of its own.
        if (!isBesideLast(lock) && !lock.getParent().toFile().isDirectory()) {
          disk.makeFolders(lock.getParent());
        }
        return tryLink(lock);
      } catch (IOException e) {
        // A folder above may just have been deleted, as it was empty.
        if (attempt == FOLDER_ATTEMPTS || !journal.isThere()) {
          isClean &= journal.isThere();
          throw e;
        }
      }
    }
  }

  /** Whether the folder is there for certain, as it has a lock of this transaction. */
  private boolean isBesideLast(Path lock) {
    return !files.isEmpty() && files.getLast().getParent().equals(lock.getParent());
  }

  private boolean tryLink(Path lock) throws IOException {
    try {
      disk.link(lock, journal.file());
      return true;
    } catch (FileAlreadyExistsException e) {
      // A network file system may have lost its answer to a call that made it.
      return isOwn(lock);
    } catch (NoSuchFileException e) {
      throw e;
    } catch (UnsupportedOperationException | FileSystemException e) {
      // A file system without hard links, or with too few of them: a lock that can't be told after
      // this process was killed is still a lock.
      return create(lock, e);
    }
  }

  private boolean create(Path lock, Exception why) throws IOException {
    try {
      disk.create(lock);
      isPlain = true;
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    } catch (IOException e) {
      e.addSuppressed(why);
      throw e;
    }
  }

  private boolean isOwn(Path lock) {
    try {
      return Files.isSameFile(lock, journal.file());
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Locks {@code packed-refs} in this transaction's name.
   *
   * @return false if another one has it locked
   */
  public boolean lockPackedRefs() throws IOException {
    Path lock = RefPaths.lockOf(paths.packedRefs());
    if (!link(lock)) {
      return false;
    }
    packedLock = lock;
    return true;
  }

  /** Lets {@code packed-refs} go, if it is locked. */
  public void unlockPackedRefs() {
    if (packedLock != null) {
      delete(packedLock);
      packedLock = null;
    }
  }

  /**
   * Whether there are locks that can't be told to be of this transaction if the process is killed,
   * for want of hard links: so it could not be finished.
   */
  public boolean isPlain() {
    return isPlain;
  }

  public List<String> names() {
    return names;
  }

  public Journal journal() {
    return journal;
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
    Path file = journal.beside(Integer.toString(number));
    values[number] = file;
    disk.write(file, content);
  }

  /** Has the disk keep the new values that were written. */
  public void syncValues() throws IOException {
    disk.syncFiles(written());
  }

  /** Has the disk keep one that was written. */
  public void syncValue(int number) throws IOException {
    disk.syncFiles(List.of(values[number]));
  }

  private List<Path> written() {
    return Arrays.stream(values).filter(Objects::nonNull).toList();
  }

  /**
   * Decides that the new values are to be put into place.
   *
   * @param durable whether that is to outlive a crash of the machine
   * @throws IOException if it can't be; then the decision must be taken back
   */
  public void decide(boolean durable) throws IOException {
    if (!durable) {
      journal.decide();
      return;
    }
    List<Journal> over = locker.journals().takeOver();
    boolean done = false;
    try {
      journal.decide(written(), over);
      done = true;
    } finally {
      // One that can't be synced is of no use to the next one either.
      for (Journal each : over) {
        locker.journals().giveBack(each, done);
      }
    }
  }

  /**
   * Puts a new value into the place of its loose ref.
   *
   * @throws IOException if it can't be, as where a folder that is not empty has its name
   */
  public void publish(int number) throws IOException {
    File target = paths.loose(names.get(number));
    disk.renameOverEmptyFolders(values[number], target);
    values[number] = null;
  }

  /** Has the disk keep which refs there are in the folders of this transaction's refs. */
  public void syncFolders() throws IOException {
    disk.syncFolders(files.stream().map(Path::getParent).distinct().filter(Files::exists).toList());
  }

  // ---- the end

  private void unlockFiles() {
    files.forEach(this::delete);
    files.clear();
  }

  private void delete(Path file) {
    try {
      deleteTwice(file);
    } catch (IOException e) {
      isClean = false;
      logger.atSevere().withCause(e).log("cannot delete %s: delete it by hand", file);
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
      for (Path value : values) {
        if (value != null) {
          delete(value);
        }
      }
      unlockPackedRefs();
      unlockFiles();
      locker.journals().giveBack(journal, isClean);
    } finally {
      locker.table().giveBack(names);
    }
  }
}
