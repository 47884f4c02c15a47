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
 * than what this module asks for. Jedis makes room for as many bytes or elements as a reply
 * announces, so a server that lies could take all of the heap.
 *
 * <p>Each reply starts with a byte for its type, and a line. A number in that line is the size of
 * what follows: in bytes for strings, in replies for aggregates.
 */
final class BoundedReplies extends FilterInputStream {
  private static final String STRINGS = "$=!";
  private static final String AGGREGATES = "*%~>|";
  private static final int MOST_ELEMENTS = 1 << 16;
  private static final int LINE_END = 2;

  /** The type of the reply whose line is being read; 0 at the start of a reply. */
  private int type;

  private long size;

  /** What is left of a string and its line end. */
  private long skipped;

  BoundedReplies(InputStream in) {
    super(in);
  }

  @Override
  public int read() throws IOException {
    int read = super.read();
    if (read >= 0) {
      check(read);
    }
    return read;
  }

  @Override
  public int read(byte[] bytes, int from, int length) throws IOException {
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
    if (skipped > 0) {
      skipped--;
    } else if (type == 0) {
      type = read;
      size = 0;
    } else if (read == '\n') {
      // Nothing follows a string that does not exist, whose size is -1.
      skipped = isOneOf(STRINGS) && size >= 0 ? size + LINE_END : 0;
      type = 0;
    } else if (read == '-') {
      size = -1;
    } else if (read != '\r' && (isOneOf(STRINGS) || isOneOf(AGGREGATES))) {
      size = size < 0 ? size : 10 * size + (read - '0');
      if (read < '0' || read > '9' || size > most()) {
        throw new IOException("not a reply to what was asked");
      }
    }
  }

  private boolean isOneOf(String types) {
    return types.indexOf(type) >= 0;
  }

  private long most() {
    return isOneOf(STRINGS) ? SharedCache.MOST_BYTES : MOST_ELEMENTS;
  }
}
