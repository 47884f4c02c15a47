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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * Replies of a server in its protocol (RESP3, redis/redis-specifications), of which none is larger
 * than what this module asks for, or takes longer than its time. Jedis makes room for as many bytes
 * or elements as a reply announces, so a server that lies could take all of the heap; and it waits
 * for each next byte anew.
 *
 * <p>Each reply starts with a byte for its type, and a line. A number in that line is the size of
 * what follows: in bytes for strings, in replies for aggregates.
 */
final class BoundedReplies extends FilterInputStream {
  private static final String STRINGS = "$=!";
  private static final String AGGREGATES = "*%~>|";

  /** Stands for the type of the line end behind a string, which is an empty line. */
  private static final int STRING_END = -1;

  /** In one reply, all aggregates together. */
  private static final int MOST_ELEMENTS = 1 << 12;

  private static final int MOST_LINE_BYTES = 1 << 12;

  private long deadlineNanos = Long.MAX_VALUE;
  private int elements;

  /** The type of the reply whose line is being read; 0 at the start of a reply. */
  private int type;

  private int lineBytes;
  private boolean isNegative;
  private boolean hasReturn;
  private long size;

  /** What is left of a string, without its line end. */
  private long skipped;

  BoundedReplies(InputStream in) {
    super(in);
  }

  /** Begins the next reply to a command. */
  void begin(long mostNanos) {
    deadlineNanos = System.nanoTime() + mostNanos;
    elements = 0;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int from, int length) throws IOException {
    boolean isLate = deadlineNanos != Long.MAX_VALUE && System.nanoTime() - deadlineNanos > 0;
    // Whoever gives up waiting interrupts this thread.
    if (isLate || Thread.currentThread().isInterrupted()) {
      throw new IOException("the reply takes too long");
    }
    int count = super.read(bytes, from, length);
    for (int i = from; i < from + count; i++) {
      if (skipped > 0) {
        int strings = (int) Math.min(skipped, from + count - i);
        skipped -= strings;
        i += strings - 1;
      } else {
        check(bytes[i]);
      }
    }
    return count;
  }

  private void check(int read) throws IOException {
    if (type == 0) {
      type = read;
      lineBytes = 0;
      size = 0;
      isNegative = false;
      hasReturn = false;
      return;
    }
    lineBytes++;
    if (hasReturn) {
      expect(read == '\n');
      endLine();
    } else if (read == '\r') {
      hasReturn = true;
    } else if (hasSize()) {
      // The size of what does not exist is -1.
      if (read == '-' && lineBytes == 1) {
        isNegative = true;
      } else {
        expect(read >= '0' && read <= '9');
        size = 10 * size + (read - '0');
        expect(size <= (isNegative ? 1 : SharedCache.MOST_SEALED_BYTES));
      }
    } else {
      expect(type != STRING_END && read != '\n' && lineBytes <= MOST_LINE_BYTES);
    }
  }

  private void endLine() throws IOException {
    if (STRINGS.indexOf(type) >= 0 && !isNegative) {
      skipped = size;
      type = STRING_END;
      lineBytes = 0;
      hasReturn = false;
      return;
    }
    if (AGGREGATES.indexOf(type) >= 0 && !isNegative) {
      elements += (int) Math.min(size, MOST_ELEMENTS + 1);
      expect(elements <= MOST_ELEMENTS);
    }
    type = 0;
  }

  private boolean hasSize() {
    return STRINGS.indexOf(type) >= 0 || AGGREGATES.indexOf(type) >= 0;
  }

  private static void expect(boolean isRight) throws IOException {
    if (!isRight) {
      throw new IOException("not a reply to what was asked");
    }
  }
}
