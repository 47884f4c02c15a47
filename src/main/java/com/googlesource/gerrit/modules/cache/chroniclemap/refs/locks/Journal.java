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
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * The file that one ref transaction keeps while it runs. It names the refs and their new values, so
 * that whoever opens the repository after the process was killed can complete the transaction or
 * remove its locks ({@code Recovery}).
 *
 * <p>The steps of a transaction, and what each leaves on disk:
 *
 * <ol>
 *   <li>The text is written once, to a new file {@code OWNER-NUMBER.transaction}, and never
 *       changes. The {@link JournalOwner} shows by a file lock that the process lives.
 *   <li>The refs are locked. Each lock is a hard link to this file: making it fails if the ref is
 *       locked already, and it tells whose the lock is for as long as it exists.
 *   <li>New values of refs are written to files beside this one.
 *   <li>The file is renamed to {@code .decided}, or to {@code .durable} if the decision and all
 *       that it needs survive a crash of the machine. From here on the transaction is completed, by
 *       whomever.
 *   <li>Values are renamed into place, the locks are deleted, and last this file.
 * </ol>
 *
 * <p>No file serves two transactions. After a loss of power a lock may be back that had been
 * deleted, and then leads to the text of its own transaction, never to that of a later one.
 *
 * <p>The text has one line each for: a title with the version; the boot of the system, the machine
 * and the kind of file system, as {@link Origin} has them; each ref, with its new id (zeros to
 * delete it) and its name; {@code end} and the CRC32C of all that stands before. Its length grows
 * with the refs of the transaction alone. For one thread at a time.
 */
public final class Journal implements Closeable {
  private static final String TITLE = "cache-chroniclemap ref transaction 2\n";
  private static final String END = "end ";

  private static final String PREPARED = ".transaction";
  private static final String DECIDED = ".decided";
  private static final String DURABLE = ".durable";

  private static final AtomicLong COUNT = new AtomicLong();

  private final RefDisk disk;
  private final JournalOwner owner;

  /** Its path without the suffix. */
  private final String stem;

  private Path file;

  private Journal(RefDisk disk, JournalOwner owner, Path file) {
    this.disk = disk;
    this.owner = owner;
    this.file = file;
    this.stem = stem(file);
  }

  private static String stem(Path file) {
    String name = file.toString();
    return name.substring(0, name.lastIndexOf('.'));
  }

  /** A ref and its new value; zeros to delete it. */
  public record Entry(String name, ObjectId newId) {}

  /** Whether a name can stand in a line. No ref that git allows has another one. */
  public static boolean isWritable(String name) {
    return name.chars().noneMatch(c -> c < ' ' || Character.isSurrogate((char) c))
        || (name.chars().noneMatch(c -> c < ' ') && UTF_8.newEncoder().canEncode(name));
  }

  /**
   * Writes the file of a new transaction.
   *
   * @throws IOException if it can't be written; nothing is left then
   */
  static Journal begin(RefDisk disk, JournalOwner owner, List<Entry> entries) throws IOException {
    Path file = owner.file("-" + COUNT.incrementAndGet() + PREPARED);
    boolean done = false;
    try {
      // Another machine sees the locks at once, and has to find this text if this one dies.
      disk.write(file, text(owner.origin(), entries), !owner.origin().isLocal());
      done = true;
      return new Journal(disk, owner, file);
    } finally {
      if (!done) {
        disk.delete(file);
      }
    }
  }

  private static byte[] text(Origin origin, List<Entry> entries) {
    ByteArrayOutputStream text = new ByteArrayOutputStream(256 + 96 * entries.size());
    text.writeBytes((TITLE + origin.lines()).getBytes(UTF_8));
    byte[] id = new byte[Constants.OBJECT_ID_STRING_LENGTH];
    for (Entry entry : entries) {
      entry.newId().copyTo(id, 0);
      text.writeBytes(id);
      text.write(' ');
      text.writeBytes(entry.name().getBytes(UTF_8));
      text.write('\n');
    }
    text.writeBytes((END + crc(text.toByteArray(), text.size()) + "\n").getBytes(US_ASCII));
    return text.toByteArray();
  }

  private static String crc(byte[] text, int length) {
    CRC32C crc = new CRC32C();
    crc.update(text, 0, length);
    return HexFormat.of().toHexDigits((int) crc.getValue());
  }

