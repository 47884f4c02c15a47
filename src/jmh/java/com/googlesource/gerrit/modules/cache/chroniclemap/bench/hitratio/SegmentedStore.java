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


package com.googlesource.gerrit.modules.cache.chroniclemap.bench.hitratio;

import java.util.Arrays;

/**
 * A store in segments, as this module's: an entry lives in the segment of its hash, and a segment
 * that is full removes the entries of the lowest score until an eighth of it is free.
 */
final class SegmentedStore implements Policy {
  /**
   * How a store is made.
   *
   * @param score what is evicted
   * @param sketchBytes bytes of the sketch for each entry; 0 for none
   * @param rows of the sketch
   * @param mean the sketch is halved when its counters' mean is above
   * @param freeShare share of a segment to free
   * @param countPuts whether a put counts in the sketch, besides the get before
   */
  record Design(
      Score score,
      double sketchBytes,
      int rows,
      double mean,
      double freeShare,
      boolean countPuts) {}

  private static final long SEGMENT_BYTES = 1 << 20;
  private static final int MOST_SEGMENTS = 1024;
  private static final int LONGEST_TOUCH_INTERVAL = 60_000;

  private final Design design;
  private final int[] sizes;
  private final int segmentCount;
  private final long segmentBytes;
  private final int[][] members;
  private final int[] counts;
  private final long[] used;
  private final Sketch[] sketches;

  // Of each key; position is -1 if it is not stored.
  private final int[] position;
  private final int[] accessed;
  private final int[] created;

  private int now;
  private double evictedAge = -1;

  SegmentedStore(Design design, long capacity, int[] sizes) {
    this.design = design;
    this.sizes = sizes;
    segmentCount = (int) Math.max(1, Math.min(MOST_SEGMENTS, capacity / SEGMENT_BYTES));
    segmentBytes = capacity / segmentCount;
    members = new int[segmentCount][256];
    counts = new int[segmentCount];
    used = new long[segmentCount];
    sketches = new Sketch[segmentCount];
    long meanBytes = (long) Arrays.stream(sizes).average().orElseThrow();
    for (int i = 0; i < segmentCount; i++) {
      int bytes = (int) (design.sketchBytes() * segmentBytes / meanBytes);
      sketches[i] = new Sketch(bytes, design.rows());
    }
    position = new int[sizes.length];
    Arrays.fill(position, -1);
    accessed = new int[sizes.length];
    created = new int[sizes.length];
  }

  @Override
  public boolean request(int key) {
    now++;
    long hash = Hashes.of(key);
    int segment = (int) ((hash >>> 32) * segmentCount >>> 32);
    if (design.sketchBytes() > 0) {
      sketches[segment].increment(hash);
    }
    if (position[key] >= 0) {
      int interval =
          evictedAge < 0
              ? LONGEST_TOUCH_INTERVAL
              : (int) Math.min(LONGEST_TOUCH_INTERVAL, evictedAge / 64);
      if (now - accessed[key] > interval) {
        accessed[key] = now;
      }
      return true;
    }
    if (design.countPuts()) {
      sketches[segment].increment(hash);
    }
    if (used[segment] + sizes[key] > segmentBytes) {
      evict(segment, Math.max(sizes[key], (long) (segmentBytes * design.freeShare())));
    }
    insert(segment, key);
    return false;
  }

  private void insert(int segment, int key) {
    if (counts[segment] == members[segment].length) {
      members[segment] = Arrays.copyOf(members[segment], 2 * counts[segment]);
    }
    position[key] = counts[segment];
    members[segment][counts[segment]++] = key;
    used[segment] += sizes[key];
    accessed[key] = now;
    created[key] = now;
  }

  private void evict(int segment, long free) {
    int count = counts[segment];
    int[] keys = members[segment];
    Score.Span span = span(keys, count);
    sketches[segment].age(design.mean());
    // The index in the low bits, so that plain numbers can be sorted.
    long[] order = new long[count];
    for (int i = 0; i < count; i++) {
      int key = keys[i];
      int frequency =
          design.sketchBytes() > 0 ? sketches[segment].frequency(Hashes.of(key)) : 0;
      double score =
          design
              .score()
              .of(now - accessed[key], now - created[key], frequency, sizes[key], span);
      long bits = Double.doubleToLongBits(score);
      // Doubles of either sign in the order of longs.
      bits ^= (bits >> 63) & Long.MAX_VALUE;
      order[i] = (bits & ~0xFFFFL) | i;
    }
    int[] victims = new int[count];
    int victimCount = 0;
    Arrays.sort(order);
    long freed = segmentBytes - used[segment];
    double ages = 0;
    while (freed < free) {
      int key = keys[(int) (order[victimCount] & 0xFFFF)];
      victims[victimCount++] = key;
      freed += sizes[key];
      ages += now - accessed[key];
    }
    double meanAge = ages / victimCount;
    evictedAge = evictedAge < 0 ? meanAge : evictedAge + (meanAge - evictedAge) / 16;
    for (int i = 0; i < victimCount; i++) {
      remove(segment, victims[i]);
    }
  }

  private void remove(int segment, int key) {
    int[] keys = members[segment];
    int last = keys[--counts[segment]];
    keys[position[key]] = last;
    position[last] = position[key];
    position[key] = -1;
    used[segment] -= sizes[key];
  }

  private Score.Span span(int[] keys, int count) {
    int[] ages = new int[count];
    for (int i = 0; i < count; i++) {
      ages[i] = now - accessed[keys[i]];
    }
    Arrays.sort(ages);
    return new Score.Span(ages[count - 1], ages[count / 10]);
  }
}
