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

import com.google.common.base.Splitter;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreUnavailableException.User;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.DiscardMarkers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The lock of a directory of stores, which keeps a second process out.
 *
 * <p>The first line of the file {@code lock} is the id of the process that holds the lock, its host
 * and its start. Each other line names a store that the next start must discard. The file is open
 * and has its blocks on disk, so that a line can be written even if no file can be created or
 * deleted any more.
 */
final class DirectoryLock implements AutoCloseable, DiscardMarkers.Notes {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The notes of more stores than any server has. */
  private static final int MAX_BYTES = 16 << 20;

  /**
   * The folders that this process has locked, by their real paths. Checked before the lock file is
   * opened: closing the file a second time would release the first lock, as POSIX defines it.
   */
  private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

  private final Path directory;
  private final Disk disk;

  /** The real path of the folder, the open file, its lock and its first line; guarded by this. */
  private Path real;

  private FileChannel channel;
  private FileLock lock;
  private String owner;

  /** Stores that the next start must discard, by who noted that, as written. Guarded by this. */
  private Map<Object, String> discarded = new LinkedHashMap<>();

  /**
   * Makes a lock that is not held yet.
   *
   * @param disk to read and write the lock file with
   */
  DirectoryLock(Path directory, Disk disk) {
    this.directory = directory;
    this.disk = disk;
  }

  /**
   * Locks the folder.
   *
   * @throws StoreUnavailableException if this process or another one has locked the folder
   * @throws IOException if the lock file cannot be created, read or written
   */
  synchronized void acquire() throws IOException {
    Path folder = directory.toRealPath();
    if (!HELD.add(folder)) {
      throw new StoreUnavailableException(
          directory + " is in use by this process (process " + ProcessHandle.current().pid() + ")",
          User.THIS_PROCESS);
    }
    try {
      lock(folder);
      real = folder;
    } catch (Throwable e) {
      HELD.remove(folder);
      throw e;
    }
  }

  private void lock(Path folder) throws IOException {
    Path file = folder.resolve(Disk.LOCK);
    try {
      disk.create(file);
    } catch (FileAlreadyExistsException e) {
      // Left by an earlier process.
    }
    FileChannel opened = disk.open(file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
    try {
      lock = opened.tryLock();
      List<String> last = read(opened);
      if (lock == null) {
        String holder = last.isEmpty() ? "" : " (process " + last.get(0) + ")";
        throw new StoreUnavailableException(
            directory
                + " is in use by another process"
                + holder
                + ": another Gerrit daemon, or an offline program such as reindex; only one process"
                + " may use it",
            User.ANOTHER_PROCESS);
      }
      List<String> noted = last.isEmpty() ? last : last.subList(1, last.size());
      try {
        DiscardMarkers.mark(disk, folder, noted);
      } catch (IOException e) {
        // The notes stay, so that these stores alone start empty.
        noted.forEach(store -> discarded.put(store, store));
      }
      owner = owner();
      channel = opened;
      write(discarded);
    } catch (IOException | RuntimeException e) {
      channel = null;
      opened.close();
      throw e;
    }
  }

  /** The line that names this process. Processes of other hosts and containers may have its id. */
  private static String owner() {
    ProcessHandle process = ProcessHandle.current();
    String host;
    try {
      host = Files.readString(Path.of("/proc/sys/kernel/hostname")).trim();
    } catch (IOException e) {
      host = "an unknown host";
    }
    String since = process.info().startInstant().map(start -> " since " + start).orElse("");
    return process.pid() + " on " + host + since + "\n";
  }

  private static List<String> read(FileChannel channel) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate((int) Math.min(channel.size(), MAX_BYTES));
    boolean unused = SegmentReader.readFully(channel, 0, buffer);
    String text = StandardCharsets.US_ASCII.decode(buffer.flip()).toString();
    return Splitter.on('\n').omitEmptyStrings().splitToList(text);
  }

  /**
   * Overwrites the file in place: on a full disk, blocks that were freed first may be gone. It
   * never gets shorter, as a machine that stops may have the new length with the old lines; empty
   * lines fill the rest.
   */
  private static void write(FileChannel channel, String text) throws IOException {
    int rest = Math.toIntExact(Math.max(0, channel.size() - text.length()));
    SegmentReader.writeFully(
        channel, 0, StandardCharsets.US_ASCII.encode(text + "\n".repeat(rest)));
    channel.force(true);
  }

  @Override
  public synchronized void add(Object by, String store) throws IOException {
    Map<Object, String> notes = new LinkedHashMap<>(discarded);
    if (notes.put(by, store) == null) {
      write(notes);
    }
  }

  @Override
  public synchronized void remove(Object by, String store) throws IOException {
    Map<Object, String> notes = new LinkedHashMap<>(discarded);
    if (notes
        .entrySet()
        .removeIf(note -> note.getValue().equals(store) && (by == null || note.getKey() == by))) {
      write(notes);
    }
  }

  @Override
  public synchronized boolean isNoted(String store, Object except) {
    return discarded.entrySet().stream()
        .anyMatch(note -> note.getValue().equals(store) && note.getKey() != except);
  }

  /** Writes the notes. If that fails, those before count, so that the caller can try again. */
  private void write(Map<Object, String> notes) throws IOException {
    if (channel == null) {
      throw new IOException("not locked: " + directory);
    }
    // In the order of their notes: if the machine stops meanwhile, the file may have its new bytes
    // and its old length, which must end no older line.
    write(channel, owner + String.join("\n", new LinkedHashSet<>(notes.values())) + "\n");
    discarded = notes;
  }

  @Override
  public synchronized void close() {
    try {
      if (channel != null && channel.isOpen()) {
        FileChannel closed = channel;
        // Even if the release fails, the folder can be locked again.
        try (closed) {
          lock.release();
        } finally {
          HELD.remove(real);
        }
      }
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("cannot unlock a folder of stores");
    }
  }
}
