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
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * What is known between two starts of the files of H2: which there were when this module was first
 * in use, and whether a Gerrit with H2 has run since.
 *
 * <p>The latter is told by H2's file of the web sessions, which only a daemon opens: its size and
 * its first and last blocks, since H2 writes its header anew whenever it has written. Times of
 * files would not do, as a copy of a site has others.
 *
 * <p>It stands in a file of its own beside those of H2: whoever deletes the folder of the stores
 * must not get back what H2 held long ago. Lines of text: the fingerprint of H2's file of the web
 * sessions, or "none"; the names of caches; and a SHA-256 of all that.
 *
 * <p>Safe for any thread.
 */
final class ImportLedger {
  static final String FILE = "cache-chroniclemap.imported";
  private static final String WITNESS_CACHE = "web_sessions";
  private static final String NONE = "none";

  /** H2 has two headers of this size at the beginning of a file. */
  private static final int BLOCK = 4096;

  /** What was found of an earlier start. */
  enum Found {
    /** Nothing: this is the first. */
    NOTHING,
    /** All is known. */
    ALL,
    /** Something that can't be read, or makes no sense. */
    DAMAGE
  }

  private final Path file;
  private final Path witnessFile;
  private final Found found;
  private final String witnessNow;

  /** What H2's file of the web sessions was like. */
  private final String witnessBefore;

  /** What was noted before this process. Guarded by this. */
  private Set<String> seenBefore;

  /** What is noted. Guarded by this. */
  private Set<String> seen;

  /**
   * Reads what is known.
   *
   * @param folder of H2's files
   */
  ImportLedger(Path folder) {
    this.file = folder.resolve(FILE);
    this.witnessFile = H2File.pathOf(folder, WITNESS_CACHE);
    List<String> lines = List.of(NONE);
    Found state = Found.ALL;
    try {
      String text = Files.readString(file);
      lines = text.lines().toList();
      if (lines.size() < 2 || !text.equals(textOf(lines.subList(0, lines.size() - 1)))) {
        state = Found.DAMAGE;
      }
    } catch (NoSuchFileException e) {
      state = Found.NOTHING;
    } catch (IOException e) {
      state = Found.DAMAGE;
    }
    this.found = state;
    boolean known = state == Found.ALL;
    this.witnessBefore = known ? lines.get(0) : NONE;
    this.seen = new TreeSet<>(known ? lines.subList(1, lines.size() - 1) : List.of());
    this.seenBefore = seen;
    this.witnessNow = fingerprint(witnessFile, witnessBefore);
  }

  private static String textOf(List<String> lines) {
    String text = String.join("\n", lines) + "\n";
    return text + Hashing.sha256().hashString(text, UTF_8) + "\n";
  }

  /** What a file is like; if it can't be read, no Gerrit has used it either. */
  private static String fingerprint(Path h2, String ifUnreadable) {
    try (FileChannel channel = FileChannel.open(h2)) {
      long size = channel.size();
      Hasher hasher = Hashing.sha256().newHasher().putLong(size);
      addBlocks(channel, 0, 2 * BLOCK, hasher);
      addBlocks(channel, Math.max(0, size - BLOCK), BLOCK, hasher);
      return hasher.hash().toString();
    } catch (NoSuchFileException e) {
      return NONE;
    } catch (IOException e) {
      return ifUnreadable;
    }
  }

  private static void addBlocks(FileChannel channel, long from, int length, Hasher hasher)
      throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length);
    while (buffer.hasRemaining() && channel.read(buffer, from + buffer.position()) >= 0) {
      // Until all is there, or the file's end.
    }
    hasher.putBytes(buffer.flip());
  }

  Found found() {
    return found;
  }

  /** Whether a Gerrit with H2 has run since this module was in use last. */
  boolean h2RanSince() {
    return found == Found.ALL && !witnessNow.equals(NONE) && !witnessNow.equals(witnessBefore);
  }

  /**
   * Notes that what is in the stores is not older than H2's files.
   *
   * @param names of caches that are not to be taken over from their beginning
   * @throws IOException if that can't be noted
   */
  synchronized void begin(Set<String> names) throws IOException {
    boolean same = found == Found.ALL && witnessNow.equals(witnessBefore);
    if (h2RanSince()) {
      seen = new TreeSet<>();
    }
    seenBefore = new TreeSet<>(seen);
    seenBefore.addAll(names);
    if (same && seen.containsAll(names)) {
      return;
    }
    if (!witnessNow.equals(NONE)) {
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
    List<String> lines = new ArrayList<>(List.of(witnessNow));
    lines.addAll(all);
    ByteBuffer bytes = ByteBuffer.wrap(textOf(lines).getBytes(UTF_8));
    Path next = file.resolveSibling(FILE + ".next");
    Files.deleteIfExists(next);
    try (FileChannel channel =
        FileChannel.open(
            next,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    try (FileChannel folder = FileChannel.open(file.toAbsolutePath().getParent())) {
      folder.force(true);
    }
    seen = all;
  }
}
