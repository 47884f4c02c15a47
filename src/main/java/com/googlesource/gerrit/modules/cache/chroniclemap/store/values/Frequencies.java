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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * Approximate frequencies of keys: how often each was read lately. A Count-Min sketch of 4-bit
 * counters in one off-heap buffer, with 16 to 32 counters for each value that the store holds.
 *
 * <p>The three counters of a key are in one block of 64 bytes, so that reading them touches one
 * cache line of the processor. Only the smallest of them are incremented, which keeps rare keys
 * from looking frequent. Each slice of 4 KB halves its counters on its own when it holds too many
 * requests, so that older requests count less and less.
 *
 * <p>Sources: Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and
 * its applications" (2005); Estan and Varghese, "New directions in traffic measurement and
 * accounting" (2002) for incrementing only the smallest counters; Einziger, Friedman and Manes,
 * "TinyLFU: a highly efficient cache admission policy" (2017) for halving. The sizes were chosen by
 * simulation: see the decisions in {@code CONTRIBUTING.md}.
 *
 * <p>Safe for any thread. Of two concurrent increments one may be lost, which does no harm.
 */
final class Frequencies {
  /** The largest frequency, which is the maximum of a counter. */
  static final int MAX = 15;

  private static final int BYTES_PER_ENTRY = 8;
  private static final int ROWS = 3;
  private static final int BLOCK_BYTES = 64;
  private static final int WORDS_PER_BLOCK = BLOCK_BYTES / Long.BYTES;
  private static final int BLOCKS_PER_SLICE = 64;
  private static final int SLICE_BYTES = BLOCKS_PER_SLICE * BLOCK_BYTES;
  private static final int WORDS_PER_SLICE = SLICE_BYTES / Long.BYTES;

  /** Most bytes of off-heap memory for the counters of one store. */
  private static final long MAX_BYTES = 256 << 20;

  /** The requests at which a slice is halved: 12 for each value that it is meant for. */
  private static final int REQUESTS_PER_SLICE = 12 * SLICE_BYTES / BYTES_PER_ENTRY;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long HALF_OF_EACH = 0x7777_7777_7777_7777L;
  private static final long LOWEST_OF_EACH = 0x1111_1111_1111_1111L;

  /**
   * An estimate takes so many adjacent blocks for one. After {@link #load} they have the same keys
   * if they were saved as one block, and keep them for long where few others are read.
   */
  private static final int BLOCKS_TAKEN_FOR_ONE = 8;

  /** The slices that an estimate looks at: 256 KB, which takes 6 microseconds. */
  private static final int SLICES_SEEN = 64;

  private static final int MAGIC = 0x3253_5543;
  private static final int SAVED_HEADER_BYTES = 20;

  /** The largest size of saved frequencies, in bytes. */
  static final long MAX_SAVED_BYTES = SAVED_HEADER_BYTES + MAX_BYTES;

  private final ByteBuffer bytes;

  /** The same memory in words of 16 counters. */
  private final LongBuffer words;

  private final int[] requests;

  /** The requests that {@link #halve} took away. */
  private long forgotten;

  /** The number of values that these frequencies were made for. */
  final long entries;

  private Frequencies(int slices, long entries) {
    this.entries = entries;
    bytes = ByteBuffer.allocateDirect(slices * SLICE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    words = bytes.asLongBuffer();
    requests = new int[slices];
  }

  /** Makes counters that are all zero, for a store of this many values. */
  static Frequencies forEntries(long entries) {
    long bytes = Math.clamp(entries * BYTES_PER_ENTRY, SLICE_BYTES, MAX_BYTES);
    return new Frequencies((int) (Long.highestOneBit(2 * bytes - 1) / SLICE_BYTES), entries);
  }

  /**
   * Makes other frequencies approximately what these would be if made for as many values. Two
   * adjacent blocks become one block in a buffer of half the size, as they hold the same keys.
   */
  Frequencies resizedInto(Frequencies other) {
    int mine = requests.length * BLOCKS_PER_SLICE;
    int others = other.requests.length * BLOCKS_PER_SLICE;
    for (int i = 0; i < Math.max(mine, others); i++) {
      int from = (int) ((long) i * mine / Math.max(mine, others)) * WORDS_PER_BLOCK;
      int to = (int) ((long) i * others / Math.max(mine, others)) * WORDS_PER_BLOCK;
      for (int j = 0; j < WORDS_PER_BLOCK; j++) {
        other.words.put(to + j, largerOfEach(other.words.get(to + j), words.get(from + j)));
      }
    }
    other.countRequests();
    return other;
  }

  private static long largerOfEach(long a, long b) {
    long result = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 4) {
      result |= Math.max((a >>> shift) & MAX, (b >>> shift) & MAX) << shift;
    }
    return result;
  }

