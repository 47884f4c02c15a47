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

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.CharMatcher;
import com.google.common.hash.Hashing;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.LooseFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefPaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.HeldLocks.LockedRef;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.ObjectId;

/**
 * The journal of one ref transaction: a file that names the refs and their new values while the
 * transaction runs. If the process is killed, recovery by another process ({@code Recovery})
 * completes the transaction or removes its locks.
 *
 * <p>The journal of a single ref is the file of its new value, {@code OWNER-NUMBER.REF.transaction}
 * with {@value #SLASH} for each slash of the name. The lock is a hard link to it, and is renamed to
 * the ref, which publishes the value and unlocks the ref in one step. So there is nothing to decide
 * or to complete: recovery deletes the lock, if that is still a link to the file, and the file. A
 * value that has to survive a crash of the machine is written beside that file, as below: a sync
 * may fail after the rename, and to undo that takes the lock. So is the target of a symbolic ref,
 * which is not known before the lock. Names that are too long, or have a {@value #SLASH}, are in a
 * text.
 *
 * <p>The steps of any other transaction, and what each leaves on disk:
 *
 * <ol>
 *   <li>The journal is written to a new file {@code OWNER-NUMBER.transaction}. Its text never
 *       changes again. The {@link JournalOwner} shows by a file lock that the process lives.
 *   <li>The refs are locked. Each lock is a hard link to an anchor: the journal, or for each
 *       further {@value #MAX_LINKS} refs another file beside it, as a file can have only so many
 *       links (on ext4, 65,000). Making the link fails if the ref is locked already. The link shows
 *       which transaction the lock belongs to.
 *   <li>The new values of refs are written to files beside the journal.
 *   <li>The journal is renamed to {@code .decided}, or to {@code .durable} if the decision survives
 *       a crash of this machine with all that it needs. From here on the transaction must be
 *       completed, by this process or by recovery.
 *   <li>The new values are renamed into place. Then the locks are deleted, and at last the journal.
 * </ol>
 *
 * <p>Each transaction has a journal file of its own. So a deleted lock that is back after a loss of
 * power leads to the text of its own transaction, never to that of a later one.
 *
 * <p>The text is UTF-8 and has one line each for: a title with the version; the boot, the machine
 * and the kind of file system, as in {@link ProcessOrigin}; each ref, with its new id in hex (zeros
 * to delete the ref) and its name; {@code end} and the CRC32C of all lines before. Its length grows
 * with the refs of the transaction alone. For one thread at a time.
 */
final class Journal implements Closeable {
  private static final String TITLE = "cache-chroniclemap ref transaction 2\n";
  private static final String END = "end ";

  private static final String PREPARED = ".transaction";
  private static final String DECIDED = ".decided";
  private static final String DURABLE = ".durable";

  /** The mark of the files to which locks are links when the journal has enough of them. */
  private static final String ANCHOR = "anchor-";

  /** How many locks are links to one file. */
  static final int MAX_LINKS = 1000;

  private static final AtomicLong COUNT = new AtomicLong();

  /**
   * What the name of a file has for a slash. Git allows no ref with it, but some have been made.
   */
  private static final char SLASH = '~';

  /**
   * The most bytes of a ref's name in that of a file. This has up to 66 others, and may have 143 on
   * eCryptfs, 255 elsewhere.
   */
  static final int MAX_NAMED = 70;

  private final RefDisk disk;

  /** Null if the journal is another process's. */
  @Nullable final JournalOwner owner;

  /** The path of the file without its suffix. */
  private final String stem;

  /** The only ref, if the file is its new value; null if the file is a text. */
  @Nullable final String named;

  /** The files to which locks are links. The first one is the journal's. */
  private final List<Path> anchors = new ArrayList<>();

  /** The {@link #key(Path)} of each anchor, and of the locks that are links to it. */
  private final List<Object> keys = new ArrayList<>();

  private Journal(RefDisk disk, @Nullable JournalOwner owner, Path file) {
    this.disk = disk;
    this.owner = owner;
    String name = file.getFileName().toString();
    int start = name.indexOf('.');
    int end = name.lastIndexOf('.');
    this.stem = file.resolveSibling(name.substring(0, end)).toString();
    this.named = start == end ? null : name.substring(start + 1, end).replace(SLASH, '/');
    anchors.add(file);
  }

  /** The journal's file. */
  Path file() {
    return anchors.get(0);
  }

  /** Whether a ref name can be written to a journal. Every name that git allows can. */
  static boolean canName(String name) {
    return CharMatcher.inRange('\0', (char) (' ' - 1)).matchesNoneOf(name)
        && UTF_8.newEncoder().canEncode(name);
  }

