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

import com.google.common.flogger.FluentLogger;
import jnr.ffi.LibraryLoader;
import jnr.ffi.annotations.Out;

/** Functions of the C library of Linux about pages of the page cache, see their man pages. */
public interface LibC {
  /** POSIX_FADV_DONTNEED on Linux, except on s390x. */
  int DONT_NEED = 4;

  /** MADV_REMOVE on Linux: gives back the disk of pages of a mapped file, which are zeros then. */
  int REMOVE = 9;

  /** MADV_PAGEOUT, since Linux 5.4. An older one refuses it, with no effect. */
  int PAGE_OUT = 21;

  /** What {@link #mincore} sets in the byte of a page that is in memory. */
  int RESIDENT = 1;

  int mincore(long address, long length, @Out byte[] pages);

  int madvise(long address, long length, int advice);

  int posix_fadvise(int file, long offset, long length, int advice);

  /**
   * Returns the functions; null on other systems than Linux, and where native code cannot be
   * loaded. The first call takes a moment.
   */
  static LibC get() {
    return Loaded.LIB_C;
  }

  /** Loaded on first use. */
  final class Loaded {
    private static final FluentLogger logger = FluentLogger.forEnclosingClass();
    private static final LibC LIB_C = load();

    private Loaded() {}

    private static LibC load() {
      try {
        boolean possible =
            System.getProperty("os.name").equals("Linux")
                && !System.getProperty("os.arch").startsWith("s390")
                && ChronicleRuntime.allocatesDisk();
        return possible ? LibraryLoader.create(LibC.class).failImmediately().load("c") : null;
      } catch (RuntimeException | Error e) {
        // Errors are caught too, for example for lack of memory: thrown from here, they would make
        // this class unusable for good.
        logger.atFine().withCause(e).log(
            "Cannot load the C library; the kernel gets no advice on pages");
        return null;
      }
    }
  }
}
