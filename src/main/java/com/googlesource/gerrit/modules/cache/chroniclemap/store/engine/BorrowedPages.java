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
import java.nio.file.Path;
import net.openhft.posix.OpenFlag;
import net.openhft.posix.PosixAPI;

/**
 * The pages of the page cache that a read of a file past its mapping fills. They are given back as
 * the read proceeds, so that a check or a sweep of a large cache does not evict pages that requests
 * read.
 *
 * <p>{@code posix_fadvise} drops the pages that no process has mapped. So those stay that requests
 * have read, through the mapping, since the file was opened. Dirty pages stay, too, and begin to be
 * written. The cost is three system calls for each step.
 *
 * <p>Does nothing for small files, on other systems than Linux, and without native code. For the
 * one thread that reads, onwards from where it begins.
 */
final class BorrowedPages implements AutoCloseable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Smaller files evict few pages, and the first call has to load native code. */
  static final long MIN_FILE_BYTES = 64 << 20;

  /** Bytes that are given back at a time; more than the system reads ahead. */
  private static final int STEP_BYTES = 16 << 20;

  private final Path path;
  private final boolean isOn;

  /** Where the part of the file begins that was read and may not be given back yet; -1 at first. */
  private long from = -1;

  /** Where that part ends. */
  private long end;

  /** Begins a read of a file that has so many bytes. */
  BorrowedPages(Path path, long bytes) {
    this.path = path;
    this.isOn = bytes >= MIN_FILE_BYTES;
  }

  /** Notes that a part of the file is read. */
  void reading(long offset, long length) {
    from = from < 0 ? offset : from;
    end = offset + length;
  }

  /** Gives pages back, once they are enough; to be called without any lock that others wait for. */
  void dropPages() {
    if (end - from >= 2 * STEP_BYTES) {
      close();
      // The system drops pages that it read together only together, and the last of them were not
      // all read by now.
      from = end - STEP_BYTES;
    }
  }

  /** Gives back what was read. */
  @Override
  public void close() {
    LibC libC = isOn && from >= 0 ? LibC.get() : null;
    if (libC == null) {
      return;
    }
    try {
      int file = PosixAPI.posix().open(path.toString(), OpenFlag.O_RDONLY, 0);
      if (file >= 0) {
        int unused = libC.posix_fadvise(file, from, end - from, LibC.DONT_NEED);
        unused = PosixAPI.posix().close(file);
      }
    } catch (RuntimeException | LinkageError e) {
      // Nothing depends on these hints.
      logger.atFine().withCause(e).log("Cannot give pages of %s back", path);
    }
  }
}
