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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * A note in a folder of stores that a server runs without them, because another process has them.
 * What that server invalidates stays in the stores, so whoever opens them after it must not trust
 * them. The note is made at the start, as a server that is killed can make none.
 *
 * <p>A server that has the stores for as long as the other one runs owns them, and {@link #clear}s
 * the note when it stops; one that opens them later does so when it has seen to them. The file is
 * there for good; it is locked while who made the note runs, and empty if nothing is noted: a file
 * that is deleted could be locked by one and made anew by another.
 *
 * <p>Safe for any thread.
 */
public final class RunWithout implements AutoCloseable {
  private static final String FILE = "ran-without";

  private final FileChannel channel;

  private RunWithout(FileChannel channel) {
    this.channel = channel;
  }

  /** Where it is noted. To be deleted by hand only while no server runs. */
  public static Path fileIn(Path folder) {
    return folder.resolve(FILE);
  }

  /**
   * Notes it, durably.
   *
   * @param folder of the stores
   */
  public static RunWithout begin(Path folder) throws IOException {
    FileChannel channel =
        FileChannel.open(
            fileIn(folder),
            Set.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    boolean begun = false;
    try {
      lockShared(channel);
      String text =
          "process %d runs without the caches in this folder, or did%n"
              .formatted(ProcessHandle.current().pid());
      ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(UTF_8));
      for (long at = channel.size(); bytes.hasRemaining(); ) {
        at += channel.write(bytes, at);
      }
      channel.force(true);
      try (FileChannel parent = FileChannel.open(folder)) {
        parent.force(true);
      }
      begun = true;
      return new RunWithout(channel);
    } finally {
      if (!begun) {
        channel.close();
      }
    }
  }

  /** Several may run without the stores. Waits only while {@link #clear} looks. */
  private static void lockShared(FileChannel channel) throws IOException {
    try {
      var unused = channel.lock(0, Long.MAX_VALUE, /* shared= */ true);
    } catch (OverlappingFileLockException e) {
      // Another one of this process has it.
    }
  }

  /** Ends the run. The note stays. */
  @Override
  public void close() throws IOException {
    channel.close();
  }

  /** Whether a server ran, or runs, without the stores, since that was last cleared. */
  public static boolean isNoted(Path folder) throws IOException {
    try {
      return Files.size(fileIn(folder)) > 0;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /**
   * For who has the stores: clears the note, if none of those that made it runs any more. Returns
   * whether nothing is noted now.
   */
  public static boolean clear(Path folder) throws IOException {
    if (!isNoted(folder)) {
      return true;
    }
    try (FileChannel channel = FileChannel.open(fileIn(folder), StandardOpenOption.WRITE)) {
      if (channel.tryLock() == null) {
        return false;
      }
      channel.truncate(0);
      channel.force(true);
      return true;
    } catch (OverlappingFileLockException e) {
      // It runs in this process.
      return false;
    }
  }
}