  /**
   * Writes the journal of a new transaction.
   *
   * @throws IOException if it can't be written; no file is left then
   */
  static Journal begin(RefDisk disk, JournalOwner owner, List<LockedRef> refs) throws IOException {
    String only = refs.size() == 1 ? refs.get(0).name : "";
    boolean isNamed =
        !only.isEmpty() && only.indexOf(SLASH) < 0 && !RefPaths.isLonger(only, MAX_NAMED);
    String mark = isNamed ? '.' + only.replace('/', SLASH) : "";
    Journal journal =
        new Journal(disk, owner, owner.file("-" + COUNT.incrementAndGet() + mark + PREPARED));
    try {
      for (int i = 0; i == 0 || i * MAX_LINKS < refs.size(); i++) {
        if (i > 0) {
          journal.anchors.add(journal.beside(ANCHOR + i));
        }
        // On a shared file system, other machines see the locks at once. If this machine crashes,
        // they must find the text.
        byte[] content =
            isNamed ? refs.get(0).content : text(owner.origin, i == 0 ? refs : List.of());
        disk.write(journal.anchor(i), content, !isNamed && !owner.origin.isLocal());
        journal.keys.add(key(journal.anchor(i)));
      }
      return journal;
    } catch (Throwable e) {
      journal.close();
      throw e;
    }
  }

  private static byte[] text(ProcessOrigin origin, List<LockedRef> refs) {
    ByteArrayOutputStream text = new ByteArrayOutputStream(256 + 96 * refs.size());
    text.writeBytes((TITLE + origin.lines()).getBytes(UTF_8));
    for (LockedRef ref : refs) {
      String line = ref.newId.name() + " " + ref.name + "\n";
      text.writeBytes(line.getBytes(UTF_8));
    }
    text.writeBytes((END + crc(text.toByteArray(), text.size()) + "\n").getBytes(US_ASCII));
    return text.toByteArray();
  }

  private static String crc(byte[] text, int length) {
    return HexFormat.of().toHexDigits(Hashing.crc32c().hashBytes(text, 0, length).asInt());
  }

  /**
   * Identifies a file by more than its name; two links to one file have the same key. Null if there
   * is certainly no such file.
   */
  @Nullable
  static Object key(Path file) throws IOException {
    BasicFileAttributes found = LooseFile.attributesOrNone(file);
    return found == null ? null : found.fileKey();
  }

  /**
   * Whether a lock file exists and is this transaction's. Somebody may have deleted it by hand, or
   * on another machine where this process was taken for dead, and the ref may be locked again.
   *
   * @throws IOException if the disk does not tell
   */
  boolean isLink(Path lock) throws IOException {
    return firstOther(List.of(lock)) == null;
  }

  /** Returns the first of some lock files of which this is not true; null if there is none. */
  @Nullable
  Path firstOther(List<Path> locks) throws IOException {
    Map<Integer, Path> used = new HashMap<>();
    for (Path lock : locks) {
      Object key = key(lock);
      int anchor = key == null ? -1 : keys.indexOf(key);
      if (anchor < 0) {
        return lock;
      }
      used.put(anchor, lock);
    }
    for (Map.Entry<Integer, Path> each : used.entrySet()) {
      // Without its anchor, another file may have got the key of the lock.
      if (!keys.get(each.getKey()).equals(key(anchor(each.getKey())))) {
        return each.getValue();
      }
    }
    return null;
  }

  /**
   * A file beside the journal, for the new value of a ref or, with another mark, for other content.
   */
  Path beside(String mark) {
    return Path.of(stem + "." + mark);
  }

  /** Returns an anchor by its number; 0 is the journal. */
  Path anchor(int number) {
    return anchors.get(number);
  }

  /** Whether any locks, or copies made by others, are links to an anchor. */
  boolean hasLinks() throws IOException {
    for (Path anchor : anchors) {
      if ((int) Files.getAttribute(anchor, "unix:nlink") > 1) {
        return true;
      }
    }
    return false;
  }

