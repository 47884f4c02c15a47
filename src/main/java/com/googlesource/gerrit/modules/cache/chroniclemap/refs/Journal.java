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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * The file that one transaction of refs keeps while it runs. It says whose the transaction is, what
 * it is to do and whether it has been decided, so that whoever opens the repository after the
 * process was killed can finish it or undo it ({@link Recovery}).
 *
 * <p>What is on disk, step by step:
 *
 * <ol>
 *   <li>The file is made and locked ({@link FileLock}: the system lets it go when the process ends,
 *       however it ends), and the names and new values are written.
 *   <li>Locks of refs are taken. Each is a hard link to this file, which fails if there is a lock,
 *       and by which a lock tells whose it is for as long as it is there.
 *   <li>What is to become a loose ref is written to files beside this one.
 *   <li>A line is added: the transaction is decided. From here on it is finished, by whomever.
 *   <li>Refs change, locks are removed, and last this file.
 * </ol>
 *
 * <p>The text, one line each: a title with the version; the id of the boot of the machine; for each
 * ref its new id (zeros to delete it) and its name; {@code prepared} and, after a decision, {@code
 * decided}, each with the CRC32C of all that stands before. It costs the same whatever the size of
 * the repository: it grows with the refs of the transaction.
 *
 * <p>For one thread.
 */
final class Journal implements Closeable {
  private static final String TITLE = "cache-chroniclemap ref transaction 1\n";
  private static final String BOOT = "boot ";
  private static final String PREPARED = "prepared ";
  private static final String DECIDED = "decided ";

  /** The names of all files of one process start so. */
  private static final String OWN =
      ProcessHandle.current().pid()
          + "-"
          + ProcessHandle.current().info().startInstant().map(i -> i.toEpochMilli()).orElse(0L)
          + "-";

  /** Tells class loaders of one process apart. */
  private static final String LOADER = Long.toHexString(ThreadLocalRandom.current().nextLong());

  private static final String SUFFIX = ".transaction";
  private static final AtomicLong COUNT = new AtomicLong();
  private static final String BOOT_ID = bootId();

  private final RefDisk disk;
  private final Path file;

  /** No channel: an interrupt of the thread would close that, and let the lock go. */
  private final RandomAccessFile open;

  private final CRC32C crc = new CRC32C();

  private Journal(RefDisk disk, Path file, RandomAccessFile open) {
    this.disk = disk;
    this.file = file;
    this.open = open;
  }

  /** A ref and its new value; zeros to delete it. */
  record Entry(String name, ObjectId newId) {}

  /** Whether a name can stand in a line. No ref that git allows has another one. */
  static boolean isWritable(String name) {
    return name.chars().noneMatch(c -> c < ' ' || Character.isSurrogate((char) c))
        || (name.chars().noneMatch(c -> c < ' ') && UTF_8.newEncoder().canEncode(name));
  }

  /**
   * Begins the file of a transaction.
   *
   * @param folder is made if it is not there
   * @throws IOException if it can't be written: nothing has changed then
   */
  static Journal begin(RefDisk disk, Path folder, List<Entry> entries) throws IOException {
    Journal journal = create(disk, folder);
    try {
      ByteArrayOutputStream text = new ByteArrayOutputStream(128 + 96 * entries.size());
      text.writeBytes((TITLE + BOOT + BOOT_ID + "\n").getBytes(US_ASCII));
      byte[] id = new byte[Constants.OBJECT_ID_STRING_LENGTH];
      for (Entry entry : entries) {
        entry.newId.copyTo(id, 0);
        text.writeBytes(id);
        text.write(' ');
        text.writeBytes(entry.name.getBytes(UTF_8));
        text.write('\n');
      }
      journal.write(text.toByteArray(), PREPARED);
      return journal;
    } catch (IOException | RuntimeException | Error e) {
      journal.close();
      throw e;
    }
  }

  private static Journal create(RefDisk disk, Path folder) throws IOException {
    while (true) {
      Path file = folder.resolve(OWN + LOADER + "-" + COUNT.incrementAndGet() + SUFFIX);
      try {
        disk.create(file);
      } catch (NoSuchFileException e) {
        disk.makeFolders(folder);
        disk.create(file);
      }
      Journal journal = new Journal(disk, file, new RandomAccessFile(file.toFile(), "rw"));
      boolean locked = false;
      try {
        locked = journal.open.getChannel().tryLock() != null;
      } finally {
        if (!locked) {
          // Another process has found it before it was locked, and takes it for a dead one's.
          journal.close();
        }
      }
      if (locked) {
        return journal;
      }
    }
  }

