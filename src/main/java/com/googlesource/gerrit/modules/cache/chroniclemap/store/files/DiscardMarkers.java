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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * The markers of one store for discard. While one exists, the store's files must not be used,
 * because something that had to be removed may still be in them. There are two, which are empty
 * files beside the others:
 *
 * <pre>
 *   NAME-vVERSION.discard        something was removed, and the files miss that
 *   NAME-vVERSION.discard.early  the same, unless the store that makes it brings its changes into
 *                                the files; it makes them before it has opened the files
 * </pre>
 *
 * <p>On a disk that takes no new file, the store is noted in a file that is there already: the last
 * resort.
 *
 * <p>Safe for any thread.
 */
public final class DiscardMarkers {
  private static final Pattern STORE = Pattern.compile("[-_.%0-9A-Za-z]+-v-?\\d{1,10}");

  private final Disk disk;
  private final String store;
  private final LastResort lastResort;
  private final Path marker;
  private final Path early;

  /** Markers that this store has forced to disk. */
  private final Set<Path> onDisk = ConcurrentHashMap.newKeySet();

  /** Whether {@link #markEarly} had to use the last resort. */
  private volatile boolean noted;

  /** Where to note a store that cannot be marked for discard. */
  public interface LastResort {
    /** Makes the next start discard the files of a store. */
    void discard(String store) throws IOException;

    /** Takes {@link #discard} back. */
    void keep(String store) throws IOException;

    /** Whether the next start will discard the files of a store. */
    boolean isDiscarded(String store);
  }

  /**
   * The markers of a store.
   *
   * @param store the store, as {@link StoreFiles#storeOf(String, int)} names it
   */
  DiscardMarkers(Disk disk, Path directory, String store, LastResort lastResort) {
    this.disk = disk;
    this.store = store;
    this.lastResort = lastResort;
    this.marker = marker(directory, store);
    this.early = directory.resolve(store + FolderDisk.MARKER + ".early");
  }

  private static Path marker(Path directory, String store) {
    return directory.resolve(store + FolderDisk.MARKER);
  }

  /** The marker of a store that makes changes before it has opened the files. */
  public Path early() {
    return early;
  }

  /** Whether a file is one of the two. */
  boolean include(Path file) {
    return file.equals(marker) || file.equals(early);
  }

  /** Whether the files must not be used, not even by a store that has opened them. */
  public boolean isMarked() throws IOException {
    return disk.exists(marker) || (!noted && lastResort.isDiscarded(store));
  }

  /**
   * The evidence that the markers give before the files are opened.
   *
   * @throws IOException if that is not known
   */
  public Optional<LostContentException> evidence() throws IOException {
    return isMarked() || noted || disk.exists(early)
        ? Optional.of(missedChange())
        : Optional.empty();
  }

  /** The evidence that the files miss a change. */
  public static LostContentException missedChange() {
    return new LostContentException(
        "it may hold values that were invalidated when it was not open, or just before a crash or a"
            + " stop of the machine");
  }

  /** Ensures that the next start does not use what the files hold now. */
  public void mark() throws IOException {
    mark(marker);
  }

  /** Like {@link #mark}, until {@link #unmarkEarly}. */
  void markEarly() throws IOException {
    boolean before = lastResort.isDiscarded(store);
    mark(early);
    noted |= !before && lastResort.isDiscarded(store);
  }

  private void mark(Path file) throws IOException {
    try {
      mark(disk, file, onDisk.contains(file));
      onDisk.add(file);
    } catch (IOException e) {
      try {
        lastResort.discard(store);
      } catch (IOException last) {
        e.addSuppressed(last);
        throw e;
      }
    }
  }

  private static void mark(Disk disk, Path file, boolean onDisk) throws IOException {
    try {
      disk.create(file);
    } catch (FileAlreadyExistsException e) {
      if (onDisk) {
        return;
      }
      // Its creator may not have forced it to disk.
    }
    disk.sync(file.toAbsolutePath().getParent());
  }

  /** Marks stores of a folder. */
  public static void mark(Disk disk, Path directory, Iterable<String> stores) throws IOException {
    for (String store : stores) {
      // Any other line was only half written.
      if (STORE.matcher(store).matches()) {
        mark(disk, marker(directory, store), /* onDisk= */ false);
      }
    }
  }

  /** Takes all marks back: the files may be used again. */
  public void unmark() throws IOException {
    unmark(marker);
    unmarkEarly();
    lastResort.keep(store);
  }

  /** Takes {@link #markEarly} back. */
  public void unmarkEarly() throws IOException {
    unmark(early);
    if (noted) {
      noted = false;
      lastResort.keep(store);
    }
  }

  private void unmark(Path file) throws IOException {
    onDisk.remove(file);
    if (disk.exists(file)) {
      disk.delete(file);
    }
  }
}
