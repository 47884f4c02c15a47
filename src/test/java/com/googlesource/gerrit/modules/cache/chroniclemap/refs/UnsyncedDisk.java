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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.eclipse.jgit.annotations.Nullable;

/**
 * A disk that knows of everything below a repository's refs what a loss of power may leave of it.
 *
 * <p>A file has one of the contents that it had since it was last synced, and each name in a folder
 * leads to one of the files that it led to since the folder was last synced, whatever becomes of
 * the other names and files. A new file is empty until it is synced. That is more than file systems
 * do, which keep some order; but which order differs.
 */
final class UnsyncedDisk extends RefDisk {
  private static final String JOURNAL_TITLE = "cache-chroniclemap ref transaction";

  /** Called before each step with what the step is. */
  interface Listener {
    void before(String step) throws IOException;
  }

  /** A file or folder, whatever its names. */
  private static final class Inode {
    final boolean isFolder;

    /** Since the last sync; the first one is on disk. */
    List<byte[]> contents = new ArrayList<>(List.of(new byte[0]));

    Inode(boolean isFolder) {
      this.isFolder = isFolder;
    }
  }

  private final Path repository;
  private final Listener listener;

  /** What each name has led to since the last sync of its folder; null where it was not there. */
  private final Map<Path, List<Inode>> names = new TreeMap<>();

  private Map<Object, Inode> inodes = new HashMap<>();
  private final List<Path> beingSynced = new ArrayList<>();

  /** Syncs of a file with this end fail. */
  String broken = "none";

  /** Takes over a repository, all of which is on disk as it is. */
  UnsyncedDisk(Path repository, Listener listener) throws IOException {
    this.repository = repository;
    this.listener = listener;
    see();
    inodes.values().forEach(UnsyncedDisk::sync);
    names.replaceAll((name, versions) -> last(versions));
  }

  @Override
  protected synchronized void about(String step, Path file) throws IOException {
    boolean syncs = step.equals("sync");
    see();
    // Those of one call are announced one after the other before the first is done.
    if (!syncs) {
      syncAnnounced();
    }
    listener.before(step + " " + file.getFileName());
    if (syncs) {
      if (file.toString().endsWith(broken)) {
        beingSynced.clear();
        throw new IOException("broken");
      }
      beingSynced.add(file);
    }
  }

  /** Called when a change is over. */
  synchronized void changed() throws IOException {
    see();
    syncAnnounced();
  }

  private void syncAnnounced() throws IOException {
    for (Path synced : beingSynced) {
      if (Files.isDirectory(synced)) {
        names.replaceAll(
            (name, versions) -> name.getParent().equals(synced) ? last(versions) : versions);
      } else if (Files.exists(synced)) {
        sync(inodes.get(key(attributes(synced))));
      }
    }
    beingSynced.clear();
  }

  private static void sync(Inode inode) {
    inode.contents = last(inode.contents);
  }

  /** May be changed again, and may have a null. */
  private static <T> List<T> last(List<T> versions) {
    List<T> last = new ArrayList<>();
    last.add(versions.get(versions.size() - 1));
    return last;
  }

  private static Object key(BasicFileAttributes attributes) {
    // A number may be given to a new file.
    return List.of(attributes.fileKey(), attributes.creationTime());
  }

  private static BasicFileAttributes attributes(Path file) throws IOException {
    return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
  }

  /** Notes what has changed. */
  private void see() throws IOException {
    Map<Path, Inode> now = new HashMap<>();
    Map<Object, Inode> found = new HashMap<>();
    List<Path> files = new ArrayList<>();
    try (Stream<Path> top = Files.list(repository)) {
      for (Path each : top.filter(UnsyncedDisk::isWatched).toList()) {
        try (Stream<Path> below = Files.walk(each)) {
          below.forEach(files::add);
        }
      }
    }
    for (Path file : files) {
      try {
        BasicFileAttributes attributes = attributes(file);
        Object key = key(attributes);
        Inode inode = inodes.getOrDefault(key, found.get(key));
        if (inode == null) {
          inode = new Inode(attributes.isDirectory());
        }
        found.put(key, inode);
        if (!inode.isFolder) {
          byte[] content = Files.readAllBytes(file);
          if (!Arrays.equals(content, inode.contents.get(inode.contents.size() - 1))) {
            inode.contents.add(content);
          }
        }
        now.put(file, inode);
      } catch (NoSuchFileException e) {
        // Deleted by another thread meanwhile.
      }
    }
    inodes = found;
    now.keySet().forEach(name -> names.computeIfAbsent(name, UnsyncedDisk::missing));
    names.forEach(
        (name, versions) -> {
          if (versions.get(versions.size() - 1) != now.get(name)) {
            versions.add(now.get(name));
          }
        });
  }