  private void write(byte[] text, String mark) throws IOException {
    crc.update(text);
    byte[] line =
        (mark + HexFormat.of().toHexDigits((int) crc.getValue()) + "\n").getBytes(US_ASCII);
    crc.update(line);
    // In one write: half of it would be taken for nothing.
    byte[] all = Arrays.copyOf(text, text.length + line.length);
    System.arraycopy(line, 0, all, text.length, line.length);
    disk.append(open, file, all);
  }

  /** The file, to which locks are links. */
  Path file() {
    return file;
  }

  /** A file beside, for the new value of a ref or, with another mark, for something else. */
  Path beside(String mark) {
    return beside(file, mark);
  }

  private static Path beside(Path file, String mark) {
    String name = file.getFileName().toString();
    return file.resolveSibling(name.substring(0, name.length() - SUFFIX.length()) + "." + mark);
  }

  /**
   * Decides the transaction. From here on it must be finished.
   *
   * @param durable whether it is to outlive a crash of the machine
   */
  void decide(boolean durable) throws IOException {
    write(new byte[0], DECIDED);
    if (durable) {
      disk.sync(open, file);
      disk.syncFolders(List.of(file.getParent()));
    }
  }

  /** Removes the file: the transaction is over, and none of its locks is left. */
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
   * What another process's file says.
   *
   * @param entries empty if it was killed before it took any lock
   * @param decided whether it is to be finished
   * @param held keeps the file locked, so that only one finishes it
   */
  record Found(Path file, List<Entry> entries, boolean decided, RandomAccessFile held)
      implements Closeable {
    @Override
    public void close() throws IOException {
      held.close();
    }

    Path beside(String mark) {
      return Journal.beside(file, mark);
    }
  }

  /** Whether a file in the folder is that of a transaction, and not of this process. */
  static boolean isOthers(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(SUFFIX) && !name.startsWith(OWN);
  }

  /**
   * Reads the file of a process that is dead for certain; null if it lives, if that can't be known,
   * or if the file is gone.
   *
   * @param seesAll whether no other kernel can have the folder: then one of another boot is over
   */
  @Nullable
  static Found readDead(Path file, boolean seesAll) throws IOException {
    if (!Files.exists(file)) {
      return null;
    }
    RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw");
    boolean kept = false;
    try {
      FileLock lock;
      try {
        lock = open.getChannel().tryLock();
      } catch (OverlappingFileLockException e) {
        return null; // another class loader of this process
      }
      if (lock == null || !Files.exists(file)) {
        return null;
      }
      byte[] text = new byte[(int) open.length()];
      open.readFully(text);
      Found found = parse(file, text, open, seesAll);
      kept = found != null;
      return found;
    } finally {
      if (!kept) {
        open.close();
      }
    }
  }

  @Nullable
  private static Found parse(Path file, byte[] text, RandomAccessFile open, boolean seesAll) {
    List<Entry> entries = new ArrayList<>();
    boolean prepared = false;
    boolean decided = false;
    boolean sameBoot = false;
    CRC32C crc = new CRC32C();
    int line = 0;
    int number = 0;
    for (int i = 0; i < text.length && !decided; i++) {
      if (text[i] != '\n') {
        continue;
      }
      String content = new String(text, line, i - line, UTF_8);
      String mark = prepared ? DECIDED : PREPARED;
      if (number == 0 && !(content + "\n").equals(TITLE)) {
        break;
      } else if (number == 1) {
        sameBoot = content.equals(BOOT + BOOT_ID);
      } else if (number > 1 && content.startsWith(mark)) {
        if (!content.equals(mark + HexFormat.of().toHexDigits((int) crc.getValue()))) {
          break;
        }
        decided = prepared;
        prepared = true;
      } else if (number > 1 && content.length() > Constants.OBJECT_ID_STRING_LENGTH + 1) {
        if (!ObjectId.isId(content.substring(0, Constants.OBJECT_ID_STRING_LENGTH))) {
          break;
        }
        entries.add(
            new Entry(
                content.substring(Constants.OBJECT_ID_STRING_LENGTH + 1),
                ObjectId.fromString(content.substring(0, Constants.OBJECT_ID_STRING_LENGTH))));
      }
      crc.update(text, line, i + 1 - line);
      line = i + 1;
      number++;
    }
    // The lock says that its process is dead if that ran on this kernel.
    if (!sameBoot && !seesAll) {
      return null;
    }
    return new Found(file, prepared ? entries : List.of(), decided, open);
  }

  private static String bootId() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim();
    } catch (IOException | RuntimeException e) {
      return "unknown";
    }
  }
}
