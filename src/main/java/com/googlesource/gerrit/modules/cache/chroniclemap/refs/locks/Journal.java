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

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * The file that one transaction of refs keeps while it runs. It says whose the transaction is, what
 * it is to do and whether it has been decided, so that whoever opens the repository after the
 * process was killed can finish it or undo it ({@code Recovery}).
 *
 * <p>What is on disk, step by step:
 *
 * <ol>
 *   <li>The {@link JournalOwner} says by a lock that the process lives; the names and new values
 *       are written to this file.
 *   <li>Locks of refs are taken. Each is a hard link to this file, which fails if there is a lock,
 *       and by which a lock tells whose it is for as long as it is there.
 *   <li>What is to become a loose ref is written to files beside this one.
 *   <li>A line is added: the transaction is decided. From here on it is finished, by whomever.
 *   <li>Refs change, locks are removed, and last this file.
 * </ol>
 *
 * <p>The text, one line each: a title with the version; the id of the boot of the machine; for each
 * ref its new id (zeros to delete it) and its name; {@code prepared} and, after a decision, {@code
 * decided}, each with the CRC32C of all that stands before; {@code end}. It costs the same whatever
 * the size of the repository: it grows with the refs of the transaction.
 *
 * <p>A file that was made serves one transaction after the other ({@link JournalPool}): to make one
 * is what costs most of all. For one thread at a time.
 */
public final class Journal implements Closeable {
  private static final String TITLE = "cache-chroniclemap ref transaction 1\n";
  private static final String BOOT = "boot ";
  private static final String PREPARED = "prepared ";
  private static final String DECIDED = "decided ";
  private static final byte[] END = "end\n".getBytes(US_ASCII);

  private static final String SUFFIX = ".transaction";
  private static final AtomicLong COUNT = new AtomicLong();

  /** Of this running system. */
  private static final Optional<String> BOOT_ID = bootId();

  /** Of a system that has no name, and of a process of which nobody can know whether it lives. */
  private static final String NO_BOOT = "unknown";

  private final RefDisk disk;
  private final JournalOwner owner;
  private final Path file;

  private final String boot;

  /** No channel: an interrupt of the thread would close that. */
  private final RandomAccessFile open;

  private final CRC32C crc = new CRC32C();

  /** Where the next line is to stand. */
  private int position;

  /** Where the line of the decision is to stand. */
  private int prepared;

  /** Whether the disk keeps that there is such a file. */
  private boolean isKept;

  /**
   * Whether the disk may have a decision in it, of this transaction or an earlier one. No ref may
   * be locked by such a file: after a crash of the machine the lock would be taken for that of the
   * transaction that was decided, and the ref given its value again.
   */
  private boolean mayBeDecidedOnDisk;

  private Journal(RefDisk disk, JournalOwner owner, Path file, String boot, RandomAccessFile open) {
    this.disk = disk;
    this.owner = owner;
    this.file = file;
    this.boot = boot;
    this.open = open;
  }

  /** A ref and its new value; zeros to delete it. */
  public record Entry(String name, ObjectId newId) {}

  /** Whether a name can stand in a line. No ref that git allows has another one. */
  public static boolean isWritable(String name) {
    return name.chars().noneMatch(c -> c < ' ' || Character.isSurrogate((char) c))
        || (name.chars().noneMatch(c -> c < ' ') && UTF_8.newEncoder().canEncode(name));
  }

  /** Makes a file that says nothing yet. */
  static Journal create(RefDisk disk, JournalOwner owner) throws IOException {
    Path file = owner.file("-" + COUNT.incrementAndGet() + SUFFIX);
    String boot = owner.isLocked() ? BOOT_ID.orElse(NO_BOOT) : NO_BOOT;
    return new Journal(disk, owner, file, boot, disk.createToKeepOpen(file));
  }

  JournalOwner owner() {
    return owner;
  }

  /** Whether nobody has deleted the file. */
  boolean isThere() {
    return file.toFile().exists();
  }

  /**
   * Begins a transaction, in place of the one before, of which no lock is left.
   *
   * @throws IOException if it can't be written: no lock may be taken then
   */
  void begin(List<Entry> entries) throws IOException {
    crc.reset();
    position = 0;
    ByteArrayOutputStream text = new ByteArrayOutputStream(128 + 96 * entries.size());
    text.writeBytes((TITLE + BOOT + boot + "\n").getBytes(US_ASCII));
    byte[] id = new byte[Constants.OBJECT_ID_STRING_LENGTH];
    for (Entry entry : entries) {
      entry.newId.copyTo(id, 0);
      text.writeBytes(id);
      text.write(' ');
      text.writeBytes(entry.name.getBytes(UTF_8));
      text.write('\n');
    }
    write(text, PREPARED);
    prepared = position;
  }

  /** Writes at the end, in one call: half of it would be taken for nothing. */
  private void write(ByteArrayOutputStream text, String mark) throws IOException {
    crc.update(text.toByteArray());
    byte[] line =
        (mark + HexFormat.of().toHexDigits((int) crc.getValue()) + "\n").getBytes(US_ASCII);
    crc.update(line);
    text.writeBytes(line);
    int length = text.size();
    // What a longer transaction before has left behind is no part of this one.
    text.writeBytes(END);
    writeAt(position, text.toByteArray());
    position += length;
  }

