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
import java.util.BitSet;
import java.util.Locale;
import jnr.ffi.LibraryLoader;
import jnr.ffi.annotations.Out;
import net.openhft.posix.MAdviseFlag;
import net.openhft.posix.OpenFlag;
import net.openhft.posix.PosixAPI;

/**
 * What a reading of a whole file has brought into memory and nobody else asked for: given back to
 * the system as the reading goes on, so that a check or a growth of a large cache does not push out
 * what requests read.
 *
 * <p>Which pages were in memory before is asked for by {@code mincore}, for one window of the file
 * after the other and one ahead, because the system reads ahead, too. The others are unmapped
 * ({@code MADV_DONTNEED}, which loses nothing of a file) and given back by {@code posix_fadvise},
 * which leaves those alone that are not on disk yet. Costs some system calls for each segment, and
 * a bit of heap for each page; a request that has touched such a page meanwhile reads it from disk
 * once more.
 *
 * <p>Linux only, and for files that are large; elsewhere it does nothing. For one thread, which
 * reads from the beginning to the end.
 */
final class BorrowedPages implements AutoCloseable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Smaller files can't push out much, and the first call loads native code. */
  private static final long LEAST_BYTES = 64 << 20;

  private static final int WINDOW_BYTES = 32 << 20;

  /** So much is given back at once. More than the system reads at once. */
  private static final int STEP_BYTES = 16 << 20;

  /** The least that a page has: with larger ones some are asked for again and again. */
  private static final int PAGE_BYTES = 4096;

  /** Value of POSIX_FADV_DONTNEED of Linux, but on s390x. */
  private static final int DONT_NEED = 4;

  /** Functions of the C library, as the man pages of these names tell them. */
  public interface LibC {
    int mincore(long address, long length, @Out byte[] pages);

    int posix_fadvise(int file, long offset, long length, int advice);
  }

  /** Loaded when it is first needed. */
  private static final class Loaded {
    static final LibC LIB_C = load();

    private static LibC load() {
      try {
        return LibraryLoader.create(LibC.class).failImmediately().load("c");
      } catch (RuntimeException | LinkageError e) {
        logger.atFine().withCause(e).log("pages that were read cannot be given back");
        return null;
      }
    }
  }

  /** Runs something if the file is still mapped, and while it is. */
  interface Mapped {
    void whileMapped(Runnable action);
  }

  private final Mapped mapped;
  private final long address;
  private final long bytes;
  private final int file;
  private final BitSet resident = new BitSet();

  /** How many pages from the beginning were asked for. */
  private int asked;

  private byte[] window;

  /** Offset before which all was read. */
  private long read;

  /** Offset before which all was given back. */
  private long given;

  private BorrowedPages(Mapped mapped, long address, long bytes, int file) {
    this.mapped = mapped;
    this.address = address;
    this.bytes = bytes;
    this.file = file;
  }

  /**
   * Begins to read a file.
   *
   * @param mapped or else other memory, which is there by then, would be given back
   * @param address where it is mapped from its beginning on
   */
  static BorrowedPages of(Path path, Mapped mapped, long address, long bytes) {
    boolean possible =
        bytes >= LEAST_BYTES
            && address % PAGE_BYTES == 0
            && System.getProperty("os.name").equals("Linux")
            && !System.getProperty("os.arch").toLowerCase(Locale.ROOT).startsWith("s390")
            && ChronicleRuntime.allocatesDisk()
            && Loaded.LIB_C != null;
    int file = possible ? PosixAPI.posix().open(path.toString(), OpenFlag.O_RDONLY, 0) : -1;
    return new BorrowedPages(mapped, address, bytes, file);
  }

  /** So many bytes from this offset on are about to be read. */
  void reading(long offset, long length) {
    while (file >= 0 && asked < pages(Math.min(bytes, offset + length + WINDOW_BYTES))) {
      askForWindow();
    }
  }

  private void askForWindow() {
    long from = (long) asked * PAGE_BYTES;
    int length = (int) Math.min(WINDOW_BYTES, bytes - from);
    if (window == null) {
      window = new byte[WINDOW_BYTES / PAGE_BYTES];
    }
    boolean known = Loaded.LIB_C.mincore(address + from, length, window) == 0;
    int count = pages(length);
    for (int i = 0; i < count; i++) {
      // What is not known is left alone.
      if (!known || (window[i] & 1) != 0) {
        resident.set(asked + i);
      }
    }
    asked += count;
  }

  /** All before this offset was read, and is not needed any more. */
  void wasRead(long end) {
    read = end;
    if (file >= 0 && end - given >= STEP_BYTES) {
      mapped.whileMapped(() -> giveBack(end));
    }
  }

  private void giveBack(long end) {
    // Once more what was before it: of the runs of pages that the system read at once, which it
    // gives back as a whole or not, the last one was not at its end.
    int page = resident.nextClearBit((int) (Math.max(0, given - STEP_BYTES) / PAGE_BYTES));
    int after = Math.min(asked, pages(end));
    while (page < after) {
      int next = resident.nextSetBit(page);
      int last = next < 0 ? after : Math.min(after, next);
      long from = (long) page * PAGE_BYTES;
      long length = (long) (last - page) * PAGE_BYTES;
      int unused = PosixAPI.posix().madvise(address + from, length, MAdviseFlag.MADV_DONTNEED);
      unused = Loaded.LIB_C.posix_fadvise(file, from, length, DONT_NEED);
      page = resident.nextClearBit(last);
    }
    given = end;
  }

  private static int pages(long bytes) {
    return Math.toIntExact((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
  }

  @Override
  public void close() {
    if (file >= 0) {
      mapped.whileMapped(() -> giveBack(read));
      int unused = PosixAPI.posix().close(file);
    }
  }
}
