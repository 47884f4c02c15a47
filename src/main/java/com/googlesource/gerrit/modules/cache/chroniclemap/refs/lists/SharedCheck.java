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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists;

import java.io.IOException;
import java.util.concurrent.Phaser;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A parallel check whether a large file still has the content of a list. The caller checks the file
 * piece by piece, and idle helper threads take over some pieces. Reading and hashing a file of tens
 * of megabytes takes milliseconds; under trust {@code never}, each lookup waits for that.
 *
 * <p>All repositories share at most half as many helpers as there are processors, so under load
 * each caller does more work alone. Safe for any thread.
 */
final class SharedCheck implements AutoCloseable {
  /** The approximate size of a piece. Smaller files than two pieces get no helper. */
  private static final int PIECE = 1 << 20;

  private static final long KEEP_SECONDS = 10;

  private final ReaderPool readers;
  private final ThreadPoolExecutor helpers;
  private final int mostHelpers;

  /** Makes a check with at most so many helpers. */
  SharedCheck(ReaderPool readers, int mostHelpers) {
    this.readers = readers;
    this.mostHelpers = mostHelpers;
    this.helpers =
        new ThreadPoolExecutor(
            0,
            Math.max(1, mostHelpers),
            KEEP_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            Thread.ofPlatform().daemon().name("cache-chroniclemap-refs-check").factory());
  }

  /** Whether helpers would take part in the check of a list. */
  boolean isWorthwhile(ParsedRefs list) {
    return mostHelpers > 0 && list.root.textBytes() >= 2 * PIECE;
  }

  /**
   * Returns whether an open file has exactly the text of a list.
   *
   * @return false if the text differs, or if a helper failed
   */
  boolean matches(FileText text, ParsedRefs list) throws IOException {
    Run run = new Run(text, list.root);
    try {
      for (int i = 0; i < Math.min(mostHelpers, run.pieces - 1); i++) {
        helpers.execute(run::help);
      }
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // All helpers are busy, the server stops, or no thread can be started.
    }
    try {
      run.checkPieces();
    } finally {
      run.awaitHelpers();
    }
    return !run.differs;
  }

  /** Stops all helpers. */
  @Override
  public void close() {
    helpers.shutdown();
  }

  private final class Run {
    private final FileText text;
    private final Root root;

    /** The first block of each piece, followed by the number of blocks. */
    private final int[] firsts;

    /** The start of each piece in the text. */
    private final long[] starts;

    private final int pieces;
    private final AtomicInteger next = new AtomicInteger();
    private volatile boolean differs;

    /** The caller and the helpers that have begun. When all have ended, no other one can begin. */
    private final Phaser running = new Phaser(1);

    Run(FileText text, Root root) {
      this.text = text;
      this.root = root;
      int most = (int) (root.textBytes() / PIECE) + 2;
      firsts = new int[most];
      starts = new long[most];
      int n = 0;
      long position = 0;
      for (int block = 0; block < root.blocks; block++) {
        if (position >= (long) n * PIECE) {
          firsts[n] = block;
          starts[n++] = position;
        }
        position += root.textLength(block);
      }
      pieces = n;
      firsts[n] = root.blocks;
      // The last piece extends to the end of the file, so that additional text is found.
      starts[n] = Long.MAX_VALUE;
    }

    /** Checks pieces until none is left or one differs. */
    void checkPieces() throws IOException {
      PackedRefsReader reader = readers.take();
      try {
        int piece = next.getAndIncrement();
        while (piece < pieces && !differs) {
          TextSource part = text.part(starts[piece], starts[piece + 1]);
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
      if (running.register() < 0) {
        return;
      }
      try {
        checkPieces();
      } catch (IOException | RuntimeException | Error e) {
        // The caller then reads the whole file, and sees the failure if it persists.
        differs = true;
      } finally {
        var unused = running.arriveAndDeregister();
      }
    }

    /** Waits for the helpers that have begun. Those that begin meanwhile find no piece. */
    void awaitHelpers() {
      next.set(pieces);
      var unused = running.awaitAdvance(running.arriveAndDeregister());
    }
  }
}
