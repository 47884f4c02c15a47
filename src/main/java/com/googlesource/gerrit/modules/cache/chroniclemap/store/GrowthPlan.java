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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import java.util.OptionalLong;

/**
 * The plan of a store's growth: the sizes of its file, which are its limit, halved until it is
 * small. Each step at least doubles the size, so that the two files of a step together take at most
 * one and a half times the limit.
 *
 * @param maxBytes the store's limit
 */
record GrowthPlan(long maxBytes) {
  private static final long FIRST_BYTES = 4 << 20;

  /**
   * Room that a value needs in a file, as a multiple of its length, to find free runs of chunks.
   */
  private static final int ROOM_FACTOR = 4;

  /** Bytes of a file that is filled to seven tenths, as a multiple of its content. */
  private static final double CONTENT_FACTOR = 1.5;

  /** Where less than so many times the first files are free, they are smaller. */
  private static final int FIRST_SHARE = 32;

  /** Bytes of a volume that only the stores of secrets take. */
  private static final long RESERVED_BYTES = 16 << 20;

  /** Bytes of the first file. */
  long first() {
    return halved(FIRST_BYTES);
  }

  /**
   * Bytes of the first file on a volume where little may be free: many stores begin at once.
   *
   * @param free bytes that are free; 0 if that is not known
   */
  long first(long free) {
    long most = free == 0 ? FIRST_BYTES : Math.min(FIRST_BYTES, free / FIRST_SHARE);
    return halved(Math.max(most, Geometry.MIN_FILE_BYTES));
  }

  /** Bytes of a file that has room for some content. */
  long holding(long content) {
    return halved((long) (content * CONTENT_FACTOR));
  }

  /**
   * Bytes of a volume that a store may take for another file. The last ones are for the stores
   * whose values cannot be computed again.
   *
   * @param free bytes that are free; 0 if that is not known
   */
  static long available(OldValues kind, long free) {
    return free == 0 ? Long.MAX_VALUE : kind == OldValues.SECRET ? free : free - RESERVED_BYTES;
  }

  /** Bytes of a larger file: those that are wanted, or as many as are available, if that helps. */
  long fitting(long current, long wanted, long available) {
    long bytes = wanted;
    while (bytes > available && bytes / 2 >= current * 2) {
      bytes /= 2;
    }
    return bytes;
  }

  /** Returns the limit, halved as often as it does not get less than some bytes. */
  private long halved(long least) {
    long bytes = maxBytes;
    while (bytes / 2 >= least) {
      bytes /= 2;
    }
    return bytes;
  }

  /**
   * Bytes of the file after one of {@code current} bytes.
   *
   * @param valueLength bytes of the value that did not fit, or 0
   * @param content bytes that the file should have room for, about
   * @return empty if the file cannot grow
   */
  OptionalLong next(long current, long valueLength, long content) {
    if (current > maxBytes / 2) {
      return OptionalLong.empty();
    }
    long wanted =
        Math.max(
            Math.max(current * 2, valueLength * ROOM_FACTOR), (long) (content * CONTENT_FACTOR));
    return OptionalLong.of(halved(wanted));
  }

  /** Bytes of the file below one of {@code current} bytes; empty if there is none. */
  OptionalLong previous(long current) {
    return current / 2 < Math.min(FIRST_BYTES, maxBytes)
        ? OptionalLong.empty()
        : OptionalLong.of(current / 2);
  }
}