  JournalOwner owner() {
    return owner;
  }

  /** The file, to which locks are links. */
  Path file() {
    return file;
  }

  /** A file beside, for the new value of a ref or, with another mark, for something else. */
  Path beside(String mark) {
    return Path.of(stem + "." + mark);
  }

  /**
   * Decides the transaction. From here on it must be completed.
   *
   * <p>A durable decision costs two rounds of syncs, whose files and folders are synced at the same
   * time: all that it needs first, then its own name.
   *
   * @param durable whether the decision has to survive a crash of the machine
   * @param values new values of refs
   * @param folders those that hold the locks: a decision without its locks would be taken for one
   *     that has been completed
   * @throws IOException if it can't be decided; then {@link #undecide} must follow
   */
  void decide(boolean durable, Collection<Path> values, Collection<Path> folders)
      throws IOException {
    if (durable) {
      List<Path> files = new ArrayList<>(values);
      files.add(file);
      List<Path> all = new ArrayList<>(folders);
      all.add(file.getParent());
      all.add(file.getParent().getParent()); // where this transaction may have made that folder
      disk.sync(files, all);
    }
    // Another machine sees a rename at once, and the text was synced before the first lock.
    moveTo(durable || !owner.origin().isLocal() ? DURABLE : DECIDED);
    if (durable) {
      disk.syncFolders(List.of(file.getParent()));
    }
  }

  /**
   * Takes the decision back, if there was one: all refs have their old values again.
   *
   * @param durable as it was decided
   */
  void undecide(boolean durable) throws IOException {
    for (String suffix : List.of(DECIDED, DURABLE)) {
      Path decided = Path.of(stem + suffix);
      if (Files.exists(decided)) {
        file = decided;
        moveTo(PREPARED);
        if (durable) {
          disk.syncFolders(List.of(file.getParent()));
        }
      }
    }
  }

  private void moveTo(String suffix) throws IOException {
    Path target = Path.of(stem + suffix);
    try {
      disk.rename(file, target);
    } catch (NoSuchFileException e) {
      // A network file system may have lost its answer to a call that renamed it.
      if (!Files.exists(target)) {
        throw e;
      }
    }
    file = target;
  }

  /** Deletes the file: the transaction is over, and none of its locks is left. */
  @Override
  public void close() throws IOException {
    disk.delete(file);
  }

  // ---- those of others

  /**
   * What the file of another process says.
   *
   * @param origin where it was written; null if that can't be read
   * @param entries empty if the text was not written as a whole
   */
  public record Found(
      Path file, @Nullable Origin origin, List<Entry> entries, boolean decided, boolean durable) {
    public Path beside(String mark) {
      return Path.of(stem(file) + "." + mark);
    }

    /**
     * Whether the transaction has to be completed. A decision that was not synced counts only on
     * the system that has it in its page cache: on disk it may have survived a crash while later
     * updates of the same refs have not.
     */
    public boolean isToComplete() {
      return !entries.isEmpty()
          && (durable || (decided && origin != null && origin.isOfThisBoot()));
    }
  }

  /** Whether a file in the folder is that of a transaction. */
  public static boolean isJournal(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(PREPARED) || name.endsWith(DECIDED) || name.endsWith(DURABLE);
  }

  /** Reads the file of a process that is dead. */
  public static Found read(Path file) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    String text = new String(bytes, UTF_8);
    boolean durable = file.toString().endsWith(DURABLE);
    boolean decided = durable || file.toString().endsWith(DECIDED);
    Origin origin = text.startsWith(TITLE) ? Origin.parse(text.substring(TITLE.length())) : null;
    int end = text.lastIndexOf("\n" + END) + 1;
    boolean isWhole =
        origin != null
            && end > 0
            && text.substring(end)
                .equals(END + crc(bytes, text.substring(0, end).getBytes(UTF_8).length) + "\n");
    List<Entry> entries = new ArrayList<>();
    if (isWhole) {
      text.substring(TITLE.length(), end)
          .lines()
          .skip(Origin.LINES)
          .forEach(line -> entries.add(entry(line)));
    }
    return new Found(file, origin, entries, decided, durable);
  }

  private static Entry entry(String line) {
    int end = Constants.OBJECT_ID_STRING_LENGTH;
    return new Entry(line.substring(end + 1), ObjectId.fromString(line.substring(0, end)));
  }
}
