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

import java.io.UncheckedIOException;
import java.util.stream.IntStream;

/**
 * A parallel check whether a large file still has the content of a list. The caller checks the file
 * piece by piece, and idle threads of Java's common pool take over some pieces. Reading and hashing
 * a file of tens of megabytes takes milliseconds; under trust {@code never}, each lookup waits for
 * that. Under load, each caller does more of the work alone.
 */
final class SharedCheck {
  /** The least size of a piece. Smaller files than two pieces get no helper. */
  private static final int MIN_PIECE = 1 << 20;

  /** Each thread that takes part needs a reader. */
  private static final int MAX_PIECES = 4;

  private SharedCheck() {}

  /** Whether helpers would take part in the check of a list. */
  static boolean isWorthwhile(ParsedRefs list) {
    return list.textBytes() >= 2 * MIN_PIECE && Runtime.getRuntime().availableProcessors() > 1;
  }

  /**
   * Returns whether an open file has exactly the text of a list.
   *
   * @return false if the text differs, or if a thread failed: the caller then reads the whole file,
   *     and sees the failure if it persists
   */
  static boolean matches(FileText text, Root root, ReaderPool readers) {
    int pieces = (int) Math.min(MAX_PIECES, root.textBytes() / MIN_PIECE);
    int[] firsts = IntStream.rangeClosed(0, pieces).map(i -> root.blocks * i / pieces).toArray();
    long[] starts = new long[pieces + 1];
    // The last piece extends to the end of the file, so that additional text is found.
    starts[pieces] = Long.MAX_VALUE;
    long position = 0;
    for (int block = 0, i = 0; block < root.blocks; block++) {
      if (block == firsts[i]) {
        starts[i++] = position;
      }
      position += root.textLength(block);
    }
    try {
      return IntStream.range(0, pieces)
          .parallel()
          .allMatch(
              i -> {
                TextSource part = text.part(starts[i], starts[i + 1]);
                return readers.matches(part, root, firsts[i], firsts[i + 1]);
              });
    } catch (UncheckedIOException | OutOfMemoryError e) {
      return false;
    }
  }
}
