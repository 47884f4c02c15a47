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
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ResultRole;
import org.openjdk.jmh.results.SampleTimeResult;
import org.openjdk.jmh.util.SampleBuffer;

/**
 * Reports how long single puts took, beside the time JMH takes of all of them. A profiler is JMH's
 * way to hand further figures from a fork to the run.
 */
public final class PutCalls implements InternalProfiler {
  /** Name of the further result. */
  static final String LABEL = "putCall";

  private static SampleBuffer calls = new SampleBuffer();

  /** Adds what one iteration measured. */
  static synchronized void add(SampleBuffer more) {
    calls.addAll(more);
  }

  private static synchronized SampleBuffer take() {
    SampleBuffer taken = calls;
    calls = new SampleBuffer();
    return taken;
  }

  @Override
  public String getDescription() {
    return "Latency of each put";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {}

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    return List.of(new SampleTimeResult(ResultRole.SECONDARY, LABEL, take(), TimeUnit.NANOSECONDS));
  }
}
