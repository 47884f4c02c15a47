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

import com.google.common.base.Ascii;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.h2.engine.Constants;
import org.lmdbjava.Meta;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;

/**
 * This module's caches beside Gerrit's own and LMDB: {@code bin/bench cache}, which checks the
 * arguments.
 */
public final class CacheBench extends Bench<CacheBench.CacheCase, CachePeer> {
  /** An operation on a cache, on values of a size, by a number of threads. */
  record CacheCase(Operation operation, int valueBytes, int threads) implements Case {
    @Override
    public String title() {
      return operation.title;
    }

    @Override
    public String callTitle() {
      return operation.callTitle;
    }

    @Override
    public double times(Samples ours, Samples theirs) {
      return ours.opsPerSecond() / theirs.opsPerSecond();
    }

    private String size() {
      return valueBytes % (1 << 20) == 0
          ? (valueBytes >> 20) + " MB"
          : valueBytes % 1024 == 0 ? valueBytes / 1024 + " KB" : valueBytes + " B";
    }

    /** Such as {@code get, 10 KB, 8 threads}. */
    @Override
    public String nameOf(String quantity) {
      return quantity + ", " + size() + ", " + Bench.counted(threads, "thread");
    }

    /** What is measured. */
    enum Operation {
      GET("get", "get", ReadBenchmark.class, "get"),
      MIXED("mixed 95/5", "mixed 95/5", ReadBenchmark.class, "mixed"),
      /** Throughput is until on disk; the latency is that of the caller's put. */
      PUT("put", "put call", PutBenchmark.class, "put");

      /** Name of its throughput. */
      final String title;

      /** Name of its latency. */
      final String callTitle;

      private final Class<?> benchmark;
      private final String method;

      Operation(String title, String callTitle, Class<?> benchmark, String method) {
        this.title = title;
        this.callTitle = callTitle;
        this.benchmark = benchmark;
        this.method = method;
      }

      /** Whether that is the name of its JMH benchmark. */
      boolean isMeasuredBy(String jmhBenchmark) {
        return jmhBenchmark.equals(benchmark.getName() + "." + method);
      }

      /** What JMH takes for a pattern of names. */
      String jmhName() {
        return benchmark.getName() + "." + method + "$";
      }
    }
  }

  private static final List<Integer> VALUE_BYTES = List.of(10 << 10, 200);
  private static final List<Integer> LARGE_VALUE_BYTES = List.of(100 << 10, 5 << 20);

  /** As many threads as a large server answers requests by. */
  private static final int MANY_THREADS = 64;

  private static final double NANOS_PER_SECOND = 1e9;

  private final List<CachePeer> peers;

  private CacheBench(Session session) {
    super(session);
    peers =
        session
            .value("--peer")
            .map(peer -> List.of(CachePeer.OURS, CachePeer.valueOf(Ascii.toUpperCase(peer))))
            .orElse(List.of(CachePeer.values()));
  }

  /** Exits with 0; 1 if something could not be measured or written, 2 for a wrong name. */
  public static void main(String[] args) {
    Session.run(args, session -> new CacheBench(session).run());
  }

  @Override
  protected String versions() {
    Meta.Version lmdb = Meta.version();
    return String.format(
        Locale.ROOT,
        "Gerrit %s, H2 %s, LMDB %d.%d.%d, Chronicle-Map %s",
        Machine.version("gerrit-acceptance-framework"),
        Constants.VERSION,
        lmdb.major,
        lmdb.minor,
        lmdb.patch,
        Machine.version("chronicle-map"));
  }

  @Override
  protected List<CacheCase> cases() {
    List<Integer> threads = session.quick() ? List.of(1, 8) : List.of(1, 2, 8);
    List<CacheCase> all = new ArrayList<>();
    for (CacheCase.Operation operation : CacheCase.Operation.values()) {
      for (int valueBytes : VALUE_BYTES) {
        for (int count : threads) {
          all.add(new CacheCase(operation, valueBytes, count));
        }
        all.add(new CacheCase(operation, valueBytes, MANY_THREADS));
      }
    }
    for (CacheCase.Operation operation :
        List.of(CacheCase.Operation.GET, CacheCase.Operation.PUT)) {
      for (int valueBytes : LARGE_VALUE_BYTES) {
        for (int count : List.of(1, 8)) {
          all.add(new CacheCase(operation, valueBytes, count));
        }
      }
    }
    return all;
  }

  @Override
  protected List<CachePeer> peers(CacheCase scenario) {
    return peers;
  }

  @Override
  protected int rounds(CacheCase scenario) {
    return session.quick() ? 1 : 2;
  }

  @Override
  protected void measure(CacheCase scenario, CachePeer peer, Samples samples, int round)
      throws RunnerException {
    boolean puts = scenario.operation() == CacheCase.Operation.PUT;
    ChainedOptionsBuilder options =
        session
            .fork()
            .options()
            .jvmArgsAppend(peer.flags().toArray(new String[0]))
            // Which warms the few lines of JMH's own that the warm-up before did not run.
            .warmupIterations(1)
            .include(scenario.operation().jmhName())
            .param("peer", peer.name())
            .param("valueBytes", Integer.toString(scenario.valueBytes()));
    if (puts) {
      options
          .param("putters", Integer.toString(scenario.threads()))
          .measurementIterations(session.quick() ? 6 : 12);
    } else {
      options.threads(scenario.threads());
    }
    RunResult result = session.fork().run(options);
    if (Fork.further(result, FurtherFigures.WARM).orElseThrow() == 0) {
      samples.neverWarm();
    }
    Result<?> primary = result.getPrimaryResult();
    // Each thread makes one call after the other, so this is the throughput.
    int calls = puts ? Entries.count(scenario.valueBytes()) : scenario.threads();
    samples.add(
        calls * NANOS_PER_SECOND / primary.getScore(),
        (puts ? result.getSecondaryResults().get(FurtherFigures.PUT_CALL) : primary)
            .getStatistics());
  }
}
