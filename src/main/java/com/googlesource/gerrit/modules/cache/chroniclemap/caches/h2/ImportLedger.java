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

import com.google.common.hash.Funnels;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import com.google.common.io.ByteSource;
import com.google.common.io.MoreFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.WholeFile;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * A persistent ledger: which H2 files existed when this module was first in use, and whether a
 * Gerrit with H2 has run since.
 *
 * <p>H2's file of the web sessions, which only a daemon opens, tells whether H2 has run. Its size
 * and its bytes are compared; of a very large file, only the first and the last bytes. File times
 * are not compared, since a copy of a site has other times. Only the files of other modules are
 * judged by their times.
 *
 * <p>The ledger is a file beside those of H2, so that nobody brings H2's old values back by
 * deleting the folder of the stores. It consists of lines of text: the format and the fingerprint
 * of H2's file of the web sessions ("none" without one), the names of caches, and a SHA-256 of all
 * other lines.
 *
 * <p>Safe for any thread.
 */
final class ImportLedger {
  static final String FILE = "cache-chroniclemap.imported";
  private static final String WITNESS_CACHE = "web_sessions";
  private static final String NONE = "none";

  /** The file names, made of cache and version, of the other known Chronicle-Map module. */
  private static final Pattern OTHERS = Pattern.compile(".+_-?\\d+\\.dat");

  /** The fingerprint by which earlier versions noted that the file could not be read. */
  private static final String UNKNOWN = "unknown";

  /** The version of the format. It must change when fingerprints are made in another way. */
  private static final String FORMAT = "2 ";

  /** The bytes at each end of a file that its fingerprint covers. */
  private static final int COVERED = 32 << 20;

  /** The result of comparing the ledger with the files. */
  enum Verdict {
    /** This is the first start with this module. */
    FIRST,
    /** The stores are as new as H2's files. */
    CURRENT,
    /** A Gerrit with H2 has run since. */
    H2_RAN,
    /** It is not known whether the stores or H2's files are newer. */
    DOUBT
  }

  private final Path file;
  private final Path witnessFile;
  final Verdict verdict;

  /** The reason of the doubt, for people; empty if there is none. */
  final String doubt;

  /** The current fingerprint of H2's file of the web sessions. */
  private final String witnessNow;

  /** The fingerprint in the ledger. */
  private final String witnessBefore;

  /** Caches in the ledger whose files H2 has not written since. */
  private final Set<String> untouched = new TreeSet<>();

  /** The caches that earlier processes have recorded. Guarded by this. */
  private Set<String> seenBefore;

  /** The caches in the ledger. Guarded by this. */
  private Set<String> seen;

  /**
   * Reads the ledger.
   *
   * @param folder of H2's files
   * @param hasStores whether there are files of stores
   * @throws IOException if it cannot be read now, or what it is compared with
   */
  ImportLedger(Path folder, boolean hasStores) throws IOException {
    this.file = folder.resolve(FILE);
    this.witnessFile = H2File.pathOf(folder, WITNESS_CACHE);
    this.witnessNow = fingerprint(witnessFile);
    List<String> lines = List.of(NONE, "");
    String why = "";
    boolean first = false;
    try {
      String text = new String(Files.readAllBytes(file), UTF_8);
      lines = text.lines().toList();
      if (text.isEmpty()) {
        why =
            file
                + " is empty: caches were in memory only, or the files in use could not be"
                + " recorded";
      } else if (lines.size() < 2
          || !lines.get(0).startsWith(FORMAT)
          || !text.equals(textOf(lines.subList(0, lines.size() - 1)))) {
        why = file + " is damaged, or of another version";
      }
    } catch (NoSuchFileException e) {
      first = !hasStores;
      why = first ? "" : "there is no " + file;
    }
    if (why.isEmpty()) {
      why = whoElseRan(folder, first ? witnessFile : file);
    }
    boolean known = why.isEmpty() && !first;
    this.witnessBefore = known ? lines.get(0).substring(FORMAT.length()) : NONE;
    this.seen = new TreeSet<>(known ? lines.subList(1, lines.size() - 1) : List.of());
    this.seenBefore = seen;
    if (known && witnessBefore.equals(UNKNOWN)) {
      why = witnessFile + " could not be read before";
    } else if (known && witnessBefore.equals(NONE) && !witnessNow.equals(NONE)) {
      why = witnessFile + " did not exist before";
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
      // Such a cache may be that of a plugin that was not installed meanwhile.
      for (String cache : seen) {
        if (time(H2File.pathOf(folder, cache)) <= time(file)) {
          untouched.add(cache);
        }
      }
    }
  }

