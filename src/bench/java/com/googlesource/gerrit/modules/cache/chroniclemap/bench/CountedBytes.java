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
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/** Hands bytes that a benchmark has counted to the run, as {@link PutCalls} does with latencies. */
public final class CountedBytes implements InternalProfiler {
  static final String HEAP = "heapBytes";
  static final String DIRECT = "directBytes";

  /** Of a call, in its thread. */
  static final String GARBAGE = "garbageBytes";

  private static final Map<String, Double> BYTES = new TreeMap<>();

  /** Notes what one iteration counted. */
  static synchronized void set(String name, double bytes) {
    BYTES.put(name, bytes);
  }

  private static synchronized List<Result<?>> take() {
    List<Result<?>> results = new ArrayList<>();
    BYTES.forEach(
        (name, bytes) -> results.add(new ScalarResult(name, bytes, "B", AggregationPolicy.AVG)));
    BYTES.clear();
    return results;
  }

  @Override
  public String getDescription() {
    return "Bytes that the benchmark counts";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {}

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    return take();
  }
}
