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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;

/**
 * How often a key was asked for lately, about: a Count-Min sketch of counters of 4 bits, 16 for
 * each value that the store holds, in one off-heap buffer.
 *
 * <p>The three counters of a key are in one block of 64 bytes, so that a look at them touches one
 * line of the processor's cache. Only the smallest of them are raised, which keeps rare keys from
 * looking frequent. Each slice of 4 KB forgets by itself: it halves its counters when it holds too
 * many requests, so that what was asked for long ago counts less and less.
 *
 * <p>Sources: Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and
 * its applications" (2005); Estan and Varghese, "New directions in traffic measurement and
 * accounting" (2002) for raising the smallest only; Einziger, Friedman and Manes, "TinyLFU: a
 * highly efficient cache admission policy" (2017) for halving. The sizes were chosen by simulation:
 * {@code bin/bench hitratio}.
 *
 * <p>Safe for any thread. Threads that count at the same time may lose a count; nothing depends on
 * it.
 */
final class Frequencies {
  /** The largest frequency: what a counter can hold. */
  static final int MOST = 15;

  private static final int BYTES_PER_ENTRY = 8;
  private static final int ROWS = 3;
  private static final int BLOCK_BYTES = 64;
  private static final int BLOCKS_PER_SLICE = 64;
  private static final int SLICE_BYTES = BLOCKS_PER_SLICE * BLOCK_BYTES;
  private static final int WORDS_PER_SLICE = SLICE_BYTES / Long.BYTES;

  /** Off-heap memory that one store may take for this. */
  private static final long MAX_BYTES = 256 << 20;

  /** Requests that a slice holds at most: 12 for each of the values it is there for. */
  private static final int REQUESTS_PER_SLICE = 12 * SLICE_BYTES / BYTES_PER_ENTRY;

  private static final long HALF_OF_EACH = 0x7777_7777_7777_7777L;

  /** Of 16 counters each. */
  private final LongBuffer words;

  private final int[] requests;

  private final long entries;

  /** Begins with zeros, for a store of so many values. */
  Frequencies(long entries) {
    this.entries = entries;
    long bytes = Math.clamp(entries * BYTES_PER_ENTRY, SLICE_BYTES, MAX_BYTES);
    int slices = (int) ((bytes + SLICE_BYTES - 1) / SLICE_BYTES);
    words =
        ByteBuffer.allocateDirect(slices * SLICE_BYTES)
            .order(ByteOrder.nativeOrder())
            .asLongBuffer();
    requests = new int[slices];
  }

  /** The number of values it was made for. */
  long entries() {
    return entries;
  }

  /** From 0 to {@link #MOST}. */
  int of(long hash) {
    int smallest = MOST;
    for (int row = 0; row < ROWS; row++) {
      smallest = Math.min(smallest, counter(hash, row));
    }
    return smallest;
  }

  void increment(long hash) {
    int smallest = of(hash);
    if (smallest == MOST) {
      return;
    }
    for (int row = 0; row < ROWS; row++) {
      if (counter(hash, row) == smallest) {
        int word = word(hash, row);
        words.put(word, words.get(word) + (1L << shift(hash, row)));
      }
    }
    int slice = block(hash) / BLOCKS_PER_SLICE;
    if (++requests[slice] >= REQUESTS_PER_SLICE) {
      halve(slice);
    }
  }

  private void halve(int slice) {
    int first = slice * WORDS_PER_SLICE;
    for (int i = first; i < first + WORDS_PER_SLICE; i++) {
      words.put(i, (words.get(i) >>> 1) & HALF_OF_EACH);
    }
    requests[slice] /= 2;
  }

  private int counter(long hash, int row) {
    return (int) (words.get(word(hash, row)) >>> shift(hash, row)) & MOST;
  }

  // The upper 32 bits of the hash choose the block, and 7 of the others a counter for each row.

  private int block(long hash) {
    long blocks = (long) requests.length * BLOCKS_PER_SLICE;
    return (int) (((hash >>> 32) * blocks) >>> 32);
  }

  private int word(long hash, int row) {
    return block(hash) * (BLOCK_BYTES / Long.BYTES) + ((int) (hash >>> (7 * row)) & 7);
  }

  private static int shift(long hash, int row) {
    return ((int) (hash >>> (7 * row + 3)) & 15) * 4;
  }

  /**
   * The hash by which a key is counted.
   *
   * @param length bytes of {@code bytes} that are the key
   */
  static long hash(byte[] bytes, int length) {
    long hash = length;
    for (int i = 0; i < length; i++) {
      hash = hash * 0x100000001B3L + bytes[i];
    }
    // The end of MurmurHash3 by Austin Appleby, which is in the public domain.
    hash = (hash ^ (hash >>> 33)) * 0xff51afd7ed558ccdL;
    hash = (hash ^ (hash >>> 33)) * 0xc4ceb9fe1a85ec53L;
    return hash ^ (hash >>> 33);
  }
}
