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

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Locale;
import net.openhft.chronicle.core.OS;
import net.openhft.chronicle.hash.impl.util.jna.PosixFallocate;

/**
 * Holes of a file, to which no disk is allocated yet. A write to a mapped hole on a full disk, and
 * on some file systems even a read, would kill the process. So nothing there is used before it has
 * disk.
 */
final class Holes {
  /**
   * From so many bytes on, zeros are written as well: the page cache then has fewer and larger
   * pages, with which a read of 10 KB takes a tenth less.
   */
  private static final int MIN_WRITE_BYTES = 64 << 10;

  private static final int WRITE_BYTES = 1 << 20;

  private Holes() {}

  /**
   * Allocates disk for a part of a file that nobody uses yet.
   *
   * @param channel of the same file
   * @param end where the part ends; the rest of that page gets disk, too
   */
  static void allocate(RandomAccessFile file, FileChannel channel, Path path, long from, long end)
      throws IOException {
    if (!allocateAgain(file, path, from, end) || end - from >= MIN_WRITE_BYTES) {
      ByteBuffer zeros = ByteBuffer.allocate((int) Math.min(end - from, WRITE_BYTES));
      for (long at = from; at < end; at += zeros.limit()) {
        zeros.clear().limit((int) Math.min(zeros.capacity(), end - at));
        SegmentReader.writeFully(channel, at, zeros);
      }
    }
  }

  /**
   * Makes holes of the whole pages of a part of a file that nobody uses any more, where the system
   * can do that.
   *
   * @param address where the part is mapped
   */
  static void punch(long address, int bytes) {
    long from = OS.pageAlign(address);
    long pages = (address + bytes - from) / OS.pageSize();
    LibC libC = LibC.get();
    if (libC != null && pages > 0) {
      int unused = libC.madvise(from, pages * OS.pageSize(), LibC.REMOVE);
    }
  }

  /**
   * Allocates disk for what lacks it of a part of a file, and leaves the content as it is.
   *
   * @return false without native code: then the content has to be written again
   */
  static boolean allocateAgain(RandomAccessFile file, Path path, long from, long end)
      throws IOException {
    if (!OS.isLinux() || !ChronicleRuntime.allocatesDisk()) {
      return false;
    }
    long length = Math.min(OS.pageAlign(end), file.length()) - from;
    try {
      PosixFallocate.fallocate(file.getFD(), from, length);
      return true;
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
}
