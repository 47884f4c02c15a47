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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import com.google.common.base.Splitter;
import java.util.Comparator;
import java.util.List;

/**
 * The id of a record in the log, which is also its place there: later records have higher ids. Both
 * numbers are unsigned, as they are in Redis.
 *
 * @param millis when the record was appended, by the clock of the log's server, since the epoch
 * @param number distinguishes records of the same millisecond
 */
record StreamId(long millis, long number) implements Comparable<StreamId> {
  /** Before all records. */
  static final StreamId START = new StreamId(0, 0);

  private static final Comparator<StreamId> ORDER =
      Comparator.comparing(StreamId::millis, Long::compareUnsigned)
          .thenComparing(StreamId::number, Long::compareUnsigned);

  /**
   * Parses what {@link #toString} returns, which is also the form of an id in Redis.
   *
   * @throws IllegalArgumentException if it is something else
   */
  static StreamId parse(String text) {
    List<String> parts = Splitter.on('-').splitToList(text);
    if (parts.size() != 2) {
      throw new IllegalArgumentException("no id: " + text);
    }
    return new StreamId(Long.parseUnsignedLong(parts.get(0)), Long.parseUnsignedLong(parts.get(1)));
  }

  @Override
  public int compareTo(StreamId other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return Long.toUnsignedString(millis) + "-" + Long.toUnsignedString(number);
  }
}
