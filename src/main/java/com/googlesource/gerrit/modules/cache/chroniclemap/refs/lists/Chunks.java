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

import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.BUFFER_WORD;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.HIGH_BITS;
import static com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.Words.LOW_BITS;

import java.nio.ByteBuffer;

/**
 * The content-defined chunks of a {@code packed-refs} file. Chunk boundaries only depend on nearby
 * bytes. Two files with the same run of lines therefore have the same chunks, except for the first
 * and the last chunk of the run. Forks share chunks, and a changed line changes one chunk.
 *
 * <p>A chunk ends behind a line feed that is not followed by {@code ^}, so that a tag and its
 * peeled id stay together. It ends behind the first such line feed at which it has {@link
 * #SOFT_MAX} bytes, or at which it has {@link #MIN} bytes and the site's key chooses the line of
 * the last ref. It ends at {@link #HARD_MAX} bytes in any case, and at the end of the file.
 */
final class Chunks {
  static final int MIN = 6 << 10;
  static final int SOFT_MAX = 16 << 10;
  static final int HARD_MAX = 24 << 10;

  /** One in so many lines ends a chunk of at least {@link #MIN} bytes. */
  private static final int ONE_IN = 40;

  private static final long LINE_FEEDS = '\n' * LOW_BITS;
  private static final long THRESHOLD = Long.divideUnsigned(-1L, ONE_IN);

  private Chunks() {}

  /**
   * Returns the end of the chunk that starts at {@code start}, for any bytes.
   *
   * @param text has at least 16 readable bytes after the limit
   * @param limit end of the available text: the end of the file, or at least {@link #HARD_MAX} + 1
   *     bytes from the start
   */
  static int end(SiteKey key, ByteBuffer text, int start, int limit) {
    int hard = Math.min(limit, start + HARD_MAX);
    // A line feed within the first MIN bytes does not end the chunk.
    int p = start + MIN - 1;
    if (p >= hard) {
      return hard;
    }
    int next = lineStart(text, start, p);
    // The last line that does not start with ^, and its end.
    int lineEnd = next - 1;
    int line = text.get(next) == '^' && next > start ? lineStart(text, start, lineEnd) : next;
    while (p < hard) {
      long differ = (long) BUFFER_WORD.get(text, p) ^ LINE_FEEDS;
      // The lowest bit that is set marks the first line feed.
      long feeds = (differ - LOW_BITS) & ~differ & HIGH_BITS;
      if (feeds == 0) {
        p += Long.BYTES;
        continue;
      }
      p += (Long.numberOfTrailingZeros(feeds) >>> 3) + 1;
      if (text.get(next) != '^' || line == next) {
        line = next;
        lineEnd = p - 1;
      }
      if (p <= hard
          && (p == limit || text.get(p) != '^')
          && (p - start >= SOFT_MAX || isChosen(key, text, line, lineEnd))) {
        return p;
      }
      next = p;
    }
    return hard;
  }

  /** Returns the start of the line with a position, in a text from a start on. */
  static int lineStart(ByteBuffer text, int start, int position) {
    int p = position;
    while (p > start && text.get(p - 1) != '\n') {
      p--;
    }
    return p;
  }

  /** Hashes the whole line, as any part may be the same in all lines. */
  private static boolean isChosen(SiteKey key, ByteBuffer text, int line, int lineEnd) {
    long even = (long) lineEnd - line;
    long odd = 0;
    int p = line;
    for (; p + 2 * Long.BYTES <= lineEnd; p += 2 * Long.BYTES) {
      even = (even + (long) BUFFER_WORD.get(text, p)) * key.boundary0;
      odd = (odd + (long) BUFFER_WORD.get(text, p + Long.BYTES)) * key.boundary1;
    }
    int rest = lineEnd - p;
    if (rest >= Long.BYTES) {
      even = (even + (long) BUFFER_WORD.get(text, p)) * key.boundary0;
      rest -= Long.BYTES;
      p += Long.BYTES;
    }
    long last = (long) BUFFER_WORD.get(text, p) & ((1L << (rest * Byte.SIZE)) - 1);
    odd = (odd + last) * key.boundary1;
    return Long.compareUnsigned(even + odd, THRESHOLD) < 0;
  }
}
