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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.files;

import static com.google.common.base.Strings.lenientFormat;
import static java.util.Objects.requireNonNull;

import com.google.common.hash.Hashing;
import com.google.common.net.PercentEscaper;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk.Step;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.Usage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The files of a store on disk, by their names:
 *
 * <pre>
 *   NAME-vVERSION-gNUMBER-BYTES-SLOT-FINGERPRINT.chm       the values: {@link StoreFile}
 *   NAME-vVERSION-gNUMBER-BYTES-SLOT-FINGERPRINT.chm.state its state: {@link FileState}
 *   NAME-vVERSION.use                                      how often keys were asked for: {@link Usage}
 *   NAME-vVERSION.discard                                  see {@link DiscardMarkers}
 * </pre>
 *
 * <p>A file with a larger number takes the place of another, once it is complete. No two files that
 * a process makes have the same name: a thread may still fill one when its folder was given back.
 *
 * <p>BYTES and SLOT (bytes per slot) fix the geometry. FINGERPRINT is 8 hexadecimal digits over all
 * that decides how the bytes of the file are read. Chronicle-Map prefers the settings within a file
 * to those it is opened with, so a file of other settings must never be opened at all.
 *
 * <p>The files of other versions of a cache are deleted when a file of this version is opened, as
 * removals are not repeated in them.
 */
public final class StoreFiles {
  /**
   * Increases when the layout of keys, envelopes or parts changes, or when versions before must not
   * open a file: since 4, a segment may lack disk, also for slots.
   */
  private static final int FORMAT = 4;

  /** That of version 1.0.0, whose files are used as they are. */
  private static final int FORMAT_BEFORE = 2;

  private static final Pattern AFTER_VERSION =
      Pattern.compile("-g(\\d{1,9})-(\\d{1,15})-(\\d{1,6})-([0-9a-f]{8})\\.chm");

  /**
   * A file of any store; group 2 is the cache, group 1 the cache and version. Earlier versions
   * named files in the digits of the server's locale. Those are listed, hence deleted with what is
   * not needed any more, but never opened: the values may have been invalidated since.
   */
  private static final Pattern ANY =
      Pattern.compile(
          "(([-_.%0-9A-Za-z]+)-v-?\\d{1,10})(-g[-0-9a-f\\P{ASCII}]+)?\\.(chm|use|import|discard).*");

  /** Leaves only what {@link #ANY} has. */
  private static final PercentEscaper ESCAPER =
      new PercentEscaper("-_.", /* plusForSpace= */ false);

  /** Sorts last what tells of files that they must not be used: see {@link #rank}. */
  private static final Comparator<Path> BY_RANK = Comparator.comparingInt(StoreFiles::rank);

  /** The number of the last file that was made. */
  private static final AtomicInteger MADE = new AtomicInteger();

  public final Disk disk;
  private final Path directory;
  private final String prefix;
  private final String versioned;
  private final int version;

  /** Whether the files may be used. */
  public final DiscardMarkers markers;

  /**
   * Whether a file of this version was open. Until then, files of other versions may become those
   * of an older release that runs again; afterwards they are gone, or of a plugin that is loaded
   * anew.
   */
  public volatile boolean wasOpen;

  private volatile boolean areOthersMarked;

  /**
   * The files of one cache.
   *
   * @param cache its name
   * @param version of its keys and values
   */
  public StoreFiles(
      Disk disk, Path directory, DiscardMarkers.Notes notes, String cache, int version) {
    this.disk = disk;
    this.directory = directory;
    this.prefix = escape(cache);
    this.version = version;
    this.versioned = storeOf(cache, version);
    this.markers = new DiscardMarkers(disk, directory, versioned, notes);
  }

  /**
   * The name of a store's file, and what the name says.
   *
   * @param path of its file
   * @param number larger in a file that takes the place of another
   * @param bytes the most its file may take
   * @param bytesPerSlot see {@link Geometry#forFileOf}
   */
  public record FileName(Path path, int number, long bytes, int bytesPerSlot) {
    public Geometry geometry() {
      return Geometry.forFileOf(bytes, bytesPerSlot);
    }

    /** The path of the state file. */
    public Path statePath() {
      return FileState.pathOf(path);
    }
  }

  /**
   * The name of a new file.
   *
   * @param before the number of the file whose place it takes
   */
  public FileName newName(int before, long bytes) {
    int number = MADE.updateAndGet(last -> Math.max(last, before) + 1);
    return name(number, bytes, Geometry.DEFAULT_BYTES_PER_SLOT, FORMAT);
  }

