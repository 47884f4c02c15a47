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

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/**
 * What is known between two starts of the files of H2: which caches were taken over, and whether a
 * Gerrit with H2 has run since.
 *
 * <p>The latter is told by H2's file of the web sessions, which only a daemon opens: its size and
 * its first and last blocks, since H2 writes its header anew whenever it has written. Times of
 * files would not do, as a copy of a site has others.
 *
 * <p>It stands in a file of its own beside those of H2: whoever deletes the folder of the stores
 * must not get back what H2 held long ago. Properties: {@code witness}, and {@code cache.NAME} for
 * each cache that is not taken over from its beginning any more.
 *
 * <p>Safe for any thread.
 */
final class ImportLedger {
  static final String FILE = "cache-chroniclemap.imported";
  private static final String WITNESS_CACHE = "web_sessions";
  private static final String WITNESS = "witness";
  private static final String PREFIX = "cache.";

  /** H2 has two headers of this size at the beginning of a file. */
  private static final int BLOCK = 4096;

  private final Path file;
  private final String witnessNow;
  private final boolean known;

  /** What H2's file of the web sessions was like; empty if there was none. */
  private String witness;

  /** Guarded by this. */
  private final Set<String> seen = new TreeSet<>();

  /**
   * Reads what is known.
   *
   * @param folder of H2's files
   * @throws IOException if there is something and it can't be read
   */
  ImportLedger(Path folder) throws IOException {
    this.file = folder.resolve(FILE);
    this.witnessNow = fingerprint(H2File.pathOf(folder, WITNESS_CACHE));
    Properties properties = new Properties();
    boolean found;
    try (InputStream in = Files.newInputStream(file)) {
      properties.load(in);
      found = true;
    } catch (NoSuchFileException e) {
      found = false;
    } catch (IllegalArgumentException e) {
      throw new IOException(file + " is damaged: " + e.getMessage(), e);
    }
    this.known = found;
    this.witness = properties.getProperty(WITNESS, "");
    for (String name : properties.stringPropertyNames()) {
      if (name.startsWith(PREFIX)) {
        seen.add(name.substring(PREFIX.length()));
      }
    }
  }

  private static String fingerprint(Path h2) throws IOException {
    try (FileChannel channel = FileChannel.open(h2)) {
      long size = channel.size();
      Hasher hasher = Hashing.sha256().newHasher().putLong(size);
      addBlocks(channel, 0, 2 * BLOCK, hasher);
      addBlocks(channel, Math.max(0, size - BLOCK), BLOCK, hasher);
      return hasher.hash().toString();
    } catch (NoSuchFileException e) {
      return "";
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

  /**
   * Whether a Gerrit with H2 has run since this module was here last: what the stores hold may have
   * been invalidated there.
   */
  boolean h2RanSince() {
    return known && !witnessNow.isEmpty() && !witnessNow.equals(witness);
  }

  /**
   * Notes that what is in the stores is not older than H2's files.
   *
   * @throws IOException if that can't be noted
   */
  synchronized void begin() throws IOException {
    if (h2RanSince()) {
      seen.clear();
    }
    if (!known || !witnessNow.equals(witness)) {
      witness = witnessNow;
      save();
    }
  }

  /** Whether a cache was taken over, or not to be, before. */
  synchronized boolean isSeen(String cache) {
    return seen.contains(cache);
  }

  /** Notes that a cache is not taken over from its beginning any more. */
  synchronized void see(String cache) throws IOException {
    if (seen.add(cache)) {
      save();
    }
  }

  private void save() throws IOException {
    Properties properties = new Properties();
    properties.setProperty(WITNESS, witness);
    seen.forEach(cache -> properties.setProperty(PREFIX + cache, "seen"));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    properties.store(out, "Written by cache-chroniclemap: which caches were taken over from H2");
    Path next = file.resolveSibling(FILE + ".next");
    Files.deleteIfExists(next);
    try (FileChannel channel =
        FileChannel.open(
            next,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
      ByteBuffer bytes = ByteBuffer.wrap(out.toByteArray());
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }
}
