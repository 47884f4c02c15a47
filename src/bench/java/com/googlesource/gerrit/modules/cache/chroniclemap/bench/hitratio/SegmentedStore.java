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
 * that is full removes the entries of the lowest score until an eighth of it is free. A request
 * takes one millisecond.
 */
final class SegmentedStore implements Policy {
  private static final long SEGMENT_BYTES = 1 << 20;
  private static final int MOST_SEGMENTS = 1024;
  private static final int PART_TO_FREE = 8;
  private static final int PART_THAT_IS_YOUNG = 10;
  private static final int LONGEST_TOUCH_INTERVAL = 60_000;
  private static final int TOUCHES_IN_LIFETIME = 64;

  private final Score score;
  private final boolean touches;
  private final int[] sizes;
  private final Sketch sketch;
  private final long segmentBytes;
  private final Segment[] segments;

  // Of each key; its place is -1 if it is not stored.
  private final int[] place;
  private final int[] accessed;
  private final int[] stored;

  private int now;
  private double touchInterval = LONGEST_TOUCH_INTERVAL;

  private static final class Segment {
    private int[] keys = new int[128];
    private int count;
    private long bytes;
  }

  SegmentedStore(Score score, long capacity, int[] sizes) {
    this(score, capacity, sizes, /* touches= */ true);
  }

  /**
   * Makes an empty store.
   *
   * @param touches whether it notes when an entry was accessed; if not, its age is the time since
   *     it was stored
   */
  SegmentedStore(Score score, long capacity, int[] sizes, boolean touches) {
    this.score = score;
    this.touches = touches;
    this.sizes = sizes;
    int count = (int) Math.max(1, Math.min(MOST_SEGMENTS, capacity / SEGMENT_BYTES));
    segmentBytes = capacity / count;
    segments = new Segment[count];
    Arrays.setAll(segments, i -> new Segment());
    sketch = new Sketch((long) (capacity / Arrays.stream(sizes).average().orElseThrow()));
    place = new int[sizes.length];
    Arrays.fill(place, -1);
    accessed = new int[sizes.length];
    stored = new int[sizes.length];
  }

  @Override
  public boolean request(int key) {
    now++;
    long hash = Hashes.of(key);
    sketch.increment(hash);
    if (place[key] >= 0) {
      // The stamp is in the file, so it is not written at each read.
      if (touches && now - accessed[key] > touchInterval) {
        accessed[key] = now;
      }
      return true;
    }
    // The lower bits: the upper ones choose the place in the sketch.
    Segment segment = segments[(int) (((hash & 0xFFFF_FFFFL) * segments.length) >>> 32)];
    if (segment.bytes + sizes[key] > segmentBytes) {
      evict(segment, Math.max(sizes[key], segmentBytes / PART_TO_FREE));
    }
    insert(segment, key);
    return false;
  }

  private void insert(Segment segment, int key) {
    if (segment.count == segment.keys.length) {
      segment.keys = Arrays.copyOf(segment.keys, 2 * segment.count);
    }
    place[key] = segment.count;
    segment.keys[segment.count++] = key;
    segment.bytes += sizes[key];
    accessed[key] = now;
    stored[key] = now;
  }

  private void evict(Segment segment, long bytesToFree) {
    int[] order = inOrderOfScore(segment);
    int removed = 0;
    double ages = 0;
    while (segmentBytes - segment.bytes < bytesToFree) {
      int key = order[removed++];
      ages += now - accessed[key];
      remove(segment, key);
    }
    double wanted = Math.min(LONGEST_TOUCH_INTERVAL, ages / removed / TOUCHES_IN_LIFETIME);
    touchInterval += (wanted - touchInterval) / TOUCHES_IN_LIFETIME;
  }

  private int[] inOrderOfScore(Segment segment) {
    int[] ages = new int[segment.count];
    for (int i = 0; i < ages.length; i++) {
      ages[i] = now - accessed[segment.keys[i]];
    }
    int[] sortedAges = ages.clone();
    Arrays.sort(sortedAges);
    Score.Segment all =
        new Score.Segment(
            sortedAges[ages.length - 1], sortedAges[ages.length / PART_THAT_IS_YOUNG]);
    long[] scores = new long[ages.length];
    for (int i = 0; i < ages.length; i++) {
      int key = segment.keys[i];
      int frequency = sketch.frequency(Hashes.of(key));
      // The place in the low bits, and the sign bit such that doubles sort as longs.
      long bits = Double.doubleToLongBits(score.of(ages[i], now - stored[key], frequency, all));
      scores[i] = ((bits ^ ((bits >> 63) & Long.MAX_VALUE)) & ~0xFFFFL) | i;
    }
    Arrays.sort(scores);
    int[] order = new int[ages.length];
    for (int i = 0; i < order.length; i++) {
      order[i] = segment.keys[(int) (scores[i] & 0xFFFF)];
    }
    return order;
  }

  private void remove(Segment segment, int key) {
    int last = segment.keys[--segment.count];
    segment.keys[place[key]] = last;
    place[last] = place[key];
    place[key] = -1;
    segment.bytes -= sizes[key];
  }
}