  /** When a file was written, in nanoseconds since the epoch; 0 if there is none. */
  private static long time(Path file) throws IOException {
    try {
      return Files.getLastModifiedTime(file).to(TimeUnit.NANOSECONDS);
    } catch (NoSuchFileException e) {
      return 0;
    }
  }

  /**
   * Finds a file that another module for Chronicle-Map caches has written since. Users who signed
   * out with that module may still be signed in with H2 and with this module. Empty if there is no
   * such file.
   */
  private static String whoElseRan(Path folder, Path since) throws IOException {
    try {
      for (Path one : MoreFiles.listFiles(folder)) {
        if (OTHERS.matcher(one.getFileName().toString()).matches() && time(one) > time(since)) {
          return "another module has written " + one;
        }
      }
    } catch (NoSuchFileException e) {
      // A new site.
    }
    return "";
  }

  private static String textOf(List<String> lines) {
    String text = String.join("\n", lines) + "\n";
    return text + Hashing.sha256().hashString(text, UTF_8) + "\n";
  }

  private static String fingerprint(Path h2) throws IOException {
    try {
      ByteSource bytes = MoreFiles.asByteSource(h2);
      long size = bytes.size();
      Hasher hasher = Hashing.sha256().newHasher().putLong(size);
      OutputStream hashing = Funnels.asOutputStream(hasher);
      bytes.slice(0, COVERED).copyTo(hashing);
      bytes.slice(Math.max(COVERED, size - COVERED), COVERED).copyTo(hashing);
      return hasher.hash().toString();
    } catch (NoSuchFileException e) {
      return NONE;
    }
  }

  /**
   * Empties the ledger, so that the next start is in doubt. Must be called before stale stores are
   * deleted, in case that fails, and if the files in use cannot be recorded. If there is a ledger,
   * this needs no disk space.
   *
   * @param folder of H2's files
   */
  static void forget(Path folder) throws IOException {
    Path file = folder.resolve(FILE);
    try {
      WholeFile.empty(file);
    } catch (IOException e) {
      // The file may belong to another user, but the folder to this one.
      try {
        WholeFile.replace(file, "");
      } catch (IOException later) {
        e.addSuppressed(later);
        throw e;
      }
    }
  }

  /**
   * Records that the stores are not older than H2's files.
   *
   * @param names of caches whose import must not begin
   * @throws IOException if the ledger cannot be written
   */
  synchronized void begin(Set<String> names) throws IOException {
    if (verdict != Verdict.CURRENT) {
      seen = new TreeSet<>(untouched);
    }
    seenBefore = new TreeSet<>(seen);
    seenBefore.addAll(names);
    if (verdict == Verdict.CURRENT && witnessNow.equals(witnessBefore) && seen.containsAll(names)) {
      return;
    }
    if (!witnessNow.equals(NONE)) {
      // After a loss of power the file could be another one, as if H2 had run, unless it is synced.
      try (FileChannel channel = FileChannel.open(witnessFile)) {
        channel.force(true);
      }
    }
    save(names);
  }

  /** Whether an earlier process has recorded that the import of a cache must not begin. */
  synchronized boolean wasSeen(String cache) {
    return seenBefore.contains(cache);
  }

  /** Records that the imports of caches must not begin again. */
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
    WholeFile.replace(file, textOf(lines));
    seen = all;
  }
}
