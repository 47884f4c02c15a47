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

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.eclipse.jgit.lib.Constants;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;

/**
 * This module's ref lookups beside JGit's and native git's: {@code bin/bench refs}, which checks
 * the arguments. Of all the combinations there are, it measures what a reader needs.
 */
public final class RefsBench extends Bench<RefsBench.RefsCase, RefsPeer> {
  /**
   * A lookup in a repository with so many refs, by a number of threads.
   *
   * @param trust {@code core.trustStat}
   */
  record RefsCase(RefsOperation operation, int refs, String trust, int threads) implements Case {
    static final String ALWAYS = "always";
    static final String AFTER_OPEN = "after_open";
    static final String NEVER = "never";

    @Override
    public String title() {
      return operation.title;
    }

    @Override
    public List<Figure> figures(Comparison<?> result) {
      return operation.once
          ? List.of(result.less(title(), "us", samples -> samples.micros(50)))
          : Case.super.figures(result);
    }

    @Override
    public String nameOf(String quantity) {
      return String.join(", ", quantity, Bench.refs(refs), trust, Bench.counted(threads, "thread"));
    }
  }

  private static final int DEFAULT_REFS = 500_000;
  private static final double NANOS_PER_SECOND = 1e9;

  private final int refs;
  private final List<Memory> memory = new ArrayList<>();

  /**
   * What the refs of a repository take while it is open, bytes a ref.
   *
   * @param share of the size of packed-refs
   */
  private record Memory(RefsPeer peer, double heap, double direct, double share) {}

  private RefsBench(Session session) {
    super(session);
    refs = session.number("--refs", DEFAULT_REFS);
  }

  /** Exits with 0; 1 if something could not be measured or written, 2 for a wrong name. */
  public static void main(String[] args) {
    Session.run(args, session -> new RefsBench(session).run());
  }

  @Override
  protected String versions() throws IOException {
    return String.format(
        Locale.ROOT,
        "JGit of Gerrit %s, %s",
        Machine.version("gerrit-acceptance-framework"),
        gitVersion());
  }

  /** What native git says of its version. */
  public static String gitVersion() throws IOException {
    Process git = new ProcessBuilder("git", "--version").start();
    try (BufferedReader answer =
        new BufferedReader(new InputStreamReader(git.getInputStream(), StandardCharsets.UTF_8))) {
      return answer.readLine();
    }
  }

  @Override
  protected List<RefsCase> cases() {
    boolean all = !session.quick();
    List<RefsCase> cases = new ArrayList<>();
    for (RefsOperation operation : RefsOperation.values()) {
      if (!operation.once) {
        add(cases, true, operation, RefsCase.ALWAYS, 1);
      }
    }
    for (String trust : List.of(RefsCase.AFTER_OPEN, RefsCase.NEVER)) {
      add(cases, true, RefsOperation.EXISTING, trust, 1);
      add(cases, all, RefsOperation.MISSING, trust, 1);
    }
    for (int threads : List.of(2, 8)) {
      add(cases, all || threads == 2, RefsOperation.EXISTING, RefsCase.ALWAYS, threads);
      add(cases, all, RefsOperation.EXISTING, RefsCase.NEVER, threads);
      add(cases, true, RefsOperation.TIPS, RefsCase.ALWAYS, threads);
      add(cases, all, RefsOperation.NO_TIPS, RefsCase.ALWAYS, threads);
    }
    for (RefsOperation operation : RefsOperation.values()) {
      if (operation.once) {
        add(cases, true, operation, RefsCase.ALWAYS, 1);
      }
    }
    return cases;
  }

  private void add(
      List<RefsCase> cases, boolean wanted, RefsOperation operation, String trust, int threads) {
    if (wanted) {
      cases.add(new RefsCase(operation, refs, trust, threads));
    }
  }

  @Override
  protected List<RefsPeer> peers(RefsCase scenario) {
    boolean always = scenario.trust().equals(RefsCase.ALWAYS);
    boolean hasGit =
        switch (scenario.operation()) {
          case EXISTING, MISSING, ALL -> always && scenario.threads() == 1;
          case FIRST, REWRITE -> true;
          default -> false;
        };
    return hasGit
        ? List.of(RefsPeer.OURS, RefsPeer.REF_DIRECTORY, RefsPeer.GIT)
        : List.of(RefsPeer.OURS, RefsPeer.REF_DIRECTORY);
  }

  @Override
  protected int rounds(RefsCase scenario) {
    return session.quick() ? 1 : 2;
  }

  @Override
  protected void prepare() throws RunnerException, IOException {
    RefsRepositories.make(session.folder(), refs);
    double packedBytes =
        Files.size(session.folder().resolve(RefsRepositories.FILES).resolve(Constants.PACKED_REFS));
    for (RefsPeer peer : List.of(RefsPeer.OURS, RefsPeer.REF_DIRECTORY)) {
      System.out.println("memory, " + peer.title());
      RunResult result =
          session
              .fork()
              .run(
                  options(peer, RefsCase.ALWAYS)
                      .include(RefsMemoryBenchmark.class.getName())
                      .warmupIterations(1)
                      .measurementIterations(2));
      double heap = Fork.further(result, FurtherFigures.HEAP).orElseThrow();
      double direct = Fork.further(result, FurtherFigures.DIRECT).orElseThrow();
      memory.add(new Memory(peer, heap / refs, direct / refs, (heap + direct) / packedBytes));
    }
  }

  @Override
  protected void measure(RefsCase scenario, RefsPeer peer, Samples samples, int round)
      throws RunnerException {
    ChainedOptionsBuilder options =
        options(peer, scenario.trust())
            .include(scenario.operation().jmhName())
            .threads(scenario.threads());
    if (!scenario.operation().once) {
      options.param("operation", scenario.operation().name());
    } else {
      options
          .warmupIterations(session.quick() ? 12 : 20)
          .measurementIterations(session.quick() ? 7 : 15);
    }
    RunResult result = session.fork().run(options);
    double opsPerSecond =
        scenario.operation() == RefsOperation.EXISTING
            // The taking of samples disturbs two threads on two processors more than one.
            ? NANOS_PER_SECOND
                * session.fork().run(options.mode(Mode.Throughput)).getPrimaryResult().getScore()
            : scenario.threads() * NANOS_PER_SECOND / result.getPrimaryResult().getScore();
    samples.add(opsPerSecond, result.getPrimaryResult().getStatistics());
    // Native git's would be that of the pipes.
    if (peer != RefsPeer.GIT) {
      Fork.further(result, FurtherFigures.GARBAGE).ifPresent(samples::addGarbage);
    }
  }

  private ChainedOptionsBuilder options(RefsPeer peer, String trust) {
    return session
        .fork()
        .options()
        .param("peer", peer.name())
        .param("refs", Integer.toString(refs))
        .param("trust", trust);
  }

  @Override
  protected List<Figure> further() {
    List<Figure> figures = new ArrayList<>();
    Memory ours = memory.get(0);
    for (Memory one : memory) {
      System.out.printf(
          Locale.ROOT,
          "Memory, %s: %.2f bytes of heap a ref, %.1f outside, %.2f of packed-refs in all%n",
          one.peer.title(),
          one.heap,
          one.direct,
          one.share);
      if (one.peer != RefsPeer.OURS) {
        String where = ", " + refs(refs) + ", vs " + one.peer.title();
        figures.add(Figure.lessIsBetter("heap a ref" + where, "B", ours.heap, one.heap));
        figures.add(
            Figure.lessIsBetter(
                "memory for each byte of packed-refs" + where, "B", ours.share, one.share));
      }
    }
    return figures;
  }
}
