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

import static com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChunkRoot.ID_LENGTH;

import com.google.common.hash.Hashing;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChunkRoot;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntUnaryOperator;

/**
 * A value cut into chunks by its content: whether a chunk ends at a byte depends on the 64 bytes
 * before it alone. Two versions of a value therefore have the same chunks, but for those in which
 * they differ, wherever bytes were inserted. So a value of 300 MB of which one entry has changed is
 * written as one or two chunks, the list of some hundred chunks around them, and the root.
 *
 * <p>Cutting takes about a millisecond a megabyte: a rolling hash (Gear, of W. Xia and others,
 * "Ddelta", 2014) finds the ends, and SHA-256 makes the ids.
 */
final class ContentChunks {
  /**
   * Bytes of a value from which on it is cut by content. Below, it costs little to write all of it.
   */
  static final int MIN_VALUE = 1 << 20;

  /** One in so many chunks ends a list of at least a quarter of that. */
  private static final int CHUNKS_A_LIST = 256;

  private static final long[] GEAR = new SplittableRandom(0x9E3779B97F4A7C15L).longs(256).toArray();

  /**
   * A part of the value.
   *
   * @param id of its content
   * @param bytes of which {@code [offset, offset + length)} is its content
   */
  record Part(byte[] id, byte[] bytes, int offset, int length) {}

  /** Chunks and lists, in the order in which to write them. */
  final List<Part> parts = new ArrayList<>();

  final ChunkRoot root;

  /**
   * Cuts a value.
   *
   * @param salt goes into the ids; that of the version before, so that equal parts have equal ids
   * @param most bytes of a part
   */
  ContentChunks(byte[] value, long salt, int most) {
    byte[] chunks = cut(value, salt, start -> end(value, start, most));
    byte[] lists = cut(chunks, salt, start -> endOfList(chunks, start, most));
    root = new ChunkRoot(salt, value.length, lists);
  }

  /** Adds the parts of some bytes; returns their ids, one behind the other. */
  private byte[] cut(byte[] bytes, long salt, IntUnaryOperator endOf) {
    ByteArrayOutputStream ids = new ByteArrayOutputStream();
    for (int start = 0, end; start < bytes.length; start = end) {
      end = endOf.applyAsInt(start);
      byte[] hash =
          Hashing.sha256()
              .newHasher()
              .putLong(salt)
              .putBytes(bytes, start, end - start)
              .hash()
              .asBytes();
      byte[] id = Arrays.copyOf(hash, ID_LENGTH);
      parts.add(new Part(id, bytes, start, end - start));
      ids.writeBytes(id);
    }
    return ids.toByteArray();
  }

  /**
   * A chunk has a quarter of the most bytes at least. From there on, one in so many bytes ends it,
   * so that it has half of the most bytes on average.
   */
  private static int end(byte[] bytes, int start, int most) {
    int limit = (int) Math.min(bytes.length, (long) start + most);
    int least = most / 4;
    int p = start + least;
    // So many of the highest bits, which depend on the most bytes, that one in `least` has none.
    long chosen = -1L << (Long.SIZE - Integer.numberOfTrailingZeros(Integer.highestOneBit(least)));
    long hash = 0;
    // The hash has forgotten what is more than 64 bytes ago.
    for (int i = Math.max(start, p - Long.SIZE); i < limit; i++) {
      hash = (hash << 1) + GEAR[bytes[i] & 0xff];
      if (i >= p && (hash & chosen) == 0) {
        return i + 1;
      }
    }
    return limit;
  }

  private static int endOfList(byte[] ids, int start, int most) {
    int limit = Math.min(ids.length - start, most / ID_LENGTH * ID_LENGTH) + start;
    for (int i = start + CHUNKS_A_LIST / 4 * ID_LENGTH; i < limit; i += ID_LENGTH) {
      if ((ids[i] & (CHUNKS_A_LIST - 1)) == 0) {
        return i + ID_LENGTH;
      }
    }
    return limit;
  }
}
