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
import com.google.common.collect.Table;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;

/**
 * Measures this module's ref lookups beside JGit's and native git's: {@code bin/bench refs}, which
 * checks the arguments.
 *
 * <p>Peers take turns as in {@link CacheBench}.
 */
public final class RefsBench {
  private static final String REFS = "--refs";
  private static final int DEFAULT_REFS = 500_000;
  private static final double NANOS_PER_SECOND = 1e9;

  private final Session session;
  private final int refs;
  private final Fork fork;

  private RefsBench(Session session, int refs, Fork fork) {
    this.session = session;
    this.refs = refs;
    this.fork = fork;
  }

  /**
   * Exits with 0, with 1 if something could not be measured or written, with 2 for a wrong name.
   */
  public static void main(String[] args) {
    Session.run(args, RefsBench::run);
  }

  private static void run(Session session) throws RunnerException, IOException {
    int refs = session.value(REFS).map(Integer::parseInt).orElse(DEFAULT_REFS);
    List<RefsCase> cases = session.chosen(RefsPlan.cases(refs, session.quick()));
    session.printHead(
        String.format(
            Locale.ROOT,
            "JGit of Gerrit %s, %s",
            Machine.version("gerrit-acceptance-framework"),
            gitVersion()));
    RefsRepositories.make(session.folder(), refs);

    List<RefsMemory> memory = new ArrayList<>();
    Table<RefsCase, RefsPeer, Samples> samples =
        session.measure(
            log -> {
              RefsBench bench = new RefsBench(session, refs, session.fork(log));
              memory.addAll(bench.memory());
              return Turns.take(session.plan().rounds(), cases, RefsPlan::peers, bench::measure);
            });
    List<Comparison<RefsCase, RefsPeer>> results = new ArrayList<>();
    for (RefsCase scenario : cases) {
      Samples ours = samples.get(scenario, RefsPeer.OURS);
      for (RefsPeer peer : RefsPlan.peers(scenario)) {
        if (peer != RefsPeer.OURS) {
          results.add(
              new Comparison<>(scenario, RefsPeer.OURS, ours, peer, samples.get(scenario, peer)));
        }
      }
    }

    RefsTable.print(System.out, results);
    RefsTable.printMemory(System.out, memory);
    session.printOtherWork();
    RefsAims.print(System.out, results, memory);
    List<Figure> figures = new ArrayList<>();
    results.forEach(result -> figures.addAll(result.figures()));
    memory.forEach(one -> figures.addAll(one.figures(memory.get(0))));
    session.finish(figures);
  }

  private void measure(RefsCase scenario, RefsPeer peer, Samples samples) throws RunnerException {
    ChainedOptionsBuilder options =
        options(peer, scenario.trust())
            .include(scenario.operation().jmhName())
            .threads(scenario.threads());
    if (scenario.operation().once()) {
      RefsPlan.Once once = RefsPlan.once(session.quick());
      options.warmupIterations(once.warmups()).measurementIterations(once.iterations());
    } else {
      options.addProfiler(CountedBytes.class);
    }
    RunResult result = fork.run(options);
    Result<?> primary = result.getPrimaryResult();
    double opsPerSecond =
        scenario.operation() == RefsOperation.EXISTING
            // The taking of samples disturbs two threads on two processors more than one.
            ? NANOS_PER_SECOND
                * fork.run(options.mode(Mode.Throughput)).getPrimaryResult().getScore()
            : scenario.threads() * NANOS_PER_SECOND / primary.getScore();
    samples.add(opsPerSecond, primary.getStatistics());
    // Native git's would be that of the pipes.
    if (!scenario.operation().once() && peer != RefsPeer.GIT) {
      samples.addGarbage(secondary(result, CountedBytes.GARBAGE));
    }
  }

  private ChainedOptionsBuilder options(RefsPeer peer, String trust) {
    return fork.options(ImmutableList.of())
        .param("peer", peer.name())
        .param("refs", Integer.toString(refs))
        .param("trust", trust);
  }

  /** This module's first. */
  private List<RefsMemory> memory() throws RunnerException {
    List<RefsMemory> all = new ArrayList<>();
    for (RefsPeer peer : RefsPlan.PEERS_WITH_MEMORY) {
      System.out.println("memory, " + peer.title());
      RunResult result =
          fork.run(
              options(peer, RefsCase.ALWAYS)
                  .include(RefsMemoryBenchmark.class.getName())
                  .addProfiler(CountedBytes.class)
                  .warmupIterations(1)
                  .measurementIterations(2));
      all.add(
          new RefsMemory(
              peer,
              refs,
              secondary(result, CountedBytes.HEAP) / refs,
              secondary(result, CountedBytes.DIRECT) / refs));
    }
    return all;
  }

  private static double secondary(RunResult result, String label) {
    return result.getSecondaryResults().get(label).getScore();
  }

  /** What native git says of its version. */
  public static String gitVersion() throws IOException {
    Process git = new ProcessBuilder("git", "--version").start();
    try (BufferedReader answer =
        new BufferedReader(new InputStreamReader(git.getInputStream(), StandardCharsets.UTF_8))) {
      return answer.readLine();
    }
  }
}