  /** The file, to which locks are links. */
  Path file() {
    return file;
  }

  /** A file beside, for the new value of a ref or, with another mark, for something else. */
  public Path beside(String mark) {
    return beside(file, mark);
  }

  private static Path beside(Path file, String mark) {
    String name = file.getFileName().toString();
    return file.resolveSibling(name.substring(0, name.length() - SUFFIX.length()) + "." + mark);
  }

  /**
   * Decides the transaction. From here on it must be finished.
   *
   * @throws IOException if it can't be; then {@link #undecide} must follow
   */
  void decide() throws IOException {
    write(new ByteArrayOutputStream(), DECIDED);
  }

  /**
   * The same, and it outlives a crash of the machine. What was written beside is kept by the disk
   * at the same time: should the decision outlive a crash and those not, they are written again
   * from this file.
   *
   * @param beside files that were written
   * @param over journals whose transactions are over, and whose decisions the disk is to forget at
   *     the same time
   */
  void decide(List<Path> beside, List<Journal> over) throws IOException {
    for (Journal journal : over) {
      // Over the decision itself.
      journal.writeAt(journal.prepared, END);
    }
    decide();
    mayBeDecidedOnDisk = true;
    List<Path> files = new ArrayList<>(beside);
    over.forEach(journal -> files.add(journal.file));
    files.add(file);
    disk.syncFiles(files);
    over.forEach(journal -> journal.mayBeDecidedOnDisk = false);
    if (!isKept) {
      disk.syncFolders(List.of(file.getParent()));
      isKept = true;
    }
  }

  /** Whether it may lock refs: see {@link #mayBeDecidedOnDisk}. */
  boolean mayLock() {
    return !mayBeDecidedOnDisk;
  }

  /**
   * Takes the decision back: all has its old value again, or nothing has happened. Does nothing if
   * there was none.
   */
  public void undecide() throws IOException {
    writeAt(prepared, END);
    position = prepared;
    if (mayBeDecidedOnDisk) {
      disk.syncFiles(List.of(file));
      mayBeDecidedOnDisk = false;
    }
  }

  private void writeAt(int place, byte[] text) throws IOException {
    open.seek(place);
    disk.write(open, file, text);
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
   * What a dead process's file says.
   *
   * @param boot of the system that it ran on, if that can be known
   * @param entries empty if it was killed before it took any lock
   * @param decided whether it is to be finished
   */
  public record Found(Path file, Optional<String> boot, List<Entry> entries, boolean decided) {
    /** Whether it was written on this running system. */
    public boolean isOfThisBoot() {
      return boot.isPresent() && boot.equals(BOOT_ID);
    }

    /** Whether it says that nobody can know whether its process lives. */
    public boolean isUnknown() {
      return boot.isPresent() && boot.get().equals(NO_BOOT);
    }

    public Path beside(String mark) {
      return Journal.beside(file, mark);
    }
  }

  /** Whether a file in the folder is that of a transaction. */
  public static boolean isJournal(Path file) {
    return file.getFileName().toString().endsWith(SUFFIX);
  }

  /** Reads the file of a process that is dead. */
  public static Found read(Path file) throws IOException {
    byte[] text = Files.readAllBytes(file);
    List<Entry> entries = new ArrayList<>();
    Optional<String> boot = Optional.empty();
    boolean prepared = false;
    boolean decided = false;
    CRC32C crc = new CRC32C();
    int line = 0;
    int number = 0;
    for (int i = 0; i < text.length && !decided; i++) {
      if (text[i] != '\n') {
        continue;
      }
      String content = new String(text, line, i - line, UTF_8);
      String mark = prepared ? DECIDED : PREPARED;
      if (number == 0) {
        if (!(content + "\n").equals(TITLE)) {
          break;
        }
      } else if (number == 1) {
        boot = Optional.of(content.substring(Math.min(BOOT.length(), content.length())));
      } else if (content.startsWith(mark)) {
        if (!content.equals(mark + HexFormat.of().toHexDigits((int) crc.getValue()))) {
          break;
        }
        decided = prepared;
        prepared = true;
      } else {
        // Behind the mark, the end, and perhaps what an earlier transaction has left.
        Entry entry = prepared ? null : entry(content);
        if (entry == null) {
          break;
        }
        entries.add(entry);
      }
      crc.update(text, line, i + 1 - line);
      line = i + 1;
      number++;
    }
    return new Found(file, boot, prepared ? entries : List.of(), decided);
  }

  @Nullable
  private static Entry entry(String line) {
    int end = Constants.OBJECT_ID_STRING_LENGTH;
    if (line.length() < end + 2 || !ObjectId.isId(line.substring(0, end))) {
      return null;
    }
    return new Entry(line.substring(end + 1), ObjectId.fromString(line.substring(0, end)));
  }

  private static Optional<String> bootId() {
    try {
      return Optional.of(Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim());
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }
}
