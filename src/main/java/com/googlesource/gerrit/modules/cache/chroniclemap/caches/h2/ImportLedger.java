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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What is known between two starts of the files of H2: which there were when this module was first
 * in use, and whether a Gerrit with H2 has run since.
 *
 * <p>The latter is told by H2's file of the web sessions, which only a daemon opens: by its size
 * and all of its bytes, or the first and last of them where there are very many. Times of files
 * would not do, as a copy of a site has others. For files of other modules they have to do.
 *
 * <p>It stands in a file of its own beside those of H2: whoever deletes the folder of the stores
 * must not get back what H2 held long ago. Lines of text: the format and the fingerprint of H2's
 * file of the web sessions, "none" or "unknown"; the names of caches; and a SHA-256 of all that.
 *
 * <p>Safe for any thread.
 */
final class ImportLedger {
  static final String FILE = "cache-chroniclemap.imported";
  private static final String WITNESS_CACHE = "web_sessions";
  private static final String NONE = "none";

  /** Names of files in which the known module of this kind keeps caches: cache and version. */
  private static final Pattern OTHERS = Pattern.compile(".+_-?\\d+\\.dat");

  private static final String UNKNOWN = "unknown";

  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  /** To be changed with the way in which a fingerprint is made. */
  private static final String FORMAT = "2 ";

  /** Files up to twice so many bytes are looked at as a whole, of others this much at both ends. */
  private static final int LOOKED_AT = 32 << 20;

  /** What to make of what an earlier start has left. */
  enum Verdict {
    /** This is the first start: there is nothing yet. */
    FIRST,
    /** The stores are as new as H2's files. */
    CURRENT,
    /** A Gerrit with H2 has run since. */
    H2_RAN,
    /** Nobody knows which of them is newer. */
    DOUBT
  }

  private final Path file;
  private final Path witnessFile;
  private final Verdict verdict;
  private final String doubt;

  /** What H2's file of the web sessions is like. */
  private String witnessNow;

  /** What it was like. */
  private final String witnessBefore;

  /** Names that were noted, and whose files H2 has not written to since. */
  private final Set<String> untouched = new TreeSet<>();

  /** What was noted before this process. Guarded by this. */
  private Set<String> seenBefore;

  /** What is noted. Guarded by this. */
  private Set<String> seen;

  /**
   * Reads what is known.
   *
   * @param folder of H2's files
   * @param hasStores whether there are files of stores
   */
  ImportLedger(Path folder, boolean hasStores) {
    this.file = folder.resolve(FILE);
    this.witnessFile = H2File.pathOf(folder, WITNESS_CACHE);
    this.witnessNow = fingerprint(witnessFile);
    List<String> lines = List.of(NONE, "");
    String why = "";
    boolean first = false;
    try {
      String text = Files.readString(file);
      lines = text.lines().toList();
      if (text.isEmpty()) {
        why =
            file + " is empty: caches were in memory only, or it could not be noted what is in use";
      } else if (lines.size() < 2
          || !lines.get(0).startsWith(FORMAT)
          || !text.equals(textOf(lines.subList(0, lines.size() - 1)))) {
        why = file + " is damaged, or of another version";
      }
    } catch (NoSuchFileException e) {
      first = !hasStores;
      why = first ? "" : "there is no " + file;
    } catch (IOException e) {
      why = file + " can't be read: " + e;
    }
    if (why.isEmpty()) {
      why = whoElseRan(folder, first ? witnessFile : file);
    }
    boolean known = why.isEmpty() && !first;
    this.witnessBefore = known ? lines.get(0).substring(FORMAT.length()) : NONE;
    this.seen = new TreeSet<>(known ? lines.subList(1, lines.size() - 1) : List.of());
    this.seenBefore = seen;
    if (why.isEmpty() && witnessNow.equals(UNKNOWN)) {
      why = witnessFile + " can't be read";
    } else if (known && witnessBefore.equals(UNKNOWN)) {
      why = witnessFile + " could not be read before";
    } else if (known && witnessBefore.equals(NONE) && !witnessNow.equals(NONE)) {
      why = witnessFile + " was not there before";
    }
    this.doubt = why;
    if (!why.isEmpty()) {
      this.verdict = Verdict.DOUBT;
    } else if (first) {
      this.verdict = Verdict.FIRST;
    } else {
      boolean same = witnessNow.equals(NONE) || witnessNow.equals(witnessBefore);
      this.verdict = same ? Verdict.CURRENT : Verdict.H2_RAN;
    }
    if (verdict == Verdict.H2_RAN) {
      // That of a plugin that was not there, say.
      seen.stream().filter(cache -> !isNewer(H2File.pathOf(folder, cache))).forEach(untouched::add);
    }
  }

  /** Whether a file was written to after this one; in doubt it was not. */
  private boolean isNewer(Path h2) {
    return isNewer(h2, file);
  }

