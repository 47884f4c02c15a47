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

import java.util.List;

/**
 * A policy under a name of one word, which heads its column.
 *
 * @param name at most 9 characters
 */
record Candidate(String name, Maker maker) {
  /** Makes an empty cache of some bytes for keys of these sizes. */
  interface Maker {
    Policy make(long capacity, int[] sizes);
  }

  /** Those of others first, LRU before all. */
  static List<Candidate> all() {
    return List.of(
        new Candidate("LRU", Lru::new),
        new Candidate("W-TinyLFU", WTinyLfu::new),
        new Candidate("S3-FIFO", S3Fifo::new),
        new Candidate("ARC", Arc::new),
        ofSegments("access", Score.LAST_ACCESS),
        ofSegments("hyperbol", Score.HYPERBOLIC),
        ofSegments("bonus", Score.BONUS),
        ofSegments("ageing", Score.SLOW_AGEING),
        new Candidate(
            "chance", (capacity, sizes) -> new SegmentedStore(Score.chance(1), capacity, sizes)),
        ofSegments("touched", Score.FREQUENCY),
        new Candidate(
            "ours",
            (capacity, sizes) ->
                new SegmentedStore(Score.FREQUENCY, capacity, sizes, /* touches= */ false)));
  }

  private static Candidate ofSegments(String name, Score score) {
    return new Candidate(name, (capacity, sizes) -> new SegmentedStore(score, capacity, sizes));
  }
}
