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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * Writes small files, which only their owner can read. When a method returns, its work is on disk.
 * Ignores interrupts, by which Gerrit cancels a request that has to note something. One thread at a
 * time for each file.
 */
public final class AtomicFile {
  private AtomicFile() {}

  /** Replaces a file. It has its old content or the new one whatever fails, and after a crash. */
  public static void replace(Path file, byte[] content) throws IOException {
    Path next = file.resolveSibling(file.getFileName() + ".next");
    Files.deleteIfExists(next);
    write(next, content);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    syncFolder(file.toAbsolutePath().getParent());
  }

  /** Empties a file or creates an empty one. If there is a file, this needs no disk space. */
  public static void empty(Path file) throws IOException {
    write(file, new byte[0]);
    syncFolder(file.toAbsolutePath().getParent());
  }

  private static void write(Path file, byte[] content) throws IOException {
    try {
      Disk.REAL.create(file);
    } catch (FileAlreadyExistsException e) {
      // It is emptied.
    }
    try (FileChannel channel =
        Disk.REAL.open(
            file, Set.of(StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING))) {
      SegmentReader.writeFully(channel, 0, ByteBuffer.wrap(content));
      channel.force(true);
    }
  }

  /**
   * Forces to disk which files of a folder were created, renamed or deleted, where the file system
   * offers that. Any thread may call.
   */
  public static void syncFolder(Path folder) throws IOException {
    Disk.REAL.sync(folder);
  }
}
