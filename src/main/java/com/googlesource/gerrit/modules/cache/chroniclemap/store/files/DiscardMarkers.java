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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.LostContentException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The marks of one store for discard. While there is one, the store's files must not be used,
 * because something that had to be removed may still be in them. There are two:
 *
 * <ul>
 *   <li>The marker, an empty file {@code NAME-vVERSION.discard} beside the others: something was
 *       removed, and the files miss that.
 *   <li>A note in a file that is there already, and has its disk: see {@link Notes}. It is taken
 *       back by a store that brings its changes into the files, but makes them before it has opened
 *       these. It is also the last resort on a disk that takes no new file.
 * </ul>
 *
 * <p>Safe for any thread.
 */
public final class DiscardMarkers {
  private static final Pattern STORE = Pattern.compile("[-_.%0-9A-Za-z]+-v-?\\d{1,10}");

  private final Disk disk;
  private final String store;
  private final Notes notes;
  private final Path marker;

  /** That of version 1.0.0 in place of a note that is taken back. */
  private final Path early;

  /** Whether this store has forced the marker to disk. */
  private volatile boolean onDisk;

  /** Notes of stores whose files the next start marks, each made by somebody. */
  public interface Notes {
    /** Makes a note. */
    void add(Object by, String store) throws IOException;

    /**
     * Takes the notes of a store back that somebody has made; all of them if {@code by} is null.
     */
    void remove(Object by, String store) throws IOException;

    /** Whether there is a note of a store, but for those that somebody has made. */
    boolean isNoted(String store, Object except);
  }

  /**
   * The marks of a store.
   *
   * @param store the store, as {@link StoreFiles#storeOf(String, int)} names it
   */
  DiscardMarkers(Disk disk, Path directory, String store, Notes notes) {
    this.disk = disk;
    this.store = store;
    this.notes = notes;
    this.marker = marker(directory, store);
    this.early = directory.resolve(store + Disk.MARKER + ".early");
  }

  private static Path marker(Path directory, String store) {
    return directory.resolve(store + Disk.MARKER);
  }

  /** Whether a file is a marker of this store. */
  boolean include(Path file) {
    return file.equals(marker) || file.equals(early);
  }

  /** Whether the files must not be used, not even by a store that has opened them. */
  public boolean isMarked() throws IOException {
    return disk.exists(marker) || notes.isNoted(store, this);
  }

  /**
   * The evidence that the marks give before the files are opened.
   *
   * @throws IOException if that is not known
   */
  public Optional<LostContentException> evidence() throws IOException {
    return notes.isNoted(store, /* except= */ null)
        ? Optional.of(missedChange())
        : evidenceOfOthers();
  }

  /** The same without notes of changes that this store will bring into the files. */
  public Optional<LostContentException> evidenceOfOthers() throws IOException {
    return isMarked() || disk.exists(early) ? Optional.of(missedChange()) : Optional.empty();
  }

  /** The evidence that the files miss a change. */
  public static LostContentException missedChange() {
    return new LostContentException(
        "it may hold values that were invalidated when it was not open, or just before a crash or a"
            + " stop of the machine");
  }

  /** Ensures that the next start does not use what the files hold now. */
  public void mark() throws IOException {
    try {
      mark(disk, marker, onDisk);
      onDisk = true;
    } catch (IOException e) {
      try {
        notes.add(store, store);
      } catch (IOException last) {
        e.addSuppressed(last);
        throw e;
      }
    }
  }

  /** Like {@link #mark}, until {@link #unmarkEarly}. */
  void markEarly() throws IOException {
    try {
      notes.add(this, store);
    } catch (IOException e) {
      mark();
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
    onDisk = false;
    for (Path file : List.of(marker, early)) {
      if (disk.exists(file)) {
        disk.delete(file);
      }
    }
    notes.remove(/* by= */ null, store);
  }

  /** Takes {@link #markEarly} back. */
  public void unmarkEarly() throws IOException {
    notes.remove(this, store);
  }
}
