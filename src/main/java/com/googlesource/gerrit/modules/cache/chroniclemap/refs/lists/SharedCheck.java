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

import com.google.common.util.concurrent.Futures;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * A parallel check whether a large file still has the content of a list. The caller checks the file
 * piece by piece, and helpers take over some pieces. Reading and hashing a file of tens of
 * megabytes takes milliseconds; under trust {@code never}, each lookup waits for that. All callers
 * share as many helpers as there are further processors, so under load each caller does more of the
 * work alone. The helpers are no threads of Java's common pool, as those serve all of Gerrit, and a
 * network file system may hold them up.
 */
final class SharedCheck {
  /** The least size of a piece. A file of less than two pieces gets no helper. */
  private static final int MIN_PIECE = 1 << 20;

  /** Each thread that takes part needs a reader. */
  private static final int MAX_PIECES = 4;

  /** A permit for each helper. */
  private static final Semaphore HELPERS =
      new Semaphore(Runtime.getRuntime().availableProcessors() - 1);

  private SharedCheck() {}

  /**
   * Returns whether an open file has exactly the text of a list.
   *
   * @return false if the text differs, or if a helper failed: the caller then reads the whole file,
   *     and sees the failure if it persists
   */
  static boolean matches(FileText text, ParsedRefs list, ReaderPool readers) throws IOException {
    int pieces = (int) Math.max(1, Math.min(MAX_PIECES, list.textBytes() / MIN_PIECE));
    int[] firsts = IntStream.rangeClosed(0, pieces).map(i -> list.blocks() * i / pieces).toArray();
    long[] starts = new long[pieces + 1];
    // The last piece extends to the end of the file, so that additional text is found.
    starts[pieces] = Long.MAX_VALUE;
    long position = 0;
    for (int block = 0, i = 0; block < list.blocks(); block++) {
      if (block == firsts[i]) {
        starts[i++] = position;
      }
      position += list.blocks[block].textLength;
    }
    AtomicInteger next = new AtomicInteger();
    Check check =
        () -> {
          for (int i = next.getAndIncrement(); i < pieces; i = next.getAndIncrement()) {
            TextSource part = text.part(starts[i], starts[i + 1]);
            if (!readers.matches(part, list, firsts[i], firsts[i + 1])) {
              next.set(pieces); // nobody needs the other pieces
              return false;
            }
          }
          return true;
        };
    List<Future<Boolean>> helpers = new ArrayList<>();
    while (helpers.size() < pieces - 1 && HELPERS.tryAcquire()) {
      try {
        helpers.add(UninterruptedThreads.start(() -> asHelper(check)));
      } catch (OutOfMemoryError e) { // no further thread can be started
        HELPERS.release();
        break;
      }
    }
    boolean same = false;
    try {
      same = check.run();
    } finally {
      next.set(pieces); // after a failure, too
      for (Future<Boolean> helper : helpers) {
        same &= Futures.getUnchecked(helper);
      }
    }
    return same;
  }

  private interface Check {
    boolean run() throws IOException;
  }

  private static boolean asHelper(Check check) {
    try {
      return check.run();
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      return false;
    } finally {
      HELPERS.release();
    }
  }
}
