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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The page cache of the system, which is warm after a restart of a server, and empty after a boot.
 */
public final class PageCache {
  private static final Path DROP_CACHES = Path.of("/proc/sys/vm/drop_caches");

  private PageCache() {}

  /** Whether this user may empty it. */
  public static boolean canBeEmptied() {
    return Files.isWritable(DROP_CACHES);
  }

  /** Has the system write all that waits for the disk. */
  public static void sync() throws IOException {
    try {
      int status = new ProcessBuilder("sync").inheritIO().start().waitFor();
      if (status != 0) {
        throw new IOException("sync failed: status=" + status);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  /** Empties it, but for what running processes have mapped, such as the JDK. */
  public static void empty() throws IOException {
    sync();
    Files.writeString(DROP_CACHES, "3");
  }
}