  /** Estimates the requests of each slice from its counters: a request increments up to three. */
  private void countRequests() {
    for (int slice = 0; slice < requests.length; slice++) {
      int sum = 0;
      for (int i = slice * WORDS_PER_SLICE; i < (slice + 1) * WORDS_PER_SLICE; i++) {
        long word = words.get(i);
        for (int shift = 0; shift < Long.SIZE; shift += 4) {
          sum += (int) (word >>> shift) & MAX;
        }
      }
      requests[slice] = sum / ROWS;
    }
  }

  /**
   * Encodes these frequencies for {@link #load}, with fewer counters if they would exceed the
   * limit. The format, little endian: magic (4), number of slices (4), values that the frequencies
   * were made for (8), CRC32C of the counters (4), counters. At least one slice is saved.
   */
  ByteBuffer save(long maxBytes) {
    Frequencies saved = this;
    while (SAVED_HEADER_BYTES + saved.bytes.capacity() > maxBytes && saved.requests.length > 1) {
      saved = saved.resizedInto(new Frequencies(saved.requests.length / 2, entries));
    }
    ByteBuffer out =
        ByteBuffer.allocateDirect(SAVED_HEADER_BYTES + saved.bytes.capacity())
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(MAGIC)
            .putInt(saved.requests.length)
            .putLong(entries)
            .putInt(0)
            .put(saved.bytes.duplicate().clear());
    // The checksum is of the copy, since other threads may count meanwhile.
    out.putInt(SAVED_HEADER_BYTES - Integer.BYTES, checksum(out));
    return out.flip();
  }

  private static int checksum(ByteBuffer saved) {
    CRC32C crc = new CRC32C();
    crc.update(saved.slice(SAVED_HEADER_BYTES, saved.capacity() - SAVED_HEADER_BYTES));
    return (int) crc.getValue();
  }

  /** Decodes saved frequencies. Empty if the bytes are not in the format of {@link #save}. */
  static Optional<Frequencies> load(ByteBuffer saved) {
    ByteBuffer in = saved.order(ByteOrder.LITTLE_ENDIAN);
    if (in.capacity() < SAVED_HEADER_BYTES + SLICE_BYTES || in.getInt(0) != MAGIC) {
      return Optional.empty();
    }
    int slices = in.getInt(4);
    long entries = in.getLong(8);
    if (slices < 1
        || Integer.bitCount(slices) != 1
        || slices > MAX_BYTES / SLICE_BYTES
        || in.capacity() != SAVED_HEADER_BYTES + (long) slices * SLICE_BYTES
        || in.getInt(SAVED_HEADER_BYTES - Integer.BYTES) != checksum(in)) {
      return Optional.empty();
    }
    Frequencies loaded = new Frequencies(slices, entries);
    loaded.bytes.duplicate().put(in.slice(SAVED_HEADER_BYTES, slices * SLICE_BYTES));
    loaded.countRequests();
    Frequencies fitting = forEntries(entries);
    return Optional.of(fitting.requests.length == slices ? loaded : loaded.resizedInto(fitting));
  }

  /** The frequency of a key, from 0 to {@link #MAX}. */
  int of(long hash) {
    int smallest = MAX;
    for (int row = 0; row < ROWS; row++) {
      smallest = Math.min(smallest, counter(hash, row));
    }
    return smallest;
  }

