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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.util.ArrayList;
import java.util.List;

/** One line of the results: what is measured, and where. */
public interface Case {
  /** Name of its throughput. */
  String title();

  /** Name of its latency: of a put, that is the call and not the way to the disk. */
  default String callTitle() {
    return title();
  }

  /** Says of a measured quantity where it was measured. */
  String nameOf(String quantity);

  /** That of its line, which {@code --only} chooses by. */
  default String name() {
    return nameOf(title());
  }

  /** How many times as good ours is. */
  default double times(Samples ours, Samples theirs) {
    return theirs.micros(50) / ours.micros(50);
  }

  /** What {@code --json} writes of this case. */
  default List<Figure> figures(Comparison<?> result) {
    List<Figure> all = new ArrayList<>();
    all.add(result.more(title(), "ops/s", Samples::opsPerSecond));
    all.add(result.less(callTitle() + " p50", "us", samples -> samples.micros(50)));
    all.add(result.less(callTitle() + " p99", "us", samples -> samples.micros(99)));
    all.add(result.less(callTitle() + " p99.9", "us", samples -> samples.micros(99.9)));
    all.addAll(result.lessIfMeasured(callTitle() + " garbage", "B", 1, Samples::garbage));
    return all;
  }
}