  private FileName name(int number, long bytes, int bytesPerSlot, int format) {
    String name =
        lenientFormat("%s-g%s-%s-%s-", versioned, number, bytes, bytesPerSlot)
            + HexFormat.of().toHexDigits(fingerprint(bytes, bytesPerSlot, format))
            + ".chm";
    return new FileName(directory.resolve(name), number, bytes, bytesPerSlot);
  }

  private int fingerprint(long bytes, int bytesPerSlot, int format) {
    String all =
        lenientFormat(
            "format=%s version=%s %s", format, version, Geometry.forFileOf(bytes, bytesPerSlot));
    return Hashing.crc32c().hashString(all, StandardCharsets.UTF_8).asInt();
  }

  /** The name of a store, with which the names of its files begin. */
  public static String storeOf(String cache, int version) {
    return escape(cache) + "-v" + version;
  }

  /** Escapes the name of a cache, which a plugin may choose: it must not lead out of the folder. */
  public static String escape(String name) {
    String escaped = ESCAPER.escape(name);
    return escaped.startsWith(".") ? "%2E" + escaped.substring(1) : escaped;
  }

  /** The file that says how often the store's keys were asked for. */
  public Path usage() {
    return directory.resolve(versioned + ".use");
  }

  /**
   * Marks the files for a change that they miss: those of another version, which are still there if
   * this one was never open, miss it too.
   */
  public void markMissed() throws IOException {
    markers.mark();
    markOthers();
  }

  private void markOthers() throws IOException {
    if (!isNotedByOthers()) {
      DiscardMarkers.mark(
          disk,
          directory,
          list().stream()
              .map(file -> names(file).orElseThrow().group(1))
              .filter(store -> !store.equals(versioned))
              .collect(Collectors.toSet()));
      areOthersMarked = true;
    }
  }

  /** Whether no file of another version misses a change that was noted. */
  public boolean isNotedByOthers() {
    return wasOpen || areOthersMarked;
  }

  /** Like {@link #markMissed}, for this version until {@link DiscardMarkers#unmarkEarly}. */
  public void markEarly() throws IOException {
    markers.markEarly();
    markOthers();
  }

  /**
   * Forgets or else marks the files, so that nobody uses what they hold.
   *
   * @param all whether also those of other versions, which are not marked
   * @param endSeed see {@link #forget}
   * @throws IOException if some of the files may still be there, and are not marked
   */
  public void discard(boolean all, LostContentException evidence, Step endSeed) throws IOException {
    try {
      forget(all, evidence, endSeed);
    } catch (IOException e) {
      try {
        markers.mark();
      } catch (IOException unmarked) {
        e.addSuppressed(unmarked);
        throw e;
      }
      if (all) {
        throw e;
      }
    }
  }

  /** The newest file of this version, if there is one that was ever complete. */
  public Optional<FileName> newest() throws IOException {
    List<FileName> newestFirst =
        list().stream()
            .map(this::parse)
            .flatMap(Optional::stream)
            .sorted(Comparator.comparingInt(FileName::number).reversed())
            .toList();
    for (FileName name : newestFirst) {
      if (!FileState.isUnfinished(disk, name.path())) {
        return Optional.of(name);
      }
    }
    return Optional.empty();
  }

  /** When a file was last changed, in milliseconds since the epoch. */
  public long changed(FileName name) throws IOException {
    return Math.max(changed(name.path()), changed(name.statePath()));
  }

  private static long changed(Path file) throws IOException {
    try {
      return Files.getLastModifiedTime(file).toMillis();
    } catch (NoSuchFileException e) {
      return 0;
    }
  }

  private Optional<FileName> parse(Path file) {
    String name = file.getFileName().toString();
    if (!name.startsWith(versioned)) {
      return Optional.empty();
    }
    Matcher matcher = AFTER_VERSION.matcher(name.substring(versioned.length()));
    if (!matcher.matches()) {
      return Optional.empty();
    }
    long bytes = Long.parseLong(matcher.group(2));
    int bytesPerSlot = Integer.parseInt(matcher.group(3));
    if (bytes < Geometry.MIN_FILE_BYTES || bytesPerSlot < 1) {
      return Optional.empty();
    }
    // Rebuilt from its numbers, the name differs if the fingerprint does.
    int number = Integer.parseInt(matcher.group(1));
    return IntStream.of(FORMAT, FORMAT_BEFORE)
        .mapToObj(format -> name(number, bytes, bytesPerSlot, format))
        .filter(known -> known.path().equals(file))
        .findAny();
  }

