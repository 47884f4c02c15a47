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
import jnr.ffi.LibraryLoader;
import jnr.ffi.annotations.Out;
import net.openhft.chronicle.core.OS;
import net.openhft.posix.MAdviseFlag;
import net.openhft.posix.OpenFlag;
import net.openhft.posix.PosixAPI;

/**
 * What a reading of a whole file has brought into memory and nobody else asked for: given back to
 * the system as the reading goes on, so that a check or a growth of a large cache does not push out
 * what requests read.
 *
 * <p>Which pages were in memory before is asked for by {@code mincore}, for one window of the file
 * after the other and one ahead, because the system reads ahead, too. Runs of others are unmapped
 * ({@code MADV_DONTNEED}, which loses nothing of a file) and given back by {@code posix_fadvise},
 * which begins to write what is dirty and leaves it. A request that has touched such a page
 * meanwhile reads it from disk once more. Costs a bit of heap for each page of the file, and system
 * calls for each run of pages.
 *
 * <p>Linux only, and for files that are large; elsewhere, and where a call fails, it does nothing.
 * One thread reads, from the beginning to the end; any may close it.
 */
final class BorrowedPages {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Smaller files can't push out much, and the first call loads native code. */
  private static final long LEAST_BYTES = 64 << 20;

  private static final int WINDOW_BYTES = 32 << 20;

  /** So much is given back at once. More than the system reads at once. */
  private static final int STEP_BYTES = 16 << 20;

  /** Fewer pages between others that were there before are not worth the calls. */
  private static final int FEW_PAGES = 8;

  /** Value of POSIX_FADV_DONTNEED of Linux, but on s390x. */
  private static final int DONT_NEED = 4;

  /** Functions of the C library, as the man pages of these names tell them. */
  public interface LibC {
    int mincore(long address, long length, @Out byte[] pages);

    int posix_fadvise(int file, long offset, long length, int advice);
  }

  /** The mapping of a file that may be closed meanwhile. */
  interface Mapped {
    /** Runs something if the file is still mapped, and while it is. */
    void whileMapped(Runnable action);

    /** Whether somebody waits for that to end, to unmap the file. */
    boolean isEnding();
  }

  /** Loaded when it is first needed. */
  private static final class Loaded {
    static final int PAGE_BYTES = OS.pageSize();
    static final LibC LIB_C = load();

    private static LibC load() {
      try {
        boolean possible =
            System.getProperty("os.name").equals("Linux")
                && !System.getProperty("os.arch").startsWith("s390")
                && ChronicleRuntime.allocatesDisk();
        return possible ? LibraryLoader.create(LibC.class).failImmediately().load("c") : null;
      } catch (RuntimeException | Error e) {
        // An error too, such as too little memory: thrown on, this class could never be used again.
        logger.atFine().withCause(e).log("pages that were read cannot be given back");
        return null;
      }
    }
  }

  private final Path path;
  private final Mapped mapped;
  private final long address;
  private final long bytes;
  private final BitSet resident = new BitSet();

  /** Descriptor of the file; -1 if there is none yet, or any more. */
  private int file = -1;

  /** Whether nothing is done: it was closed, there is no need to, or a call failed. */
  private volatile boolean off;

  /** How many pages from the beginning were asked for. */
  private int asked;

  private byte[] window;

  /** Offset before which all was read. */
  private long read;

  /** Offset before which all was given back. */
  private long given;

  /**
   * Begins to read a file.
   *
   * @param path its present name
   * @param mapped or else other memory, which is there by then, would be given back
   * @param address where it is mapped from its beginning on
   * @param bytes of it that are mapped
   */
  BorrowedPages(Path path, Mapped mapped, long address, long bytes) {
    this.path = path;
    this.mapped = mapped;
    this.address = address;
    this.bytes = bytes;
    this.off = bytes < LEAST_BYTES;
  }

  /** Loads what is needed for a file of this size, which takes a moment the first time. */
  static void prepareFor(long fileBytes) {
    if (fileBytes >= LEAST_BYTES) {
      try {
        var unused = Loaded.LIB_C;
      } catch (RuntimeException | LinkageError e) {
        logger.atFine().withCause(e).log("pages that are read cannot be given back");
      }
    }
  }

  /** So many bytes from this offset on are about to be read. */
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
   * Gives back what was read, in larger steps than segments are. Better without a lock that others
   * wait for: some calls for each run of pages.
   */
  synchronized void giveBack() {
    attempt(
        () -> {
          if (read - given >= STEP_BYTES) {
            mapped.whileMapped(this::giveBackRuns);
            given = read;
          }
        });
  }

  /** For whoever reads no more. A second time does nothing. */
  void close() {
    // First: whoever gives back just now ends soon.
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
        // It is but a hint.
        logger.atFine().withCause(e).log("pages that were read cannot be given back");
        close();
      }
    }
  }

  private void open() {
    if (Loaded.LIB_C != null && address % Loaded.PAGE_BYTES == 0) {
      file = PosixAPI.posix().open(path.toString(), OpenFlag.O_RDONLY, 0);
    }
    if (file < 0) {
      off = true;
    }
  }

  private void askForWindow() {
    long from = (long) asked * Loaded.PAGE_BYTES;
    int length = (int) Math.min(WINDOW_BYTES, bytes - from);
    int count = pages(length);
    if (window == null) {
      window = new byte[pages(WINDOW_BYTES)];
    }
    if (Loaded.LIB_C.mincore(address + from, length, window) != 0) {
      // What is not known is left alone.
      Arrays.fill(window, (byte) 1);
    }
    for (int i = 0; i < count; i++) {
      resident.set(asked + i, (window[i] & 1) != 0);
    }
    asked += count;
  }

  private void giveBackRuns() {
    // Once more what was before it: of the runs of pages that the system read at once, which it
    // gives back as a whole or not, the last one was not at its end.
    int page = resident.nextClearBit((int) (Math.max(0, given - STEP_BYTES) / Loaded.PAGE_BYTES));
    int end = Math.min(asked, pages(Math.min(bytes, read)));
    while (page < end && !off && !mapped.isEnding()) {
      int next = resident.nextSetBit(page);
      int last = next < 0 ? end : Math.min(end, next);
      if (last - page >= FEW_PAGES) {
        long from = (long) page * Loaded.PAGE_BYTES;
        long length = (long) (last - page) * Loaded.PAGE_BYTES;
        int unused = PosixAPI.posix().madvise(address + from, length, MAdviseFlag.MADV_DONTNEED);
        unused = Loaded.LIB_C.posix_fadvise(file, from, length, DONT_NEED);
      }
      page = resident.nextClearBit(last);
    }
  }

  private static int pages(long bytes) {
    return Math.toIntExact((bytes + Loaded.PAGE_BYTES - 1) / Loaded.PAGE_BYTES);
  }
}
