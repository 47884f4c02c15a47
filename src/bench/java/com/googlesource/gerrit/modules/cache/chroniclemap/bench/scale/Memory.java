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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.google.common.base.CharMatcher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What this process has read and changed of files, and the page cache of the system, which is warm
 * after a restart of a server, and empty after a boot.
 */
final class Memory {
  private static final double MEGABYTE = 1 << 20;

  private static final Path DROP_CACHES = Path.of("/proc/sys/vm/drop_caches");

  private Memory() {}

  /** Bytes of pages of files that this process has made dirty; -1 if the system does not tell. */
  static double writtenBytes() {
    return field("/proc/self/io", "write_bytes");
  }

  /** Bytes that this process has had read from the device; -1 if the system does not tell. */
  static double readBytes() {
    return field("/proc/self/io", "read_bytes");
  }

  /** Bytes that the page cache of the system has; -1 if it does not tell. */
  static double pageCacheBytes() {
    double kilobytes = field("/proc/meminfo", "Cached");
    return kilobytes < 0 ? -1 : kilobytes * 1024;
  }

  /** Whether this user may empty the page cache. */
  static boolean canEmptyPageCache() {
    return Files.isWritable(DROP_CACHES);
  }

  /** Has the system write all that waits for the disk. */
  static void syncPageCache() throws IOException {
    int status = new ProcessBuilder("sync").inheritIO().start().onExit().join().exitValue();
    if (status != 0) {
      throw new IOException("sync failed: status=" + status);
    }
  }

  /** Empties the page cache, but for what running processes have mapped, such as the JDK. */
  static void emptyPageCache() throws IOException {
    syncPageCache();
    Files.writeString(DROP_CACHES, "3");
  }

  static double megabytes(double bytes) {
    return bytes / MEGABYTE;
  }

  static double megabytes(long bytes) {
    return megabytes((double) bytes);
  }

  private static double field(String file, String name) {
    try {
      for (String line : Files.readAllLines(Path.of(file))) {
        if (line.startsWith(name + ":")) {
          return Double.parseDouble(CharMatcher.inRange('0', '9').retainFrom(line));
        }
      }
    } catch (IOException e) {
      // As below: not every system has it.
    }
    return -1;
  }
}
