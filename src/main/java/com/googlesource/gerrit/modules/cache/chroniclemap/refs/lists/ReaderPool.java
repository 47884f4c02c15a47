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

import java.io.IOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * A pool of idle readers, whose buffers are worth keeping. If none is idle, a new reader is made,
 * so no thread waits. Safe for any thread.
 */
final class ReaderPool {
  private final SiteKey key;
  private final BlockingQueue<PackedRefsReader> free;

  /**
   * Makes an empty pool.
   *
   * @param kept the largest number of idle readers
   */
  ReaderPool(SiteKey key, int kept) {
    this.key = key;
    this.free = new ArrayBlockingQueue<>(kept);
  }

  PackedRefsReader take() {
    PackedRefsReader reader = free.poll();
    return reader != null ? reader : new PackedRefsReader(key);
  }

  /** Has a reader check a text, see {@link PackedRefsReader#matches}. */
  boolean matches(TextSource from, ParsedRefs list, int first, int after) throws IOException {
    PackedRefsReader reader = take();
    try {
      return reader.matches(from, list, first, after);
    } finally {
      giveBack(reader);
    }
  }

  void giveBack(PackedRefsReader reader) {
    // A full pool drops the reader.
    var unused = free.offer(reader);
  }
}