  /**
   * Decides the transaction, which must be completed from here on.
   *
   * <p>A durable decision costs two rounds of syncs: first all that the decision needs, then the
   * new name of the journal. The syncs of a round run at the same time.
   *
   * @param durable whether the decision has to survive a crash of the machine
   * @param values the files with the new values of refs
   * @param folders the folders of the locks. If a crash took the locks of a decision, recovery
   *     would take the transaction for completed
   * @throws IOException if the decision failed; then {@link #rollBackDecision} must follow
   */
  void decide(boolean durable, Collection<Path> values, Collection<Path> folders)
      throws IOException {
    if (durable) {
      List<Path> files = new ArrayList<>(values);
      files.addAll(anchors);
      List<Path> all = new ArrayList<>(folders);
      all.add(file().getParent());
      all.add(file().getParent().getParent()); // this transaction may have made its folder
      disk.sync(files, all);
    }
    // On a shared file system, other machines see the rename at once, and the text is synced.
    moveTo(durable || !owner.origin.isLocal() ? DURABLE : DECIDED);
    if (durable) {
      disk.syncFolders(List.of(file().getParent()));
    }
  }

  /**
   * Takes the decision back, if there is one. All refs must have their old values again.
   *
   * @param durable as given to {@link #decide}
   */
  void rollBackDecision(boolean durable) throws IOException {
    for (String suffix : List.of(DECIDED, DURABLE)) {
      Path decided = Path.of(stem + suffix);
      if (!Files.notExists(decided)) { // perhaps there, if the disk does not tell
        anchors.set(0, decided);
        moveTo(PREPARED);
        if (durable) {
          disk.syncFolders(List.of(decided.getParent()));
        }
      }
    }
  }

  private void moveTo(String suffix) throws IOException {
    Path target = Path.of(stem + suffix);
    disk.rename(file(), target, () -> Files.exists(target));
    anchors.set(0, target);
  }

  /** Deletes the journal. The transaction is over, and none of its locks may be left. */
  @Override
  public void close() throws IOException {
    for (Path anchor : anchors.reversed()) { // the journal last
      disk.delete(anchor);
    }
  }

  // ---- journals of other processes

  /**
   * The journal of another process, as read from its file.
   *
   * @param origin where the process ran; null if the text lacks it
   * @param isWhole whether the text is complete, or the name tells all
   * @param refs none of a writer of {@code packed-refs} alone, or if the text is not whole
   * @param isToComplete whether recovery has to complete the transaction. A decision that is not
   *     durable counts only during the boot in which it was made: after a crash of the machine it
   *     may be on disk without later updates of the same refs
   */
  record Found(
      Journal journal,
      @Nullable ProcessOrigin origin,
      boolean isWhole,
      List<LockedRef> refs,
      boolean isToComplete) {}

  /** Whether a file has the name of a journal. */
  static boolean isJournal(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(PREPARED) || name.endsWith(DECIDED) || name.endsWith(DURABLE);
  }

  /**
   * Reads the journal of a dead process.
   *
   * @param files all files of the process
   */
  static Found read(RefDisk disk, Path file, List<Path> files) throws IOException {
    Journal journal = new Journal(disk, null, file);
    if (journal.named != null) {
      journal.keys.add(key(file));
      LockedRef only = new LockedRef(journal.named, ObjectId.zeroId());
      return new Found(journal, null, true, List.of(only), false);
    }
    byte[] bytes = Files.readAllBytes(file);
    String text = new String(bytes, UTF_8);
    ProcessOrigin origin = origin(text);
    int end = text.lastIndexOf("\n" + END) + 1;
    boolean isWhole =
        origin != null
            && end > 0
            && text.substring(end)
                .equals(END + crc(bytes, text.substring(0, end).getBytes(UTF_8).length) + "\n");
    List<LockedRef> refs = new ArrayList<>();
    if (isWhole) {
      text.substring(TITLE.length(), end)
          .lines()
          .skip(ProcessOrigin.LINES)
          .forEach(line -> refs.add(ref(line)));
    }
    String start = journal.beside(ANCHOR).toString();
    files.stream().filter(each -> each.toString().startsWith(start)).forEach(journal.anchors::add);
    for (Path anchor : journal.anchors) {
      journal.keys.add(key(anchor));
    }
    boolean isToComplete =
        isWhole
            && (file.toString().endsWith(DURABLE)
                || (file.toString().endsWith(DECIDED) && origin.isOfThisBoot()));
    return new Found(journal, origin, isWhole, refs, isToComplete);
  }

  @Nullable
  private static ProcessOrigin origin(String text) {
    return text.startsWith(TITLE) ? ProcessOrigin.parse(text.substring(TITLE.length())) : null;
  }

  private static LockedRef ref(String line) {
    int end = Constants.OBJECT_ID_STRING_LENGTH;
    return new LockedRef(line.substring(end + 1), ObjectId.fromString(line.substring(0, end)));
  }
}
