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

  /** Bytes of the first file. */
  long first() {
    return halved(FIRST_BYTES);
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
