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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.hitratio;

/**
 * How often a key was asked for, about: a Count-Min sketch of counters of 4 bits, 16 for each entry
 * that the cache can hold.
 *
 * <p>The counters of a key are in one block of 64 bytes, so that a look at them touches one line of
 * the processor's cache. Only the smallest of a key's counters are raised, which keeps rare keys
 * from looking frequent. Each slice of 4 KB forgets by itself: it halves its counters when it holds
 * too many requests, so that what was asked for long ago counts less and less.
 */
final class Sketch {
  /** The largest frequency: what a counter can hold. */
  static final int MOST = 15;

  private static final int BYTES_PER_ENTRY = 8;
  private static final int ROWS = 3;
  private static final int BLOCK_BYTES = 64;
  private static final int BLOCKS_PER_SLICE = 64;

  /** Requests that a slice holds at most: 12 for each of the entries it is there for. */
  private static final int REQUESTS_PER_SLICE =
      12 * (BLOCKS_PER_SLICE * BLOCK_BYTES / BYTES_PER_ENTRY);

  private static final long HALF_OF_EACH = 0x7777_7777_7777_7777L;

  /** Of 16 counters each. */
  private final long[] words;

  private final int[] requests;

  /** Makes a sketch of zeros for a cache of so many entries. */
  Sketch(long entries) {
    int slices = 1 + (int) (entries * BYTES_PER_ENTRY / (BLOCKS_PER_SLICE * BLOCK_BYTES));
    words = new long[slices * BLOCKS_PER_SLICE * BLOCK_BYTES / Long.BYTES];
    requests = new int[slices];
  }

  /** From 0 to {@link #MOST}. */
  int frequency(long hash) {
    int smallest = MOST;
    for (int row = 0; row < ROWS; row++) {
      smallest = Math.min(smallest, counter(hash, row));
    }
    return smallest;
  }

  void increment(long hash) {
    int smallest = frequency(hash);
    if (smallest == MOST) {
      return;
    }
    for (int row = 0; row < ROWS; row++) {
      if (counter(hash, row) == smallest) {
        words[word(hash, row)] += 1L << shift(hash, row);
      }
    }
    int slice = block(hash) / BLOCKS_PER_SLICE;
    if (++requests[slice] >= REQUESTS_PER_SLICE) {
      halve(slice);
    }
  }

  private void halve(int slice) {
    int wordsPerSlice = words.length / requests.length;
    int first = slice * wordsPerSlice;
    for (int i = first; i < first + wordsPerSlice; i++) {
      words[i] = (words[i] >>> 1) & HALF_OF_EACH;
    }
    requests[slice] /= 2;
  }

  private int counter(long hash, int row) {
    return (int) (words[word(hash, row)] >>> shift(hash, row)) & MOST;
  }

  // The upper 32 bits of the hash choose the block, and 7 of the others a counter for each row.

  private int block(long hash) {
    int blocks = requests.length * BLOCKS_PER_SLICE;
    return (int) (((hash >>> 32) * blocks) >>> 32);
  }

  private int word(long hash, int row) {
    return block(hash) * (BLOCK_BYTES / Long.BYTES) + ((int) (hash >>> (7 * row)) & 7);
  }

  private static int shift(long hash, int row) {
    return ((int) (hash >>> (7 * row + 3)) & 15) * 4;
  }
}
