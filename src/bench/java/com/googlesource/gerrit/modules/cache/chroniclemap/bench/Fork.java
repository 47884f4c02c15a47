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

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormat;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Measures in a Java process of its own, such as one scenario of one peer. */
final class Fork {
  private static final double NANOS_PER_SECOND = 1e9;

  private final Plan plan;
  private final ImmutableList<String> flags;
  private final OutputFormat log;

  /**
   * Prepares forks.
   *
   * @param flags of the Java process, without what this adds
   * @param folder for the caches
   * @param log gets JMH's own output
   */
  Fork(Plan plan, List<String> flags, Path folder, PrintStream log) {
    this.plan = plan;
    this.flags =
        ImmutableList.<String>builder()
            .addAll(flags)
            .add("-D" + Folders.PROPERTY + "=" + folder)
            .build();
    this.log = OutputFormatFactory.createFormatInstance(log, VerboseMode.NORMAL);
  }

  /**
   * What all measurements have in common.
   *
   * @param more flags of the Java process
   */
  ChainedOptionsBuilder options(List<String> more) {
    ImmutableList<String> jvmArgs =
        ImmutableList.<String>builder().addAll(flags).addAll(more).build();
    return new OptionsBuilder()
        .forks(1)
        .warmupIterations(plan.warmups())
        .measurementIterations(plan.iterations())
        .warmupTime(plan.time())
        .measurementTime(plan.time())
        .jvmArgs(jvmArgs.toArray(new String[0]))
        .shouldFailOnError(true);
  }

  /** Measures the one benchmark that the options choose. */
  RunResult run(ChainedOptionsBuilder options) throws RunnerException {
    return Iterables.getOnlyElement(new Runner(options.build(), log).run());
  }

  void measure(CacheCase scenario, CachePeer peer, Samples samples) throws RunnerException {
    ChainedOptionsBuilder options =
        options(peer.flags())
            // Which warms the few lines of JMH's own that the warm-up before did not run.
            .warmupIterations(1)
            .addProfiler(WarmUp.class)
            .include(scenario.operation().jmhName())
            .param("peer", peer.name())
            .param("valueBytes", Integer.toString(scenario.valueBytes()));
    if (scenario.operation() == CacheOperation.PUT) {
      options
          .param("putters", Integer.toString(scenario.threads()))
          .measurementIterations(plan.putIterations())
          .addProfiler(PutCalls.class);
    } else {
      options.threads(scenario.threads());
    }
    RunResult result = run(options);
    if (result.getSecondaryResults().get(WarmUp.LABEL).getScore() == 0) {
      samples.neverWarm();
    }
    Result<?> primary = result.getPrimaryResult();
    if (scenario.operation() == CacheOperation.PUT) {
      samples.add(
          Entries.count(scenario.valueBytes()) * NANOS_PER_SECOND / primary.getScore(),
          result.getSecondaryResults().get(PutCalls.LABEL).getStatistics());
    } else {
      // Each thread makes one call after the other, so this is the throughput.
      samples.add(
          scenario.threads() * NANOS_PER_SECOND / primary.getScore(), primary.getStatistics());
    }
  }
}
