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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jgit.annotations.Nullable;

/**
 * The owner file of some {@link Journal}s of a repository, which shows whether their process lives.
 * The process keeps the file locked, and the system releases that lock when the process ends. The
 * name is {@code PID-START-LOADER-COUNT.alive}, with the start in milliseconds since the epoch. The
 * text is where the process runs, after which an administrator may add {@link #DEAD}.
 *
 * <p>The lock is reliable among the processes of one running system, even in different containers.
 * {@link ProcessOrigin#isDead} judges processes of other machines.
 *
 * <p>No other class may open the file: a process loses its lock on a file as soon as it closes that
 * file, however it was opened.
 */
final class JournalOwner implements Closeable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  static final String SUFFIX = ".alive";

  /** The start of a line by which an administrator says that the process is dead. */
  static final String DEAD = "dead";

  /** The start of the names of all files of this process. */
  private static final String OWN =
      ProcessHandle.current().pid()
          + "-"
          + ProcessHandle.current().info().startInstant().map(i -> i.toEpochMilli()).orElse(0L)
          + "-";

  /** Makes the names of several class loaders of this process differ. */
  private static final String LOADER = Long.toHexString(ThreadLocalRandom.current().nextLong());

  private static final AtomicLong COUNT = new AtomicLong();

  /** How often recovery by another process may seize a new file before it is locked. */
  private static final int MAX_ATTEMPTS = 20;

  /** The owner files of dead processes that this process has open, for all repositories. */
  private static final Set<Path> TAKEN = ConcurrentHashMap.newKeySet();

  private final RefDisk disk;
  private final Path file;

  /** No channel, as an interrupt of a thread would close it and release the lock. */
  private final RandomAccessFile open;

  private final Object key;

  final ProcessOrigin origin;

  /** The number of its journals in use. Guarded by the {@link JournalFolder}. */
  int inUse;

  private JournalOwner(RefDisk disk, Path file, Object key, RandomAccessFile open, boolean isLocked)
      throws IOException {
    this.disk = disk;
    this.file = file;
    this.key = key;
    this.open = open;
    this.origin = ProcessOrigin.ofThis(file.getParent(), isLocked);
    disk.about("write", file);
    open.write(origin.lines().getBytes(UTF_8));
    if (!origin.isLocal()) {
      open.getFD().sync(); // or other machines would not know if this one crashes
    }
  }

  /**
   * Makes an owner file of this process.
   *
   * @param folder made if it is missing
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
        made = lock(disk, file, open, attempt == MAX_ATTEMPTS);
      } finally {
        if (made == null) {
          open.close();
          disk.delete(file);
        }
      }
      if (made != null) {
        return made;
      }
      if (attempt == MAX_ATTEMPTS) {
        throw new IOException("cannot keep a file in " + folder);
      }
    }
  }

  /**
   * Locks a file that was just made.
   *
   * @param last whether to go without the lock if another process seems to hold it, as some systems
   *     say where locks are forbidden
   * @return null if another process found the file first, and takes it for that of a dead process
   */
  @Nullable
  private static JournalOwner lock(RefDisk disk, Path file, RandomAccessFile open, boolean last)
      throws IOException {
    Object key = Journal.key(file);
    boolean isLocked = false;
    try {
      isLocked = open.getChannel().tryLock() != null;
      if (!isLocked && !last) {
        return null;
      }
    } catch (IOException | OverlappingFileLockException e) {
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "%s can't be locked: if this process is killed, the locks of refs that it leaves have to"
              + " be deleted by hand",
          file);
    }
    // That process may also have deleted the file already.
    return key != null && key.equals(Journal.key(file))
        ? new JournalOwner(disk, file, key, open, isLocked)
        : null;
  }

  /** Whether the file is still there, and not deleted or replaced. */
  boolean isThere() {
    try {
      return key.equals(Journal.key(file));
    } catch (IOException e) {
      return true; // the error leaves this open, so assume that it is
    }
  }

  /** A file of this owner, whose name has this end. */
  Path file(String end) {
    return of(file, end);
  }

  private static Path of(Path file, String end) {
    String name = file.getFileName().toString();
    return file.resolveSibling(name.substring(0, name.length() - SUFFIX.length()) + end);
  }

  /** Deletes the file. None of the owner's journals may be in use. */
  @Override
  public void close() throws IOException {
    try {
      disk.delete(file);
    } finally {
      open.close();
    }
  }

  // ---- files of other processes

  /**
   * Whether the process named by an owner file is running: one with its PID and start time. It then
   * lives whatever became of its file lock.
   */
  static boolean isLiving(Path file) {
    String[] parts = file.getFileName().toString().split("-", 3);
    try {
      return ProcessHandle.of(Long.parseLong(parts[0]))
          .flatMap(process -> process.info().startInstant())
          .filter(start -> start.toEpochMilli() == Long.parseLong(parts[1]))
          .isPresent();
    } catch (RuntimeException e) {
      return false; // not a name made by this class
    }
  }

  /** The owner file of a file in the folder; empty if that is of this process or of no owner. */
  static Optional<Path> ofOthers(Path file) {
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
   * The owner file of another process, locked by this one. If that process ran on this system, it
   * is dead.
   *
   * @param open keeps the file locked, so that no other recovery takes it; must be closed
   */
  record Taken(Path file, RandomAccessFile open) implements Closeable {
    /** The file's text, which may be empty, such as that of version 1.0.0. */
    String text() throws IOException {
      byte[] text = new byte[(int) open.length()];
      open.readFully(text);
      return new String(text, UTF_8);
    }

    /** The other files of the dead process. */
    List<Path> files() throws IOException {
      String start = of(file, "-").getFileName().toString();
      return LooseFile.list(file.getParent()).stream()
          .filter(other -> other.getFileName().toString().startsWith(start))
          .toList();
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

  /** Takes the owner file of another process; null if that lives or another recovery has it. */
  @Nullable
  static Taken takeDead(Path file) throws IOException {
    if (!TAKEN.add(file)) {
      return null;
    }
    RandomAccessFile open = null;
    boolean taken = false;
    try {
      // Makes the file if a crash of the machine has lost it and kept journals.
      open = new RandomAccessFile(file.toFile(), "rw");
      // Before the lock was free, another recovery may have completed and deleted the file.
      taken = open.getChannel().tryLock() != null && Files.exists(file);
      return taken ? new Taken(file, open) : null;
    } catch (OverlappingFileLockException e) {
      return null; // locked by another class loader of this process
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
