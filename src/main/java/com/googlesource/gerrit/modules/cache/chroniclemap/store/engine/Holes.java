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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Set;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.impl.util.jna.PosixFallocate;

/**
 * Holes of a file, to which no disk is allocated yet. They are filled before the file is mapped:
 * writing to a mapped hole on a full disk would kill the process.
 */
public final class Holes {
  private static final int ALLOCATE_BYTES = 1 << 20;

  private Holes() {}

  /**
   * Allocates disk for the holes of a file that is not mapped. A copy of a file may have holes
   * where the file is full of zeros.
   */
  public static void fill(Disk disk, Path path) throws IOException {
    disk.allocating(path);
    if (!ChronicleRuntime.allocatesDisk()) {
      rewrite(disk, path);
      return;
    }
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      allocate(file, path);
    }
  }

  /** Allocates disk for all of a file, if the native code for it is loaded. */
  static void allocate(RandomAccessFile file, Path path) throws IOException {
    if (!OS.isLinux() || !ChronicleRuntime.allocatesDisk()) {
      return;
    }
    long length = file.length();
    try {
      PosixFallocate.fallocate(file.getFD(), 0, length);
    } catch (IOException e) {
      File folder = path.toAbsolutePath().getParent().toFile();
      throw new IOException(
          String.format(
              Locale.ROOT,
              "cannot allocate %d bytes on the volume of %s, which has %d bytes free",
              length,
              folder,
              folder.getUsableSpace()),
          e);
    }
  }

  /** Allocates disk by rewriting the whole content, before other threads write to the file. */
  static void rewrite(Disk disk, Path path) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect(ALLOCATE_BYTES);
    try (FileChannel channel =
        disk.open(path, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE))) {
      long position = 0;
      while (channel.read(buffer.clear(), position) > 0) {
        SegmentReader.writeFully(channel, position, buffer.flip());
        position += buffer.limit();
      }
    }
  }
}
