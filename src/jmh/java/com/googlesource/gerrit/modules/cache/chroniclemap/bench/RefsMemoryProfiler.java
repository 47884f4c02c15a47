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

import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/** Hands what {@link RefsMemoryBenchmark} has measured to the run, as {@link PutCalls} does. */
public final class RefsMemoryProfiler implements InternalProfiler {
  /** Names of the further results. */
  static final String HEAP = "heapBytes";

  static final String DIRECT = "directBytes";

  private static volatile long heap;
  private static volatile long direct;

  /** Notes what one iteration measured, in bytes. */
  static void set(long heapBytes, long directBytes) {
    heap = heapBytes;
    direct = directBytes;
  }

  @Override
  public String getDescription() {
    return "Memory of the refs of a repository";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {}

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    return List.of(
        new ScalarResult(HEAP, heap, "B", AggregationPolicy.AVG),
        new ScalarResult(DIRECT, direct, "B", AggregationPolicy.AVG));
  }
}
