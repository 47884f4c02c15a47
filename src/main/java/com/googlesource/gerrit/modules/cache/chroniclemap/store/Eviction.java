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

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Chooses what leaves a segment that is full: the records of least use, until a share of the
 * segment is free.
 *
 * <p>No list of keys is kept anywhere: all that is known of a record's use stands in the record
 * itself and in {@link Usage}. One pass over the segment collects what each record is worth, a
 * second one the keys of those that go. Both take about a tenth of a microsecond a record; as a
 * share of the segment is freed at a time, a put pays for about eight records.
 *
 * <p>For the holder of the store's writer lock.
 */
final class Eviction {
  private static final int INDEX_BITS = 20;
  private static final long INDEX_MASK = (1L << INDEX_BITS) - 1;

  private final ChronicleFile file;
  private final Usage usage;

  /** Of each record of the segment its worth and, in the low bits, its place in the order. */
  private long[] ranks = new long[256];

  private int[] sizes = new int[256];
  private int count;

  Eviction(ChronicleFile file, Usage usage) {
    this.file = file;
    this.usage = usage;
  }

  /** Says of a record whether it must stay. */
  interface Keep {
    boolean mustStay(byte[] storedKey);
  }

  /**
   * The keys of the records that should go.
   *
   * @param share of the bytes of the segment's records that should be freed, above 0
   * @return empty if nothing can go
   */
  List<byte[]> victims(int segment, double share, Keep keep) {
    long now = usage.now();
    count = 0;
    long[] total = {0};
    file.scanSegment(
        segment,
        (storedKey, created, accessed, bytes) -> {
          total[0] += bytes;
          add(
              keep.mustStay(storedKey) ? Long.MAX_VALUE : usage.worth(storedKey, accessed, now),
              bytes);
        });
    boolean[] goes = choose((long) Math.ceil(total[0] * share));
    List<byte[]> victims = new ArrayList<>();
    int[] index = {0};
    file.scanSegment(
        segment,
        (storedKey, created, accessed, bytes) -> {
          int i = index[0]++;
          if (i < goes.length && goes[i] && !keep.mustStay(storedKey)) {
            victims.add(storedKey.clone());
            usage.evicted(now - accessed);
          }
        });
    return victims;
  }

  private void add(long worth, int bytes) {
    if (count > INDEX_MASK) {
      return;
    }
    if (count == ranks.length) {
      ranks = Arrays.copyOf(ranks, 2 * count);
      sizes = Arrays.copyOf(sizes, 2 * count);
    }
    long bounded = Math.clamp(worth, 0, Long.MAX_VALUE >>> INDEX_BITS);
    ranks[count] = bounded << INDEX_BITS | count;
    sizes[count] = bytes;
    count++;
  }

  private boolean[] choose(long bytes) {
    boolean[] goes = new boolean[count];
    Arrays.sort(ranks, 0, count);
    long freed = 0;
    for (int i = 0; i < count && freed < bytes; i++) {
      int index = (int) (ranks[i] & INDEX_MASK);
      goes[index] = true;
      freed += sizes[index];
    }
    return goes;
  }
}
