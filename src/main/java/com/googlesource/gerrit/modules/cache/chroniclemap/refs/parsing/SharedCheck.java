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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.parsing;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Root;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Checks whether a large file still has the content of a list, piece by piece: the caller does
 * that, and helpers that have nothing else to do take pieces from it. Reading and hashing take
 * milliseconds for a file of tens of megabytes, which under trust {@code never} each look waits
 * for.
 *
 * <p>There are never more helpers than half of the processors, for all repositories together, so
 * under load each caller does more of it alone. Any thread may call.
 */
public final class SharedCheck implements AutoCloseable {
  /** Bytes of text in a piece, about; where there are fewer than two pieces nobody helps. */
  private static final int PIECE = 1 << 20;

  private static final int MOST_HELPERS = 3;
  private static final long KEEP_SECONDS = 10;

  private final ReaderPool readers;
  private final ThreadPoolExecutor helpers;
  private final int mostHelpers;

  public SharedCheck(ReaderPool readers) {
    this(readers, Math.min(MOST_HELPERS, Runtime.getRuntime().availableProcessors() / 2));
  }

  /** Makes it with so many helpers at most. */
  public SharedCheck(ReaderPool readers, int mostHelpers) {
    this.readers = readers;
    this.mostHelpers = mostHelpers;
    this.helpers =
        new ThreadPoolExecutor(
            0,
            Math.max(1, mostHelpers),
            KEEP_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            task -> {
              Thread thread = new Thread(task, "cache-chroniclemap-refs-check");
              thread.setDaemon(true);
              return thread;
            });
  }

  /** Whether anybody would help with a list. */
  public boolean isWorthwhile(ParsedRefs list) {
    return mostHelpers > 0 && !list.root().irregular() && list.textBytes() >= 2 * PIECE;
  }

  /**
   * Returns whether an open file has just the text of a list.
   *
   * @return true only if so; false if not, or if a helper failed
   */
  public boolean matches(FileText text, ParsedRefs list) throws IOException {
    Run run = new Run(text, list.root());
    try {
      for (int i = 0; i < Math.min(mostHelpers, run.pieces() - 1); i++) {
        helpers.execute(run::help);
      }
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // The others have all of them, the server stops, or there can be no more threads.
    }
    try {
      run.checkPieces();
    } finally {
      run.awaitHelpers();
    }
    return run.isSame();
  }

  /** Nobody helps any more. */
  @Override
  public void close() {
    helpers.shutdown();
  }

  private final class Run {
    private final FileText text;
    private final Root root;

    /** First block of each piece, and the number of blocks. */
    private final int[] firsts;

    /** Where the pieces begin in the text. */
    private final long[] starts;

    private final int pieces;
    private final AtomicInteger next = new AtomicInteger();
    private volatile boolean differs;

    // Guarded by this.
    private int helping;
    private boolean over;

    Run(FileText text, Root root) {
      this.text = text;
      this.root = root;
      int most = (int) (root.textBytes() / PIECE) + 2;
      firsts = new int[most];
      starts = new long[most];
      int n = 0;
      long position = 0;
      for (int block = 0; block < root.blocks(); block++) {
        if (position >= (long) n * PIECE) {
          firsts[n] = block;
          starts[n++] = position;
        }
        position += root.textLength(block);
      }
      pieces = n;
      firsts[n] = root.blocks();
      // What comes after the last block must be seen.
      starts[n] = Long.MAX_VALUE;
    }

    int pieces() {
      return pieces;
    }

    boolean isSame() {
      return !differs;
    }

    /** Checks pieces until none is left or one differs. */
    void checkPieces() throws IOException {
      FileText.Part part = text.part();
      PackedRefsReader reader = readers.take();
      try {
        int piece = next.getAndIncrement();
        while (piece < pieces && !differs) {
          part.set(starts[piece], starts[piece + 1]);
          if (!reader.matches(part, root, firsts[piece], firsts[piece + 1])) {
            differs = true;
          }
          piece = next.getAndIncrement();
        }
      } finally {
        readers.giveBack(reader);
      }
    }

    void help() {
      if (!enter()) {
        return;
      }
      try {
        checkPieces();
      } catch (IOException | RuntimeException | Error e) {
        // The caller reads it all, and sees the failure if it is one.
        differs = true;
      } finally {
        leave();
      }
    }

    private synchronized boolean enter() {
      if (!over) {
        helping++;
      }
      return !over;
    }

    private synchronized void leave() {
      helping--;
      notifyAll();
    }

    /** Waits for those who have begun; nobody begins any more. */
    synchronized void awaitHelpers() {
      over = true;
      boolean interrupted = false;
      while (helping > 0) {
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true; // each has one piece to do
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
