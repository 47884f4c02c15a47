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
import java.util.Arrays;
import java.util.BitSet;
import net.openhft.chronicle.core.OS;
import net.openhft.posix.MAdviseFlag;
import net.openhft.posix.OpenFlag;
import net.openhft.posix.PosixAPI;

/**
 * The pages of the page cache that a sequential read of a whole file fills. They are given back as
 * the read proceeds, so that a check or a copy of a large cache does not evict pages that requests
 * read.
 *
 * <p>{@code mincore} reports which pages were resident before. It is called for one window of the
 * file at a time, and one window ahead because of the system's read-ahead. Runs of other pages are
 * unmapped by {@code MADV_DONTNEED}, which loses nothing of a file, and dropped by {@code
 * posix_fadvise}, which starts to write dirty pages and keeps them. A request that used such a page
 * meanwhile has to read the page again. The costs are a bit of heap for each page, and system calls
 * for each run.
 *
 * <p>Does nothing for small files, on other systems than Linux, and once a call failed. One thread
 * reads, from the beginning to the end; any thread may close.
 */
final class BorrowedPages {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Smaller files evict few pages, and the first call has to load native code. */
  static final long MIN_FILE_BYTES = 64 << 20;

  private static final int PAGE_BYTES = OS.pageSize();
  private static final int WINDOW_BYTES = 32 << 20;

  /** Bytes that are given back at a time; more than the system reads ahead. */
  private static final int STEP_BYTES = 16 << 20;

  /** Shorter runs of pages are not worth the calls. */
  private static final int MIN_PAGES = 8;

  private final Path path;
  private final RecordMap mapped;
  private final long address;
  private final long bytes;
  private final BitSet resident = new BitSet();

  /** The file descriptor; -1 before the first read and after {@link #close}. */
  private int file = -1;

  /** Whether this does nothing: it was closed, the file is small, or a call failed. */
  private volatile boolean off;

  /** The number of pages that mincore was called for. */
  private int asked;

  private byte[] window;

  /** The offset up to which the file was read. */
  private long read;

  /** The offset up to which pages were given back. */
  private long given;

  /**
   * Begins a read of a file.
   *
   * @param path the current name of the file
   * @param mapped prevents the file from being unmapped during calls that take its addresses, which
   *     could otherwise be those of other memory by then
   */
  BorrowedPages(Path path, RecordMap mapped) {
    this.path = path;
    this.mapped = mapped;
    this.address = mapped.address;
    this.bytes = mapped.mappedBytes;
    this.off = bytes < MIN_FILE_BYTES;
  }

  /** To be called before these bytes of the file are read. */
  synchronized void reading(long offset, long length) {
    attempt(
        () -> {
          if (file < 0) {
            open();
          }
          while (!off && asked < pages(Math.min(bytes, offset + length + WINDOW_BYTES))) {
            askForWindow();
          }
        });
    read = offset + length;
  }

  /**
   * Gives back pages that were read, once they are enough. Should be called without any lock that
   * others wait for, as it makes a few system calls for each run of pages.
   */
  synchronized void dropPages() {
    attempt(
        () -> {
          if (read - given >= STEP_BYTES) {
            mapped.whileMapped(this::giveBackRuns);
            given = read;
          }
        });
  }

  /** To be called when nothing more is read. Further calls do nothing. */
  void close() {
    // Set first, so that a call of dropPages in another thread ends soon.
    off = true;
    synchronized (this) {
      int closed = file;
      file = -1;
      if (closed >= 0) {
        int unused = PosixAPI.posix().close(closed);
      }
    }
  }

  private void attempt(Runnable step) {
    if (!off) {
      try {
        step.run();
      } catch (RuntimeException | LinkageError e) {
        // Nothing depends on these hints.
        logger.atFine().withCause(e).log(
            "Cannot give back pages; those that are read stay in the page cache");
        close();
      }
    }
  }

  private void open() {
    if (LibC.get() != null && address % PAGE_BYTES == 0) {
      file = PosixAPI.posix().open(path.toString(), OpenFlag.O_RDONLY, 0);
    }
    if (file < 0) {
      off = true;
    }
  }

  private void askForWindow() {
    long from = (long) asked * PAGE_BYTES;
    int length = (int) Math.min(WINDOW_BYTES, bytes - from);
    int count = pages(length);
    if (window == null) {
      window = new byte[pages(WINDOW_BYTES)];
    }
    if (LibC.get().mincore(address + from, length, window) != 0) {
      // If the call fails, all pages count as resident and stay.
      Arrays.fill(window, (byte) 1);
    }
    for (int i = 0; i < count; i++) {
      resident.set(asked + i, (window[i] & LibC.RESIDENT) != 0);
    }
    asked += count;
  }

  private void giveBackRuns() {
    // Begins one step earlier. The system drops pages that it read together only together, and the
    // last of them were not all read by then.
    int page = resident.nextClearBit((int) (Math.max(0, given - STEP_BYTES) / PAGE_BYTES));
    int end = Math.min(asked, pages(Math.min(bytes, read)));
    while (page < end && !off && !mapped.isEnding()) {
      int next = resident.nextSetBit(page);
      int last = next < 0 ? end : Math.min(end, next);
      if (last - page >= MIN_PAGES) {
        long from = (long) page * PAGE_BYTES;
        long length = (long) (last - page) * PAGE_BYTES;
        int unused = PosixAPI.posix().madvise(address + from, length, MAdviseFlag.MADV_DONTNEED);
        unused = LibC.get().posix_fadvise(file, from, length, LibC.DONT_NEED);
      }
      page = resident.nextClearBit(last);
    }
  }

  private static int pages(long bytes) {
    return Math.toIntExact((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
  }
}
