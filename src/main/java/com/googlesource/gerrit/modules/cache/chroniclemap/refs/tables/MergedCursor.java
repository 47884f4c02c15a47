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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import java.io.IOException;
import java.util.PriorityQueue;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.lib.Ref;

/**
 * A reader of the refs of a stack whose names start with a prefix, in order. The cost of a step
 * hardly grows with the number of tables where one of them has most of the refs. For one thread.
 */
final class MergedCursor {
  private record Level(int number, Cursor cursor) implements Comparable<Level> {
    @Override
    public int compareTo(Level other) {
      int names = Cursor.compareNames(cursor, other.cursor);
      return names != 0 ? names : other.number - number;
    }
  }

  private final byte[] prefix;

  /** The tables but the one with the current ref, each at its next ref. */
  private final PriorityQueue<Level> others = new PriorityQueue<>();

  /** The table with the current ref; null in front of the first one and behind the last one. */
  @Nullable private Level current;

  /**
   * Makes a reader in front of the first ref.
   *
   * @param from the least name, by its bytes; not less than the prefix
   */
  MergedCursor(Table[] tables, byte[] prefix, byte[] from) throws IOException {
    this.prefix = prefix;
    for (int i = 0; i < tables.length; i++) {
      Cursor cursor = tables[i].refs();
      if (cursor != null) {
        cursor.seek(from, from.length);
        addIfNext(new Level(i, cursor));
      }
    }
  }

  /** Moves a table to its next ref. */
  private boolean hasNext(Level level) throws IOException {
    return level.cursor.next() && level.cursor.startsWith(prefix);
  }

  private void addIfNext(Level level) throws IOException {
    if (hasNext(level)) {
      others.add(level);
    }
  }

  /** Moves to the next ref. Returns false behind the last one. */
  boolean next() throws IOException {
    do {
      if (current != null && !hasNext(current)) {
        current = null;
      }
      Level first = others.peek();
      if (first != null && (current == null || first.compareTo(current) < 0)) {
        others.remove();
        if (current != null) {
          others.add(current);
        }
        current = first;
      }
      if (current == null) {
        return false;
      }
      while (!others.isEmpty() && Cursor.compareNames(others.peek().cursor, current.cursor) == 0) {
        addIfNext(others.remove());
      }
    } while (current.cursor.isDeleted());
    return true;
  }

  Ref ref() throws IOException {
    return current.cursor.ref(current.cursor.name());
  }

  /** Whether the current ref is behind all refs with a prefix. */
  boolean isBehind(byte[] other) {
    return !startsWith(other) && current.cursor.compareName(other) > 0;
  }

  /** Whether the name of the current ref starts with some bytes. */
  boolean startsWith(byte[] some) {
    return current.cursor.startsWith(some);
  }
}
