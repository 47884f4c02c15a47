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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * The file beside a store's file that says: this was closed properly. It is written after the store
 * was unmapped and removed before it is mapped again; where it is missing, the last user died and
 * locks may be held for ever, so nobody may map the store.
 *
 * <p>The checksum of the whole store guards against what happens to the file in between: a disk
 * that lied, a restore from a backup taken while the server ran, a power loss. Chronicle-Map
 * follows the lengths and positions it finds in a file, and a wrong one can kill the process. Where
 * the machine has run on since, and the file's identity (its time of change is part of it) says
 * that nobody has touched it, there is nothing to guard against, and it is not read.
 *
 * @param fileBytes length of the store's file
 * @param checksum CRC32C of the store's file
 * @param identity of the store's file, see {@link Disk#identity}
 * @param entries values in the store
 * @param liveBytes bytes of their keys and records
 */
record CleanMarker(long fileBytes, int checksum, String identity, long entries, long liveBytes) {
  private static final int BUFFER_BYTES = 256 << 10;

  /**
   * Says that {@code store}, which nobody maps any more, is in order.
   *
   * @param leastBytes the length it must have at least
   * @throws IOException if that can't be said
   */
  static void write(Disk disk, Path store, long leastBytes, long entries, long liveBytes)
      throws IOException {
    long fileBytes = disk.size(store);
    if (fileBytes < leastBytes) {
      throw new IOException("the file was cut off at " + fileBytes + " bytes");
    }
    CleanMarker marker =
        new CleanMarker(fileBytes, checksum(disk, store), disk.identity(store), entries, liveBytes);
    Path temporary = store.resolveSibling(pathOf(store).getFileName() + ".tmp");
    disk.writeText(temporary, marker.encode());
    disk.move(temporary, pathOf(store));
  }

  /**
   * Takes the marker away, and says whether the store is still as it was left.
   *
   * @param sameBoot whether the machine has run on since the store was closed
   * @param faults told if the disk does not let it be seen
   * @return empty if there is no marker or the store differs from it
   * @throws IOException if the marker is there but can't be removed: then the store must not be
   *     used, because a crash would be taken for a proper stop
   */
  static Optional<CleanMarker> take(Disk disk, Path store, boolean sameBoot, FaultLog faults)
      throws IOException {
    Optional<CleanMarker> marker = Optional.empty();
    try {
      marker = read(disk, store);
    } catch (IOException e) {
      // A marker that can't be read says nothing; the store is treated as after a crash.
      faults.count(e);
    }
    disk.delete(pathOf(store));
    try {
      // Or else it is back if the machine stops soon, beside the file as it was.
      disk.sync(store.toAbsolutePath().getParent());
    } catch (IOException e) {
      // Some disks can't do that, and all do it by themselves in a while.
      faults.warn(e, "cannot make sure at once that its marker of a clean stop is gone");
    }
    try {
      boolean matches = marker.isPresent() && marker.get().matches(disk, store, sameBoot, faults);
      return matches ? marker : Optional.empty();
    } catch (IOException e) {
      faults.count(e);
      return Optional.empty();
    }
  }

  /** Whether a store has a marker. */
  static boolean isReadable(Disk disk, Path store) {
    try {
      return read(disk, store).isPresent();
    } catch (IOException e) {
      return false;
    }
  }

  static Path pathOf(Path store) {
    return store.resolveSibling(store.getFileName() + ".clean");
  }

  /** Whether the store's file is the very one that was closed: no copy, which may have holes. */
  boolean isUntouched(Disk disk, Path store, FaultLog faults) {
    try {
      return identity.equals(disk.identity(store));
    } catch (IOException e) {
      faults.warn(e, "its file is taken for a copy, which may have holes");
      return false;
    }
  }

  private boolean matches(Disk disk, Path store, boolean sameBoot, FaultLog faults)
      throws IOException {
    return disk.size(store) == fileBytes
        && ((sameBoot && isUntouched(disk, store, faults)) || checksum(disk, store) == checksum);
  }

  private static int checksum(Disk disk, Path file) throws IOException {
    CRC32C crc = new CRC32C();
    ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
    try (FileChannel channel = disk.open(file, Set.of(StandardOpenOption.READ))) {
      while (channel.read(buffer.clear()) >= 0) {
        crc.update(buffer.flip());
      }
    }
    return (int) crc.getValue();
  }

  private static Optional<CleanMarker> read(Disk disk, Path store) throws IOException {
    try {
      Properties p = new Properties();
      p.load(new StringReader(disk.readText(pathOf(store))));
      return Optional.of(
          new CleanMarker(
              number(p, "fileBytes"),
              (int) number(p, "checksum"),
              p.getProperty("identity", "").trim(),
              number(p, "entries"),
              number(p, "liveBytes")));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  private static long number(Properties properties, String name) {
    String text = properties.getProperty(name);
    if (text == null) {
      throw new IllegalArgumentException("no " + name);
    }
    return Long.parseLong(text.trim());
  }

  private String encode() {
    return """
        # This store was closed properly. Removed while it is open.
        fileBytes=%d
        checksum=%d
        identity=%s
        entries=%d
        liveBytes=%d
        """
        .formatted(fileBytes, checksum, identity, entries, liveBytes);
  }
}
