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

import com.google.common.flogger.FluentLogger;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32C;

/**
 * The file beside a store's file that says: this was closed properly. It is written after the store
 * was unmapped and removed before it is mapped again; where it is missing, the last user died and
 * locks may be held for ever, so nobody may map the store.
 *
 * <p>Chronicle-Map follows the lengths and positions it finds in a file, and a wrong one can kill
 * the process. So nothing may have happened to the file in between: a restore from a backup taken
 * while the server ran, a power loss. Two things tell. The checksum says that it has the very
 * content. Where it is large, to read it takes long; so a large one is made sure to be on disk
 * before its marker is, and if its identity says that nobody has touched it, it is not read. Its
 * checksum, which only a copy needs, is left out if it is not had in time.
 *
 * @param fileBytes length of the store's file
 * @param checksum CRC32C of the store's file; empty if it was not had in time
 * @param forced whether the file was made sure to be on disk before
 * @param identity of the store's file, see {@link Disk#identity}; empty if it may change unnoticed
 * @param entries values in the store
 * @param liveBytes bytes of their keys and records
 */
record CleanMarker(
    long fileBytes,
    OptionalInt checksum,
    boolean forced,
    String identity,
    long entries,
    long liveBytes) {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private static final int BUFFER_BYTES = 256 << 10;

  /** From here on a file is large. */
  static final long LARGE_BYTES = 32 << 20;

  /** How long the checksum of a large file may take; other stores wait to be closed. */
  private static final long CHECKSUM_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** More than the step of the kernel's clock for files, in which one may change unnoticed. */
  private static final long CLOCK_STEP_MILLIS = 20;

  private static final int SETTLE_TRIES = 10;

  /**
   * Says that {@code store}, which nobody maps any more, is in order.
   *
   * @param leastBytes the length it must have at least
   * @throws IOException if that can't be said
   */
  static void write(Disk disk, Path store, long leastBytes, long entries, long liveBytes)
      throws IOException {
    write(disk, store, leastBytes, entries, liveBytes, LARGE_BYTES, CHECKSUM_NANOS);
  }

  static void write(
      Disk disk,
      Path store,
      long leastBytes,
      long entries,
      long liveBytes,
      long largeBytes,
      long checksumNanos)
      throws IOException {
    long fileBytes = disk.size(store);
    if (fileBytes < leastBytes) {
      throw new IOException("the file was cut off at " + fileBytes + " bytes");
    }
    boolean large = fileBytes >= largeBytes && settles(disk, store);
    if (large) {
      force(disk, store);
    }
    String identity = isSettled(disk, store) ? disk.identity(store) : "";
    CleanMarker marker =
        new CleanMarker(fileBytes, OptionalInt.empty(), large, identity, entries, liveBytes);
    if (!large) {
      marker.with(checksum(disk, store, Long.MAX_VALUE)).put(disk, store);
      return;
    }
    // It holds from here on, also if the process is killed while it reads.
    marker.putForced(disk, store);
    marker.addChecksum(disk, store, checksumNanos);
  }

  private void addChecksum(Disk disk, Path store, long nanos) throws IOException {
    OptionalInt read;
    try {
      read = checksum(disk, store, nanos);
    } catch (ClosedByInterruptException e) {
      return; // what is said holds all the same
    } catch (IOException e) {
      // Nobody may map a file that can't be read.
      disk.delete(pathOf(store));
      throw e;
    }
    if (read.isPresent()) {
      try {
        with(read).putForced(disk, store);
      } catch (IOException e) {
        logger.atFine().withCause(e).log("%s: no checksum is noted", store);
      }
    }
  }

  private CleanMarker with(OptionalInt newChecksum) {
    return new CleanMarker(fileBytes, newChecksum, forced, identity, entries, liveBytes);
  }

  /** Whether a file's next change will have another time than its last one had. */
  private static boolean isSettled(Disk disk, Path store) throws IOException {
    return disk.millisSinceChange(store) > CLOCK_STEP_MILLIS;
  }

  /** Waits for that, but not for long. */
  private static boolean settles(Disk disk, Path store) throws IOException {
    for (int i = 0; i < SETTLE_TRIES; i++) {
      if (isSettled(disk, store)) {
        return true;
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(CLOCK_STEP_MILLIS) / 2);
    }
    return false;
  }

  /** Sees to it that a file is on disk. */
  private static void force(Disk disk, Path file) throws IOException {
    try (FileChannel channel = disk.open(file, Set.of(StandardOpenOption.WRITE))) {
      channel.force(true);
    }
  }

  private void put(Disk disk, Path store) throws IOException {
    Path temporary = temporaryOf(store);
    disk.writeText(temporary, encode());
    disk.move(temporary, pathOf(store));
  }

  /** As above, so that a stop of the machine does not take it away. */
  private void putForced(Disk disk, Path store) throws IOException {
    Path temporary = temporaryOf(store);
    disk.writeText(temporary, encode());
    force(disk, temporary);
    disk.move(temporary, pathOf(store));
    try {
      disk.sync(store.toAbsolutePath().getParent());
    } catch (IOException e) {
      logger.atFine().withCause(e).log("%s: its marker is on disk later", store);
    }
  }

  private static Path temporaryOf(Path store) {
    return store.resolveSibling(pathOf(store).getFileName() + ".tmp");
  }

  /**
   * Takes the marker away, and says whether the store is still as it was left.
   *
   * @param faults told if the disk does not let it be seen
   * @return empty if there is no marker or the store differs from it
   * @throws IOException if the marker is there but can't be removed: then the store must not be
   *     used, because a crash would be taken for a proper stop
   */
  static Optional<CleanMarker> take(Disk disk, Path store, FaultLog faults) throws IOException {
    Optional<CleanMarker> marker = Optional.empty();
    try {
      marker = read(disk, store);
    } catch (IOException e) {
      // A marker that can't be read says nothing; the store is treated as after a crash.
      faults.count(e);
    }
    if (marker.isPresent() && marker.get().forced) {
      // Where folders can't be synced it may be back, beside a file whose time of change is the old
      // one though some of what was changed since has come to disk.
      disk.writeText(pathOf(store), "# Not closed.\n");
      force(disk, pathOf(store));
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
      return marker.isPresent() && marker.get().matches(disk, store, faults)
          ? marker
          : Optional.empty();
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

  /**
   * Whether the store's file is known to be the very one that was closed: no copy, which may have
   * holes.
   */
  boolean isUntouched(Disk disk, Path store, FaultLog faults) {
    try {
      return !identity.isEmpty() && identity.equals(disk.identity(store));
    } catch (IOException e) {
      faults.warn(e, "its file is taken for a copy, which may have holes");
      return false;
    }
  }

  private boolean matches(Disk disk, Path store, FaultLog faults) throws IOException {
    return disk.size(store) == fileBytes
        && ((forced && isUntouched(disk, store, faults))
            || (checksum.isPresent() && checksum(disk, store, Long.MAX_VALUE).equals(checksum)));
  }

  /** Reads the whole file; empty if that takes longer than is given. */
  private static OptionalInt checksum(Disk disk, Path file, long nanos) throws IOException {
    long begun = System.nanoTime();
    CRC32C crc = new CRC32C();
    ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
    try (FileChannel channel = disk.open(file, Set.of(StandardOpenOption.READ))) {
      while (channel.read(buffer.clear()) >= 0) {
        crc.update(buffer.flip());
        if (System.nanoTime() - begun > nanos) {
          return OptionalInt.empty();
        }
      }
    }
    return OptionalInt.of((int) crc.getValue());
  }

  private static Optional<CleanMarker> read(Disk disk, Path store) throws IOException {
    try {
      Properties p = new Properties();
      p.load(new StringReader(disk.readText(pathOf(store))));
      return Optional.of(
          new CleanMarker(
              number(p, "fileBytes"),
              p.getProperty("checksum", "").isBlank()
                  ? OptionalInt.empty()
                  : OptionalInt.of((int) number(p, "checksum")),
              Boolean.parseBoolean(p.getProperty("forced", "").trim()),
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
        checksum=%s
        forced=%s
        identity=%s
        entries=%d
        liveBytes=%d
        """
        .formatted(
            fileBytes,
            checksum.isPresent() ? checksum.getAsInt() : "",
            forced,
            identity,
            entries,
            liveBytes);
  }
}
