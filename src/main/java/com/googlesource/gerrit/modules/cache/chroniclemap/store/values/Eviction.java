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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Chooses what leaves a segment that is full: the records of least use, until a share of the
 * segment is free.
 *
 * <p>What goes first: what was asked for least often lately, and of equals the oldest. The newest
 * tenth stays whatever its frequency: it had no time to be asked for. When a record was last read
 * is not known, so that reads have nothing to write; that costs at most half a point of the hit
 * ratio. Chosen by simulation, beside LRU and the best policies known: {@code bin/bench hitratio}.
 *
 * <p>No list of keys is kept anywhere: how old a record is stands in the record itself, how often
 * it was asked for in {@link Usage}. One pass over the segment collects what each record is worth,
 * a second one the keys of those that go. Both take about a tenth of a microsecond a record; as a
 * share of the segment is freed at a time, a put pays for about eight records.
 *
 * <p>For the holder of the store's writer lock.
 */
final class Eviction {
  /** Records of a segment that are looked at, at most. */
  private static final int INDEX_BITS = 20;

  private static final long INDEX_MASK = (1L << INDEX_BITS) - 1;

  /** Bits for an age in milliseconds: nine years. */
  private static final int AGE_BITS = 38;

  private static final long MAX_AGE = (1L << AGE_BITS) - 1;

  /** One record in so many is young. */
  private static final int YOUNG_SHARE = 10;

  private final RecordMap map;
  private final Usage usage;

  /** In place of a frequency. */
  private static final int MUST_STAY = -1;

  /** Of each record of the segment, in the order of the pass. */
  private long[] ages = new long[256];

  private int[] frequencies = new int[256];
  private int[] sizes = new int[256];
  private int count;

  Eviction(RecordMap map, Usage usage) {
    this.map = map;
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
   * @param records in the whole file
   * @return empty if nothing can go
   */
  List<byte[]> victims(int segment, double share, long records, Keep keep) {
    usage.count(records);
    long now = usage.now();
    count = 0;
    map.scanSegment(
        segment,
        (storedKey, created, bytes) ->
            add(
                Math.min(Math.abs(now - created), MAX_AGE),
                keep.mustStay(storedKey) ? MUST_STAY : usage.frequency(storedKey),
                bytes));
    boolean[] goes = choose(share);
    List<byte[]> victims = new ArrayList<>();
    int[] index = {0};
    map.scanSegment(
        segment,
        (storedKey, created, bytes) -> {
          int i = index[0]++;
          if (i < goes.length && goes[i] && !keep.mustStay(storedKey)) {
            victims.add(storedKey.clone());
          }
        });
    return victims;
  }

  private void add(long age, int frequency, int bytes) {
    if (count > INDEX_MASK) {
      return;
    }
    if (count == ages.length) {
      ages = Arrays.copyOf(ages, 2 * count);
      frequencies = Arrays.copyOf(frequencies, 2 * count);
      sizes = Arrays.copyOf(sizes, 2 * count);
    }
    ages[count] = age;
    frequencies[count] = frequency;
    sizes[count] = bytes;
    count++;
  }

  private boolean[] choose(double share) {
    boolean[] goes = new boolean[count];
    if (count == 0) {
      return goes;
    }
    long[] sorted = Arrays.copyOf(ages, count);
    Arrays.sort(sorted);
    long young = sorted[count / YOUNG_SHARE];
    // The worth of each record and, in the low bits, its place in the order of the pass.
    long[] ranks = new long[count];
    long total = 0;
    for (int i = 0; i < count; i++) {
      ranks[i] = worth(i, young) << INDEX_BITS | i;
      total += sizes[i];
    }
    Arrays.sort(ranks);
    long freed = 0;
    long wanted = (long) Math.ceil(total * share);
    for (int i = 0; i < count && freed < wanted; i++) {
      int index = (int) (ranks[i] & INDEX_MASK);
      goes[index] = true;
      freed += sizes[index];
    }
    return goes;
  }

  /** Less than 2 to the power of 43. */
  private long worth(int index, long young) {
    if (frequencies[index] == MUST_STAY) {
      return (1L << 43) - 1;
    }
    long recency = MAX_AGE - ages[index];
    if (ages[index] < young) {
      return (Frequencies.MOST + 1L) << AGE_BITS | recency;
    }
    return (long) frequencies[index] << AGE_BITS | recency;
  }
}