  /** Splits the name of a store's file; empty if it is another file. */
  private static Optional<Matcher> names(Path file) {
    Matcher matcher = ANY.matcher(file.getFileName().toString());
    return matcher.matches() ? Optional.of(matcher) : Optional.empty();
  }

  /** All files of some caches, of any version, with markers and what a crash left. */
  private static List<Path> list(Disk disk, Path directory, Predicate<String> cache)
      throws IOException {
    return disk.list(directory).stream()
        .filter(file -> names(file).filter(names -> cache.test(names.group(2))).isPresent())
        .sorted(BY_RANK)
        .toList();
  }

  private List<Path> list() throws IOException {
    return list(disk, directory, prefix::equals);
  }

  /**
   * Deletes all files of the cache except one with its state, the usage and the markers; returns
   * those with values.
   */
  public List<Path> deleteAllBut(FileName kept) throws IOException {
    Set<Path> staying = Set.of(kept.path(), kept.statePath(), usage());
    List<Path> others = list().stream().filter(file -> !staying.contains(file)).toList();
    deleteEach(others);
    return others.stream().filter(file -> file.toString().endsWith(".chm")).toList();
  }

  /**
   * Returns 0 for a file that tells of no other; 1 for a state, as only that says of a file that it
   * never counted; 2 for a marker, which counts while any values are there.
   */
  private static int rank(Path file) {
    String name = file.getFileName().toString();
    return name.contains(Disk.MARKER) ? 2 : name.endsWith(".state") ? 1 : 0;
  }

  /** Deletes a file, and then what would tell that it was never complete. */
  public void delete(FileName name) throws IOException {
    disk.delete(name.path());
    disk.delete(name.statePath());
  }

  /**
   * Deletes the files of all caches in a folder except some, so that no crash of the machine brings
   * them back.
   */
  public static void deleteAllBut(Disk disk, Path directory, Set<String> kept) throws IOException {
    Set<String> names = kept.stream().map(StoreFiles::escape).collect(Collectors.toSet());
    for (Path file : list(disk, directory, cache -> !names.contains(cache))) {
      disk.delete(file);
    }
    disk.sync(directory);
  }

  /**
   * Deletes the files, ends the seed, and takes all marks back. The order is such that a kill or a
   * crash of the machine leaves evidence against what is still there: a seed says that the files
   * are older, and a marker that neither of them may be used.
   *
   * @param all see {@link #delete}
   * @param endSeed moves the seed aside, if there is one
   */
  public void forget(boolean all, LostContentException evidence, Step endSeed) throws IOException {
    delete(all, evidence);
    endSeed.run();
    markers.unmark();
  }

  /**
   * Deletes the files, but no marker of this version, so that no crash of the machine brings them
   * back.
   *
   * @param all whether also those of other versions, which may be in use
   */
  public void delete(boolean all, LostContentException evidence) throws IOException {
    requireNonNull(evidence);
    List<Path> doomed =
        list().stream()
            .filter(file -> all || file.getFileName().toString().startsWith(versioned + "-g"))
            .toList();
    deleteEach(doomed);
    if (!doomed.isEmpty() || markers.evidence().isPresent()) {
      disk.sync(directory);
    }
  }

  /**
   * Deletes all but the markers of this version; what has a {@link #rank} goes last, and stays if
   * anything else does. Of the files of this version, the one that counts goes after those before
   * it, and stays if one of them does, which the next start would take for it.
   */
  private void deleteEach(List<Path> doomed) throws IOException {
    IOException failed = null;
    boolean isOlderLeft = false;
    Comparator<Path> newestLast =
        BY_RANK.thenComparing(file -> parse(file).map(FileName::number).orElse(0));
    for (Path file : doomed.stream().sorted(newestLast).toList()) {
      boolean isOfValues = parse(file).isPresent();
      if (markers.include(file)
          || (isOfValues && isOlderLeft)
          || (failed != null && rank(file) > 0)) {
        continue;
      }
      try {
        disk.delete(file);
      } catch (IOException e) {
        isOlderLeft |= isOfValues;
        if (failed != null) {
          e.addSuppressed(failed);
        }
        failed = e;
      }
    }
    if (failed != null) {
      throw failed;
    }
  }
}
