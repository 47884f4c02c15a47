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

import java.util.Random;

/** What an entry is worth to a segment that needs room: the entries of the lowest score go. */
interface Score {
  /**
   * Scores an entry.
   *
   * @param age milliseconds since its last access
   * @param sinceStored milliseconds since it was stored
   * @param frequency 0 to {@link Sketch#MOST}
   * @param segment what holds for all entries of the segment
   */
  double of(int age, int sinceStored, int frequency, Segment segment);

  /**
   * About all entries of a segment.
   *
   * @param oldest age of the entry that was not accessed for the longest time
   * @param young a tenth of the entries are of no more than this age
   */
  record Segment(int oldest, int young) {}

  /** More than any age. */
  double STEP = 0x1p31;

  /** By last access alone: LRU within the segment. */
  Score LAST_ACCESS = (age, sinceStored, frequency, segment) -> -age;

  /** By requests in the time it is stored. */
  Score HYPERBOLIC =
      (age, sinceStored, frequency, segment) -> (frequency + 1.0) / (sinceStored + 1);

  /** By last access, and each doubling of the frequency makes an entry younger. */
  Score BONUS =
      (age, sinceStored, frequency, segment) ->
          segment.oldest() * Math.log(frequency + 1) / Math.log(2) - age;

  /** By age, and the frequency makes it pass slower. */
  Score SLOW_AGEING = (age, sinceStored, frequency, segment) -> -age / Math.pow(frequency + 1, 3);

  /**
   * By frequency, and of equals the one goes that was not accessed for longer. The tenth that was
   * accessed last stays, so that a new entry has its chance. This module does it with the time at
   * which an entry was stored, so that reads have nothing to write.
   */
  Score FREQUENCY =
      (age, sinceStored, frequency, segment) ->
          (age <= segment.young() ? Sketch.MOST + 1 : frequency) * STEP - age;

  /** The same, but of equals any goes: of a loop through more keys than fit a part stays. */
  static Score chance(long seed) {
    Random random = new Random(seed);
    return (age, sinceStored, frequency, segment) -> {
      if (age <= segment.young() || frequency == 0) {
        return FREQUENCY.of(age, sinceStored, frequency, segment);
      }
      return frequency * STEP + random.nextInt(Integer.MAX_VALUE);
    };
  }
}
