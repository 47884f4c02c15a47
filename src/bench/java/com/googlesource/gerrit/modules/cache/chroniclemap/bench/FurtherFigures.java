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
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ResultRole;
import org.openjdk.jmh.results.SampleTimeResult;
import org.openjdk.jmh.results.ScalarResult;
import org.openjdk.jmh.util.SampleBuffer;

/**
 * Hands what a benchmark has counted itself to the run. A profiler is JMH's way to get further
 * figures out of a fork.
 */
public final class FurtherFigures implements InternalProfiler {
  /** How long single puts took, beside the time JMH takes of all of them. */
  static final String PUT_CALL = "putCall";

  /** 1 if the warm-up came to its end. */
  static final String WARM = "warm";

  static final String HEAP = "heapBytes";
  static final String DIRECT = "directBytes";

  /** Of a call, in its thread. */
  static final String GARBAGE = "garbageBytes";

  private static final Map<String, Double> NUMBERS = new TreeMap<>();
  private static SampleBuffer putCalls = new SampleBuffer();

  /** Notes a number of this iteration, and of all further ones until another is noted. */
  static synchronized void set(String name, double number) {
    NUMBERS.put(name, number);
  }

  /** Adds how long puts of this iteration took. */
  static synchronized void addPutCalls(long[] nanos) {
    for (long call : nanos) {
      putCalls.add(call);
    }
  }

  private static synchronized List<Result<?>> take() {
    List<Result<?>> results = new ArrayList<>();
    NUMBERS.forEach(
        (name, number) ->
            results.add(
                new ScalarResult(
                    name,
                    number,
                    "",
                    name.equals(WARM) ? AggregationPolicy.MIN : AggregationPolicy.AVG)));
    if (putCalls.count() > 0) {
      results.add(
          new SampleTimeResult(ResultRole.SECONDARY, PUT_CALL, putCalls, TimeUnit.NANOSECONDS));
      putCalls = new SampleBuffer();
    }
    return results;
  }

  @Override
  public String getDescription() {
    return "What the benchmark counts";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {}

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    return take();
  }
}
