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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_INT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_SHORT;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_WORD;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.AnyObjectId;

/**
 * An index from ids to the blocks of a list that may have them, in direct memory. All object ids
 * and peeled ids are in it as hashes, of which a bucket and 16 more bits are compared. Callers
 * compare the ids in the blocks, so a collision only costs time.
 *
 * <p>The layout is the start of each bucket, as an int, and then the entries: 16 bits of the hash
 * and 32 bits for the number of the block. An id that several refs of a block have is entered about
 * once. The index thus takes 6.5 bytes for each ref, 12.5 if all refs are annotated tags, and less
 * if refs share ids. A question reads a bucket with 8 entries on average (16 for tags) and an entry
 * for each block that has the id. To make the index, all blocks are read twice.
 *
 * <p>Hashes depend on a secret of the process, so nobody can make ids that fill one bucket.
 *
 * <p>Immutable. Any thread may read.
 */
record IdIndex(ByteBuffer memory, int buckets) {
  /** So many blocks are read as fast as an index answers (10 microseconds). */
  static final int MAX_UNINDEXED_BLOCKS = 16;

  private static final int REFS_A_BUCKET = 8;
  private static final int TAG_BITS = 16;
  private static final int TAG = (1 << TAG_BITS) - 1;
  private static final int ENTRY_BYTES = 6;

  /** Of a list in which each ref has an id of its own. */
  static final long MIN_BYTES_A_REF = ENTRY_BYTES;

  /** As each entry is read with the two bytes behind it. */
  private static final int PADDING = 2;

  /** How many ids of a block are remembered in order to enter them once. */
  private static final int SEEN = 256;

  private static final long[] SECRET = new SecureRandom().longs(3).toArray();

  /** Makes the index of a list. Returns null if there is no memory for it. */
  @Nullable
  static IdIndex of(ParsedRefs list, ListMemory allocator) {
    int buckets = list.size() / REFS_A_BUCKET + 1;
    // The number of entries of each bucket, and then the place of the bucket's next entry.
    int[] next = new int[buckets];
    forEachBlock(
        list,
        (block, hashes, count) -> {
          for (int i = 0; i < count; i++) {
            next[bucket(hashes[i], buckets)]++;
          }
        });
    long entries = IntStream.of(next).asLongStream().sum();
    ByteBuffer memory =
        allocator.allocateIdIndex((buckets + 1L) * Integer.BYTES + entries * ENTRY_BYTES + PADDING);
    if (memory == null) {
      return null;
    }
    int at = (buckets + 1) * Integer.BYTES;
    for (int i = 0; i < buckets; i++) {
      int count = next[i];
      BUFFER_INT.set(memory, i * Integer.BYTES, at);
      next[i] = at;
      at += count * ENTRY_BYTES;
    }
    BUFFER_INT.set(memory, buckets * Integer.BYTES, at);
    forEachBlock(
        list,
        (block, hashes, count) -> {
          for (int i = 0; i < count; i++) {
            int bucket = bucket(hashes[i], buckets);
            int place = next[bucket];
            next[bucket] = place + ENTRY_BYTES;
            BUFFER_SHORT.set(memory, place, (short) hashes[i]);
            BUFFER_INT.set(memory, place + Short.BYTES, block);
          }
        });
    return new IdIndex(memory, buckets);
  }

  private interface Entries {
    void add(int block, long[] hashes, int count);
  }

  /**
   * Passes on the ids of each block, most of them once. The same ids are passed on each time. They
   * are passed on together, since each leads to another place in memory: a short loop over them
   * lets the processor fetch many places at the same time, and takes less than half of the time.
   */
  private static void forEachBlock(ParsedRefs list, Entries entries) {
    BlockView view = new BlockView();
    long[] seen = new long[SEEN];
    long[] hashes = {};
    for (int block = 0; block < list.blocks(); block++) {
      list.open(view, block);
      if (hashes.length < 2 * view.count) {
        hashes = new long[4 * view.count];
      }
      entries.add(block, hashes, mostlyDistinct(hashes, view.hashIds(hashes), seen));
    }
  }

  /** Moves the hashes of a block together, most of them once, and returns their number. */
  private static int mostlyDistinct(long[] hashes, int count, long[] seen) {
    Arrays.fill(seen, 0);
    int distinct = 0;
    for (int i = 0; i < count; i++) {
      int slot = (int) (hashes[i] >>> TAG_BITS) & (SEEN - 1);
      if (seen[slot] != hashes[i]) {
        seen[slot] = hashes[i];
        hashes[distinct++] = hashes[i];
      }
    }
    return distinct;
  }

  /** Hashes the 20 bytes of an id. Never 0. */
  static long hash(long first, long second, int last) {
    long hash = mix(first ^ SECRET[0], second ^ SECRET[1]);
    hash = mix(hash ^ SECRET[2], last ^ SECRET[0]);
    return hash == 0 ? 1 : hash;
  }

  static long hash(AnyObjectId id) {
    int[] words = new int[5];
    id.copyRawTo(words, 0);
    return hash(join(words[0], words[1]), join(words[2], words[3]), words[4]);
  }

  private static long join(int high, int low) {
    return ((long) high << Integer.SIZE) | (low & 0xFFFFFFFFL);
  }

  /** Multiplies and folds the product, in which each bit of the factors has an effect. */
  private static long mix(long a, long b) {
    return Math.multiplyHigh(a, b) ^ (a * b);
  }

  private static int bucket(long hash, int buckets) {
    return (int) (((hash >>> Integer.SIZE) * buckets) >>> Integer.SIZE);
  }

  /** Returns the blocks between two that may have an id, in order. */
  int[] find(AnyObjectId id, int first, int last) {
    long hash = hash(id);
    int bucket = bucket(hash, buckets);
    int at = (int) BUFFER_INT.get(memory, bucket * Integer.BYTES);
    int end = (int) BUFFER_INT.get(memory, (bucket + 1) * Integer.BYTES);
    int[] found = new int[2];
    int count = 0;
    for (; at < end; at += ENTRY_BYTES) {
      long entry = (long) BUFFER_WORD.get(memory, at);
      if (((entry ^ hash) & TAG) == 0) {
        if (count == found.length) {
          found = Arrays.copyOf(found, 2 * count);
        }
        found[count++] = (int) (entry >>> TAG_BITS);
      }
    }
    return Arrays.stream(found, 0, count)
        .filter(block -> block >= first && block <= last)
        .sorted()
        .distinct()
        .toArray();
  }

  int bytes() {
    return memory.capacity();
  }
}