  private static List<Inode> missing(Path name) {
    List<Inode> versions = new ArrayList<>();
    versions.add(null);
    return versions;
  }

  private static boolean isWatched(Path file) {
    String name = file.getFileName().toString();
    return name.startsWith("refs")
        || name.startsWith("packed-refs")
        || name.startsWith("cache-chroniclemap")
        || name.startsWith(".");
  }

  /** How many names and files may be one thing or another. */
  synchronized int undecided() {
    return (int)
        (names.values().stream().filter(versions -> versions.size() > 1).count()
            + inodes.values().stream().filter(inode -> inode.contents.size() > 1).count());
  }

  /** The file of a name, with its number, the same for all links; 0 for a folder. */
  record Left(int file, String content) {}

  /**
   * What the loss of power may leave, after which the system has booted again: each name that is
   * there, relative to the repository.
   *
   * @param choice which of so many versions there is of each name and file in turn; the first is
   *     the oldest
   */
  synchronized Map<Path, Left> leave(ToIntFunction<Integer> choice) {
    Map<Path, Left> left = new TreeMap<>();
    Map<Inode, Left> files = new HashMap<>();
    for (Map.Entry<Path, List<Inode>> entry : names.entrySet()) {
      Inode inode = choose(entry.getValue(), choice);
      Path place = repository.relativize(entry.getKey());
      Path parent = place.getParent();
      if (inode == null || (parent != null && !left.containsKey(parent))) {
        continue;
      }
      Left file = files.get(inode);
      if (file == null) {
        file =
            inode.isFolder
                ? new Left(0, "")
                : new Left(files.size() + 1, ofEarlierBoot(choose(inode.contents, choice)));
        files.put(inode, file);
      }
      // Those of this process are a dead one's after the loss.
      left.put(
          parent != null && parent.endsWith("cache-chroniclemap")
              ? place.resolveSibling("dead-" + place.getFileName())
              : place,
          file);
    }
    return left;
  }

  /** Makes a copy of the repository that has these names. */
  void copy(Map<Path, Left> left, Path copy) throws IOException {
    Files.createDirectories(copy);
    Files.createSymbolicLink(copy.resolve("objects"), repository.resolve("objects"));
    for (String file : List.of("HEAD", "config")) {
      Files.copy(repository.resolve(file), copy.resolve(file));
    }
    Map<Integer, Path> made = new HashMap<>();
    for (Map.Entry<Path, Left> entry : left.entrySet()) {
      Path place = copy.resolve(entry.getKey());
      Left file = entry.getValue();
      if (file.file == 0) {
        Files.createDirectory(place);
      } else if (made.containsKey(file.file)) {
        Files.createLink(place, made.get(file.file));
      } else {
        Files.writeString(place, file.content, ISO_8859_1);
        made.put(file.file, place);
      }
    }
    Files.createDirectories(copy.resolve("refs"));
  }

  @Nullable
  private static <T> T choose(List<T> versions, ToIntFunction<Integer> choice) {
    return versions.get(versions.size() == 1 ? 0 : choice.applyAsInt(versions.size()));
  }

  private static String ofEarlierBoot(byte[] content) {
    String text = new String(content, ISO_8859_1);
    int end = text.lastIndexOf("\nend ") + 1;
    if (!text.startsWith(JOURNAL_TITLE) || end == 0) {
      return text;
    }
    text = text.substring(0, end).replaceFirst("\nboot .*\n", "\nboot earlier\n");
    CRC32C crc = new CRC32C();
    crc.update(text.getBytes(ISO_8859_1));
    return text + "end " + HexFormat.of().toHexDigits((int) crc.getValue()) + "\n";
  }
}
