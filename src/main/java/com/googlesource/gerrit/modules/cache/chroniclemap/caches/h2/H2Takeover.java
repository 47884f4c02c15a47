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

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.collect.ImmutableSet;
import com.google.common.io.MoreFiles;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.AtomicFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Seed;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.regex.Pattern;

/**
 * The takeover of Gerrit's H2 caches. Each file of H2 fills the first file of the cache's store,
 * and is moved aside before that store is in use. So nothing is imported twice, and an H2 file in
 * its old place says that a Gerrit with H2 has run since: the values of the store are older, and
 * are replaced by those of H2 unless they depend on their keys alone.
 *
 * <p>Safe for any thread.
 */
public final class H2Takeover {
  /** Where files go that were taken over, within H2's folder. */
  static final String ASIDE = "taken-over";

  /** The end of the name there of the last file that came after one of the same name. */
  static final String LATER = ".later";

  /** The caches whose loss users would notice, as they would have to sign in again. */
  private static final ImmutableSet<String> SECRET =
      ImmutableSet.of("web_sessions", "oauth_tokens");

  /** The age from which H2 files are not imported. */
  private static final Duration RECENT = Duration.ofDays(7);

  /**
   * A note beside H2's files. While it is empty, neither the stores nor H2's files are to be
   * trusted. Otherwise it records that the H2 files that are older must not be imported, as that of
   * version 1.0.0 did.
   */
  private static final String NOTE = "cache-chroniclemap.imported";

  /** The file names, made of cache and version, of the other known Chronicle-Map module. */
  private static final Pattern OTHERS = Pattern.compile(".+_-?\\d+\\.dat");

  private final Path folder;
  private final Set<String> neverStale;
  private final boolean isWanted;
  private final BiConsumer<Level, String> log;

  /** Files that are older than the stores but could not be moved aside. Nothing is read of them. */
  private final Set<Path> left = ConcurrentHashMap.newKeySet();

  /**
   * Makes the takeover of a folder of H2's files.
   *
   * @param neverStale names of caches whose values depend on their keys alone
   * @param isWanted whether values are imported; if not, files are moved aside all the same
   * @param log gets messages for people, with their level
   */
  public H2Takeover(
      Path folder, Set<String> neverStale, boolean isWanted, BiConsumer<Level, String> log) {
    this.folder = folder;
    this.neverStale = neverStale;
    this.isWanted = isWanted;
    this.log = log;
  }

  /** Whether an old value of a cache must not be found by anybody. */
  public static boolean isSecret(String cache) {
    return SECRET.contains(cache);
  }

  /**
   * Has the next start trust neither the stores that can be stale nor H2's files of them.
   *
   * @param folder of H2's files
   * @throws IOException if that cannot be noted
   */
  public static void distrust(Path folder) throws IOException {
    Path note = folder.resolve(NOTE);
    try {
      AtomicFile.empty(note);
    } catch (IOException e) {
      // The file may belong to another user, but the folder to this one.
      try {
        AtomicFile.replace(note, new byte[0]);
      } catch (IOException later) {
        e.addSuppressed(later);
        throw e;
      }
    }
  }

  /** What administrators have to do if {@link #distrust} fails. */
  public static String remedyIn(Path folder) {
    return lenientFormat(
        "Before that start, and while no Gerrit runs here, make %s an empty file",
        folder.resolve(NOTE));
  }

