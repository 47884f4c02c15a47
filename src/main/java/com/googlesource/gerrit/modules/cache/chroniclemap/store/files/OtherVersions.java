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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files of a cache's other versions, put aside for a day: who upgrades a server and goes back,
 * or the other way round, finds them as they were left.
 *
 * <p>For caches whose values depend on their keys alone. Nobody tells a file that is put aside what
 * is removed meanwhile, so of any other cache it would bring back what was removed.
 *
 * <p>Their names end in ".parked-" and when they were put aside, milliseconds since the epoch. What
 * this does grows with the files in the folder. Not safe for many threads.
 */
public final class OtherVersions {
  /** So long they are kept. */
  public static final long KEPT_MILLIS = TimeUnit.DAYS.toMillis(1);

  /** A time from which all were put aside too long ago. */
  public static final long NEVER = Long.MAX_VALUE;

  private static final String SUFFIX = ".parked-";

  private static final Pattern PARKED =
      Pattern.compile(
          "(.+-v-?\\d{1,10}(?:-g[-0-9a-f]+\\.chm(?:\\.state)?|\\.use))\\.parked-(\\d{1,15})");

  private final Disk disk;
  private final Path directory;
  private final String prefix;
  private final int version;

  /** Names of the cache's files that are worth to be kept, in their places. */
  private final Pattern inPlace;

  /**
   * Those of one cache.
   *
   * @param prefix of the names of the cache's files, up to its version
   * @param version that is not another one
   */
  OtherVersions(Disk disk, Path directory, String prefix, int version) {
    this.disk = disk;
    this.directory = directory;
    this.prefix = prefix;
    this.version = version;
    this.inPlace =
        Pattern.compile(
            Pattern.quote(prefix) + "-v(-?\\d{1,10})(?:-g[-0-9a-f]+\\.chm(?:\\.state)?|\\.use)");
  }

  /** A file that was put aside: where it stood, and when that was. */
  private record Parked(Path path, Path place, long since) {
    String name() {
      return place.getFileName().toString();
    }
  }

  private static Optional<Parked> parked(Path path) {
    Matcher name = PARKED.matcher(path.getFileName().toString());
    return name.matches()
        ? Optional.of(
            new Parked(path, path.resolveSibling(name.group(1)), Long.parseLong(name.group(2))))
        : Optional.empty();
  }

  static boolean isParked(Path path) {
    return parked(path).isPresent();
  }

  /**
   * Puts the other versions' files aside; but for those that are marked, since they may hold what
   * was removed.
   *
   * @param now milliseconds since the epoch
   * @return the files, where they stood
   */
  public List<Path> park(long now) throws IOException {
    List<Path> moved = new ArrayList<>();
    // A file first, and then what is known of it: who is killed in between finds the latter again.
    for (Path path : disk.list(directory).stream().sorted().toList()) {
      Matcher name = inPlace.matcher(path.getFileName().toString());
      if (!name.matches() || name.group(1).equals(Integer.toString(version))) {
        continue;
      }
      Path discard = FilesOnDisk.discardMarker(directory, prefix + "-v" + name.group(1));
      if (disk.exists(discard) || disk.exists(FilesOnDisk.early(discard))) {
        delete(parkedOf(name.group(1)));
      } else {
        disk.move(path, path.resolveSibling(path.getFileName() + SUFFIX + now));
        moved.add(path);
      }
    }
    return moved;
  }

  /**
   * Puts this version's files back in their places: the generation that was put aside last. All
   * others go.
   *
   * @param now milliseconds since the epoch; those that were put aside too long ago are deleted
   */
  public void unpark(long now) throws IOException {
    deleteOld(disk, directory, now);
    List<Parked> all = parkedOf(Integer.toString(version));
    String last =
        all.stream()
            .filter(parked -> parked.name().endsWith(".chm"))
            .max(Comparator.comparingLong(Parked::since))
            .map(Parked::name)
            .orElse("");
    // What is known of a file before the file: without that it would mean nothing.
    List<Parked> newestFirst =
        all.stream()
            .sorted(Comparator.comparing(Parked::name).thenComparing(Parked::since).reversed())
            .toList();
    for (Parked parked : newestFirst) {
      boolean wanted =
          parked.name().equals(last)
              || parked.name().equals(last + ".state")
              || parked.name().endsWith(".use");
      // Who was killed while putting it back has left the rest of it.
      if (wanted && !disk.exists(parked.place)) {
        disk.move(parked.path, parked.place);
      } else {
        disk.delete(parked.path);
      }
    }
  }

  /** Deletes what was put aside of this version. */
  public void deleteThisVersion() throws IOException {
    delete(parkedOf(Integer.toString(version)));
  }

  /** Deletes what was put aside of all versions, so that no crash of the machine undoes that. */
  public void deleteAll() throws IOException {
    delete(parkedOf("-?\\d{1,10}"));
  }

  private void delete(List<Parked> doomed) throws IOException {
    for (Parked parked : doomed) {
      disk.delete(parked.path);
    }
    if (!doomed.isEmpty()) {
      disk.sync(directory);
    }
  }

  private List<Parked> parkedOf(String versions) throws IOException {
    Pattern ours = Pattern.compile(Pattern.quote(prefix) + "-v" + versions + "[-.][^v].*");
    return disk.list(directory).stream()
        .map(OtherVersions::parked)
        .flatMap(Optional::stream)
        .filter(parked -> ours.matcher(parked.name()).matches())
        .toList();
  }

  /**
   * Deletes what was put aside more than a day ago, of whatever cache in a folder.
   *
   * @param now milliseconds since the epoch
   * @return whether there was any
   */
  public static boolean deleteOld(Disk disk, Path directory, long now) throws IOException {
    boolean any = false;
    for (Path path : disk.list(directory)) {
      Optional<Parked> parked = parked(path);
      if (parked.isPresent() && Math.abs(now - parked.get().since) >= KEPT_MILLIS) {
        disk.delete(path);
        any = true;
      }
    }
    return any;
  }
}
