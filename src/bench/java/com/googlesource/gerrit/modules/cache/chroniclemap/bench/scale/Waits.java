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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import java.util.LinkedHashMap;
import java.util.Map;
import org.openjdk.jmh.util.SampleBuffer;
import org.openjdk.jmh.util.Statistics;

/** How long requests waited. For one thread at a time. */
final class Waits {
  private static final double MICROS_PER_NANO = 1e-3;

  private final SampleBuffer nanos = new SampleBuffer();
  private long longest;

  void add(long waited) {
    nanos.add(waited);
    // The buffer keeps the first digits only.
    longest = Math.max(longest, waited);
  }

  void addAll(Waits more) {
    nanos.addAll(more.nanos);
    longest = Math.max(longest, more.longest);
  }

  long count() {
    return nanos.count();
  }

  /** Percentiles and the longest by name, microseconds; empty if there were no requests. */
  Map<String, Double> micros() {
    Map<String, Double> all = new LinkedHashMap<>();
    Statistics statistics = nanos.getStatistics(MICROS_PER_NANO);
    if (statistics.getN() > 0) {
      all.put("p50", statistics.getPercentile(50));
      all.put("p99", statistics.getPercentile(99));
      all.put("p99.9", statistics.getPercentile(99.9));
      all.put("max", longest * MICROS_PER_NANO);
    }
    return all;
  }
}
