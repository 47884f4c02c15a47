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

import com.google.common.math.Quantiles;
import java.util.OptionalLong;

/**
 * Some runs of an operation, by one or more writers.
 *
 * @param wallNanos from the start of the first to the end of the last
 * @param cpuNanos of the whole process meanwhile
 * @param allocated bytes that all of its threads took from the heap meanwhile; empty if it has none
 * @param latencies of each run, nanoseconds; the runs done are the first so many
 */
record UpdatesRun(long wallNanos, long cpuNanos, OptionalLong allocated, long[] latencies) {
  int count() {
    return latencies.length;
  }

  double medianNanos() {
    return Quantiles.median().compute(latencies);
  }
}