  void increment(long hash) {
    int smallest = of(hash);
    if (smallest == MAX) {
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

  /**
   * The requests since these frequencies were made or loaded, and about those that they began with.
   * The cost grows with the number of slices.
   */
  long requests() {
    long sum = forgotten;
    for (int each : requests) {
      sum += each;
    }
    return sum;
  }

  /**
   * Estimates how many keys were read at least three times lately. Linear counting (Whang,
   * Vander-Zanden and Taylor, 1990) on the counters above 2: of n keys that each chose {@value
   * #ROWS} of m counters at random, a share of e^(-n * ROWS / m) is chosen by none. A pass over
   * keys that are read once or twice brings few counters above 2, though many collide.
   *
   * <p>Looks at {@value #SLICES_SEEN} slices at most, as each has a sample of the keys.
   */
  long inUse() {
    int seen = Math.min(requests.length, SLICES_SEEN) * WORDS_PER_SLICE;
    long above = 0;
    for (int i = 0; i < seen / BLOCKS_TAKEN_FOR_ONE; i++) {
      int first = i + i / WORDS_PER_BLOCK * WORDS_PER_BLOCK * (BLOCKS_TAKEN_FOR_ONE - 1);
      long any = 0;
      for (int block = 0; block < BLOCKS_TAKEN_FOR_ONE; block++) {
        long word = words.get(first + block * WORDS_PER_BLOCK);
        any |= (word & (word >>> 1)) | (word >>> 2) | (word >>> 3);
      }
      above += Long.bitCount(any & LOWEST_OF_EACH);
    }
    double counters = seen * 16.0 / BLOCKS_TAKEN_FOR_ONE;
    double keys =
        -Math.log(1 - Math.min((double) above, counters - 1) / counters) * counters / ROWS;
    return Math.round(keys * requests.length * WORDS_PER_SLICE / seen);
  }

  private void halve(int slice) {
    int first = slice * WORDS_PER_SLICE;
    for (int i = first; i < first + WORDS_PER_SLICE; i++) {
      words.put(i, (words.get(i) >>> 1) & HALF_OF_EACH);
    }
    int left = requests[slice] / 2;
    forgotten += requests[slice] - left;
    requests[slice] = left;
  }

  private int counter(long hash, int row) {
    return (int) (words.get(word(hash, row)) >>> shift(hash, row)) & MAX;
  }

  // The upper 32 bits of a hash choose the block. For each row, 7 of the lower bits choose a
  // counter within the block.

  private int block(long hash) {
    long blocks = (long) requests.length * BLOCKS_PER_SLICE;
    return (int) (((hash >>> 32) * blocks) >>> 32);
  }

  private int word(long hash, int row) {
    return block(hash) * WORDS_PER_BLOCK + ((int) (hash >>> (7 * row)) & 7);
  }

  private static int shift(long hash, int row) {
    return ((int) (hash >>> (7 * row + 3)) & 15) * 4;
  }

  /**
   * Hashes a key, eight bytes at a time. Saved counters depend on this: whoever changes it must
   * change {@link #MAGIC} too.
   *
   * @param length the length of the key, which is at the beginning of {@code bytes}
   */
  static long hash(byte[] bytes, int length) {
    long hash = length;
    int at = 0;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      hash = step(hash, (long) LONG.get(bytes, at));
    }
    long rest = 0;
    for (; at < length; at++) {
      rest = rest << Byte.SIZE | (bytes[at] & 0xff);
    }
    hash = step(hash, rest);
    // The finalizer of MurmurHash3 by Austin Appleby, which is in the public domain.
    hash = (hash ^ (hash >>> 33)) * 0xff51afd7ed558ccdL;
    hash = (hash ^ (hash >>> 33)) * 0xc4ceb9fe1a85ec53L;
    return hash ^ (hash >>> 33);
  }

  /** Multiplies by an odd number, so that no step forgets anything, and mixes high bits down. */
  private static long step(long hash, long word) {
    long mixed = (hash ^ word) * 0x9E3779B97F4A7C15L;
    return mixed ^ (mixed >>> 32);
  }
}
