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
import java.util.Comparator;
import java.util.List;
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

  private static final Pattern PARKED =
      Pattern.compile("(.+-v-?\\d{1,10}-g[-0-9a-f]+\\.chm(?:\\.state)?)\\.parked-(\\d{1,15})");

  private final Disk disk;
  private final Path directory;
  private final String prefix;
  private final int version;

  /** Files that are in their places. */
  private final Pattern file;

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
    this.file =
        Pattern.compile(Pattern.quote(prefix) + "-v(-?\\d{1,10})-g[-0-9a-f]+\\.chm(?:\\.state)?");
  }

  static boolean isParked(Path path) {
    return PARKED.matcher(path.getFileName().toString()).matches();
  }

  /**
   * Puts the other versions' files aside; but for those that are marked, since they may hold what
   * was removed.
   *
   * @param now milliseconds since the epoch
   */
  public void park(long now) throws IOException {
    for (Path path : disk.list(directory)) {
      Matcher name = file.matcher(path.getFileName().toString());
      if (name.matches() && !name.group(1).equals(Integer.toString(version))) {
        Path discard = FilesOnDisk.discardMarker(directory, prefix + "-v" + name.group(1));
        if (!disk.exists(discard) && !disk.exists(FilesOnDisk.early(discard))) {
          disk.move(path, path.resolveSibling(path.getFileName() + ".parked-" + now));
        }
      }
    }
  }

  /**
   * Puts this version's files back in their places, which must be empty.
   *
   * @param now milliseconds since the epoch; those that were put aside too long ago are deleted
   */
  public void unpark(long now) throws IOException {
    deleteOld(disk, directory, now);
    for (Path path : parked("-v" + version + "-g")) {
      Matcher name = PARKED.matcher(path.getFileName().toString());
      if (name.matches()) {
        disk.move(path, path.resolveSibling(name.group(1)));
      }
    }
  }

  /** Deletes what was put aside of this version. */
  public void deleteThisVersion() throws IOException {
    delete(parked("-v" + version + "-g"));
  }

  /** Deletes what was put aside of all versions. */
  public void deleteAll() throws IOException {
    delete(parked("-v"));
  }

  private void delete(List<Path> paths) throws IOException {
    for (Path path : paths) {
      disk.delete(path);
    }
  }

  private List<Path> parked(String afterPrefix) throws IOException {
    Pattern ours = Pattern.compile(Pattern.quote(prefix + afterPrefix) + "-?\\d.*\\.chm.*");
    return disk.list(directory).stream()
        .filter(OtherVersions::isParked)
        .filter(path -> ours.matcher(path.getFileName().toString()).matches())
        // What is known of a file first: without that it would mean nothing.
        .sorted(Comparator.comparing((Path path) -> path.getFileName().toString()).reversed())
        .toList();
  }

  /**
   * Deletes what was put aside more than a day ago, of whatever cache in a folder.
   *
   * @param now milliseconds since the epoch
   */
  public static void deleteOld(Disk disk, Path directory, long now) throws IOException {
    for (Path path : disk.list(directory)) {
      Matcher name = PARKED.matcher(path.getFileName().toString());
      if (name.matches() && Math.abs(now - Long.parseLong(name.group(2))) >= KEPT_MILLIS) {
        disk.delete(path);
      }
    }
  }
}