  /**
   * Moves aside what was written before the stores or another module was in use, and deletes the
   * stores that are older than that. To be called before any store is opened. If that fails, the
   * next start does it again. What cannot be moved alone is left where it is, and the note says
   * that it is older.
   */
  public void begin(StoreDirectory stores) throws IOException {
    left.clear();
    List<Path> others = files(file -> isNote(file) || OTHERS.matcher(file.toString()).matches());
    Instant noted = Instant.MIN;
    Instant latest = Instant.MIN;
    for (Path file : others) {
      noted = isNote(file) ? time(file) : noted;
      latest = time(file).isAfter(latest) ? time(file) : latest;
    }
    if (latest.isAfter(noted) || noted.equals(Instant.MAX)) {
      log.accept(
          Level.WARNING,
          lenientFormat(
              "Caches that can be stale start empty: they were in use elsewhere, as %s say",
              others));
      stores.deleteAllBut(neverStale);
    }
    for (Path file : files(file -> H2File.cacheOf(file).isPresent())) {
      if (!neverStale.contains(H2File.cacheOf(file).get()) && !time(file).isAfter(latest)) {
        moveAsideOrLeave(file, latest);
      }
    }
    for (Path file : others) {
      // The note that is there, or was just written, tells of those that are left.
      if (left.isEmpty() || !isNote(file)) {
        moveAsideOrLeave(file, latest);
      }
    }
  }

  private void moveAsideOrLeave(Path file, Instant latest) throws IOException {
    try {
      moveAside(file, () -> {});
    } catch (IOException e) {
      Path note = folder.resolve(NOTE);
      AtomicFile.replace(note, new byte[] {'1'});
      if (!latest.equals(Instant.MAX)) {
        // What H2 wrote since is newer than the stores, and is not imported yet.
        Files.setLastModifiedTime(note, FileTime.from(latest));
      }
      left.add(file);
      log.accept(
          Level.WARNING,
          lenientFormat("%s is too old to be used: move it away, as this fails: %s", file, e));
    }
  }

  private static boolean isNote(Path file) {
    return file.endsWith(NOTE);
  }

  /**
   * When a file was written; the end of time for an empty note, or one that is a link to nowhere;
   * its beginning for any other link to nowhere.
   */
  private static Instant time(Path file) throws IOException {
    if (Files.notExists(file)) {
      return isNote(file) ? Instant.MAX : Instant.MIN;
    }
    return isNote(file) && Files.readAllBytes(file).length == 0
        ? Instant.MAX
        : Files.getLastModifiedTime(file).toInstant();
  }

  private List<Path> files(Predicate<Path> isWanted) throws IOException {
    try {
      return MoreFiles.listFiles(folder).stream().filter(isWanted).toList();
    } catch (NoSuchFileException e) {
      // A new site.
      return List.of();
    }
  }

  /** Whether H2 has a file of a cache that is not older than its store, as far as is known. */
  public boolean hasFile(String cache) {
    Path file = H2File.pathOf(folder, cache);
    return !left.contains(file) && !Files.notExists(file);
  }

  /** What the store of a cache begins with; empty if there is no file of H2. */
  public Optional<Seed> seed(PersistentCacheDef<?, ?> def) {
    return hasFile(def.name())
        ? Optional.of(
            new H2Seed(def, H2File.pathOf(folder, def.name()), isWanted && isRecent(def), log))
        : Optional.empty();
  }

  private boolean isRecent(PersistentCacheDef<?, ?> def) {
    try {
      return Files.getLastModifiedTime(H2File.pathOf(folder, def.name()))
          .toInstant()
          .isAfter(Instant.now().minus(RECENT));
    } catch (IOException e) {
      // The import asks again, and names the reason.
      return true;
    }
  }

  static void moveAside(Path file, Seed.Next next) throws IOException {
    Path folder = file.toAbsolutePath().getParent();
    Path aside = Files.createDirectories(folder.resolve(ASIDE));
    Path first = aside.resolve(file.getFileName());
    // The first is that of the switch, to which an administrator may go back.
    Path place = Files.notExists(first) ? first : first.resolveSibling(first.getFileName() + LATER);
    try {
      Files.move(file, place, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (NoSuchFileException e) {
      // Already moved, by the store of a plugin that is being replaced.
    }
    next.run();
    // The new place first, so that the file is in one of them after a crash of the machine.
    AtomicFile.syncFolder(aside);
    AtomicFile.syncFolder(folder);
  }
}