  private static boolean isNewer(Path one, Path other) {
    try {
      return Files.getLastModifiedTime(one).compareTo(Files.getLastModifiedTime(other)) > 0;
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Tells of files that another module for Chronicle-Map caches has written after H2, or this
   * module, was first in use; empty if there are none. It too is put in H2's place, and who signed
   * out with it is signed in with H2 and here.
   */
  private static String whoElseRan(Path folder, Path since) {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(one -> OTHERS.matcher(one.getFileName().toString()).matches())
          .filter(one -> !Files.exists(since) || isNewer(one, since))
          .findFirst()
          .map(one -> "another module has written " + one)
          .orElse("");
    } catch (NoSuchFileException e) {
      // A new site.
      return "";
    } catch (IOException | UncheckedIOException e) {
      return folder + " can't be read: " + e;
    }
  }

  private static String textOf(List<String> lines) {
    String text = String.join("\n", lines) + "\n";
    return text + Hashing.sha256().hashString(text, UTF_8) + "\n";
  }

  private static String fingerprint(Path h2) {
    try (FileChannel channel = FileChannel.open(h2)) {
      long size = channel.size();
      Hasher hasher = Hashing.sha256().newHasher().putLong(size);
      addBytes(channel, 0, Math.min(size, LOOKED_AT), hasher);
      addBytes(channel, Math.max(LOOKED_AT, size - LOOKED_AT), LOOKED_AT, hasher);
      return hasher.hash().toString();
    } catch (NoSuchFileException e) {
      return NONE;
    } catch (IOException e) {
      return UNKNOWN;
    }
  }

  private static void addBytes(FileChannel channel, long from, long length, Hasher hasher)
      throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
    long end = from + length;
    for (long at = from; at < end; ) {
      buffer.clear().limit((int) Math.min(buffer.capacity(), end - at));
      int read = channel.read(buffer, at);
      if (read < 0) {
        return;
      }
      at += read;
      hasher.putBytes(buffer.flip());
    }
  }

  Verdict verdict() {
    return verdict;
  }

  /** What nobody knows, for people; empty unless there is doubt. */
  String doubt() {
    return doubt;
  }

  /**
   * Has the next start be in doubt, for it finds the ledger empty. To be called before stores that
   * may not be current are deleted, should all else fail, and where it can't be noted what is in
   * use. Needs no room on the disk if the ledger is there.
   *
   * @param folder of H2's files
   */
  static void forget(Path folder) throws IOException {
    Path file = folder.resolve(FILE);
    try {
      makeEmpty(file);
    } catch (IOException e) {
      // It may belong to somebody else, and the folder be ours.
      try {
        Path next = file.resolveSibling(FILE + ".next");
        Files.deleteIfExists(next);
        makeEmpty(next);
        replace(file, next);
      } catch (IOException later) {
        e.addSuppressed(later);
        throw e;
      }
    }
    sync(file.toAbsolutePath().getParent());
  }

  private static void makeEmpty(Path file) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            file,
            Set.of(
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING),
            OWNER_ONLY)) {
      channel.force(true);
    }
  }

  private static void replace(Path file, Path next) throws IOException {
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  private static void sync(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder)) {
      channel.force(true);
    }
  }

  /**
   * Notes that what is in the stores is not older than H2's files.
   *
   * @param names of caches that are not to be taken over from their beginning
   * @throws IOException if that can't be noted
   */
  synchronized void begin(Set<String> names) throws IOException {
    if (verdict != Verdict.CURRENT) {
      seen = new TreeSet<>(untouched);
    }
    if (witnessNow.equals(UNKNOWN)) {
      // It may have been a passing error, and nothing comes in at this start anyway.
      witnessNow = fingerprint(witnessFile);
    }
    seenBefore = new TreeSet<>(seen);
    seenBefore.addAll(names);
    if (verdict == Verdict.CURRENT && witnessNow.equals(witnessBefore) && seen.containsAll(names)) {
      return;
    }
    if (!witnessNow.equals(NONE) && !witnessNow.equals(UNKNOWN)) {
      // Or else it might be another one after a loss of power, as if H2 had run.
      try (FileChannel channel = FileChannel.open(witnessFile)) {
        channel.force(true);
      }
    }
    save(names);
  }

  /**
   * Whether a cache was noted, by an earlier process, as not to be taken over from its beginning.
   */
  synchronized boolean wasSeen(String cache) {
    return seenBefore.contains(cache);
  }

  /** Notes that caches are not to be taken over from their beginning any more. */
  synchronized void see(Set<String> names) throws IOException {
    if (!seen.containsAll(names)) {
      save(names);
    }
  }

  private void save(Set<String> more) throws IOException {
    Set<String> all = new TreeSet<>(seen);
    all.addAll(more);
    List<String> lines = new ArrayList<>(List.of(FORMAT + witnessNow));
    lines.addAll(all);
    ByteBuffer bytes = ByteBuffer.wrap(textOf(lines).getBytes(UTF_8));
    Path next = file.resolveSibling(FILE + ".next");
    Files.deleteIfExists(next);
    try (FileChannel channel =
        FileChannel.open(
            next, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNER_ONLY)) {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
    replace(file, next);
    sync(file.toAbsolutePath().getParent());
    seen = all;
  }
}
