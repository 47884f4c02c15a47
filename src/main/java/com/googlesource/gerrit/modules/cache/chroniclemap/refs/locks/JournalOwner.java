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
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The file {@code PID-START-....alive} that shows whether the process lives to which some {@link
 * Journal}s of a repository belong: the process keeps it locked, and the system releases the lock
 * when the process ends, however it ends.
 *
 * <p>This is certain among processes of one running system, also of different containers. What it
 * says of a process on another machine is in {@link Origin#isDead}.
 *
 * <p>No other class may open the file: a process loses its lock on a file when it closes that file,
 * however it was opened.
 */
public final class JournalOwner implements Closeable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  static final String SUFFIX = ".alive";

  /** The names of all files of one process start so. */
  private static final String OWN =
      ProcessHandle.current().pid()
          + "-"
          + ProcessHandle.current().info().startInstant().map(i -> i.toEpochMilli()).orElse(0L)
          + "-";

  /** Tells class loaders of one process apart. */
  private static final String LOADER = Long.toHexString(ThreadLocalRandom.current().nextLong());

  private static final AtomicLong COUNT = new AtomicLong();

  /** How often another process may be quicker when a file is made. */
  private static final int ATTEMPTS = 20;

  /** Files of dead processes that a thread of this one has open, of all repositories. */
  private static final Set<Path> TAKEN = ConcurrentHashMap.newKeySet();

  private final RefDisk disk;
  private final Path file;

  /** No channel: an interrupt of a thread would close that, and let the lock go. */
  private final RandomAccessFile open;

  private final Object key;

  private final Origin origin;

  /** Its journals that are in use. Guarded by the {@link RefLocks}. */
  int inUse;

  private JournalOwner(
      RefDisk disk, Path file, Object key, RandomAccessFile open, boolean isLocked) {
    this.disk = disk;
    this.file = file;
    this.key = key;
    this.open = open;
    this.origin = Origin.ofThis(file.getParent(), isLocked);
  }

  /**
   * Makes one of this process.
   *
   * @param folder is made if it is not there
   */
  static JournalOwner make(RefDisk disk, Path folder) throws IOException {
    for (int attempt = 1; ; attempt++) {
      Path file = folder.resolve(OWN + LOADER + "-" + COUNT.incrementAndGet() + SUFFIX);
      RandomAccessFile open;
      try {
        open = disk.createToKeepOpen(file);
      } catch (FileNotFoundException e) {
        disk.makeFolders(folder);
        open = disk.createToKeepOpen(file);
      }
      JournalOwner made = null;
      try {
        made = lock(disk, file, open, attempt == ATTEMPTS);
      } finally {
        if (made == null) {
          open.close();
        }
      }
      if (made != null) {
        return made;
      }
      disk.delete(file);
      if (attempt == ATTEMPTS) {
        throw new IOException("cannot keep a file in " + folder);
      }
    }
  }

  /**
   * Locks a file that was just made.
   *
   * @param last whether it is to do without a lock, if another process seems to have it: some
   *     systems say so where locks are forbidden
   * @return null if another process has found it before, and takes it for a dead one's
   */
  @Nullable
  private static JournalOwner lock(RefDisk disk, Path file, RandomAccessFile open, boolean last)
      throws IOException {
    Object key = key(file);
    boolean isLocked = false;
    try {
      isLocked = open.getChannel().tryLock() != null;
      if (!isLocked && !last) {
        return null;
      }
    } catch (IOException | OverlappingFileLockException e) {
      tellOfNoLocks(file, e);
    }
    // Or that was quicker still, and has deleted it.
    return key != null && key.equals(key(file))
        ? new JournalOwner(disk, file, key, open, isLocked)
        : null;
  }

  /** What tells the file from another one of that name; null if there is none. */
  @Nullable
  private static Object key(Path file) throws IOException {
    try {
      Object key = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
      return key == null ? file : key;
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  private static void tellOfNoLocks(Path file, Exception why) {
    logger.atWarning().withCause(why).atMostEvery(1, TimeUnit.HOURS).log(
        "%s can't be locked: if this process is killed, the locks of refs that it leaves have to"
            + " be deleted by hand",
        file);
  }

  /** Whether nobody has deleted the file, or put another one in its place. */
  boolean isThere() {
    try {
      return key.equals(key(file));
    } catch (IOException e) {
      return true; // as far as can be known
    }
  }

  Origin origin() {
    return origin;
  }

  /** The name of a file of this owner. */
  Path file(String end) {
    return of(file, end);
  }

  private static Path of(Path file, String end) {
    String name = file.getFileName().toString();
    return file.resolveSibling(name.substring(0, name.length() - SUFFIX.length()) + end);
  }

  /** Removes the file; none of the owner's journals may be left. */
  @Override
  public void close() throws IOException {
    try {
      disk.delete(file);
    } finally {
      open.close();
    }
  }

  // ---- those of others

  /**
   * Whether a process of this machine that lives has the number and the start time in the name of
   * an owner's file. Then the process lives whatever became of its lock.
   */
  public static boolean isLiving(Path file) {
    String[] parts = file.getFileName().toString().split("-", 3);
    try {
      return ProcessHandle.of(Long.parseLong(parts[0]))
          .flatMap(process -> process.info().startInstant())
          .filter(start -> start.toEpochMilli() == Long.parseLong(parts[1]))
          .isPresent();
    } catch (RuntimeException e) {
      return false; // not a name that this module gives
    }
  }

  /** The owner's file of a file in the folder; empty if it is one of this process. */
  public static Optional<Path> ofOthers(Path file) {
    String name = file.getFileName().toString();
    if (name.startsWith(OWN)) {
      return Optional.empty();
    }
    if (name.endsWith(SUFFIX)) {
      return Optional.of(file);
    }
    int end = name.lastIndexOf('-', Math.max(0, name.indexOf('.')));
    return end < 0
        ? Optional.empty()
        : Optional.of(file.resolveSibling(name.substring(0, end) + SUFFIX));
  }

  /**
   * The file of another process that is dead, if that ran on this system.
   *
   * @param open keeps the file locked, so that nobody else does the same; to be closed
   */
  public record Taken(Path file, RandomAccessFile open) implements Closeable {
    /** The other files of the dead process. */
    public List<Path> files() throws IOException {
      String start = of(file, "-").getFileName().toString();
      List<Path> found = new ArrayList<>();
      try (DirectoryStream<Path> files =
          Files.newDirectoryStream(
              file.getParent(), other -> other.getFileName().toString().startsWith(start))) {
        files.forEach(found::add);
      }
      return found;
    }

    @Override
    public void close() throws IOException {
      try {
        open.close();
      } finally {
        TAKEN.remove(file);
      }
    }
  }

  /** Takes the file of another process; null if that lives, or somebody else has taken it. */
  @Nullable
  public static Taken takeDead(Path file) throws IOException {
    if (!TAKEN.add(file)) {
      return null;
    }
    RandomAccessFile open = null;
    boolean taken = false;
    try {
      // Made if it is not there: a crash of the machine may have taken it alone.
      open = new RandomAccessFile(file.toFile(), "rw");
      // Once it is locked: who has finished with it has deleted it.
      taken = open.getChannel().tryLock() != null && Files.exists(file);
      return taken ? new Taken(file, open) : null;
    } catch (OverlappingFileLockException e) {
      return null; // another class loader of this process
    } finally {
      if (!taken) {
        if (open != null) {
          open.close();
        }
        TAKEN.remove(file);
      }
    }
  }
}
