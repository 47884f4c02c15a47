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

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.BenchmarkParams;

/** Reads of a repository whose refs were read before. */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class RefsLookupBenchmark {
  private static final int GARBAGE_CALLS = 2000;
  private static final long MAX_NANOS = 500_000_000;

  private RefReader reader;
  private int refs;

  @Setup(Level.Trial)
  public void open(RefsFixture fixture) throws IOException {
    reader = fixture.open();
    refs = fixture.refs;
  }

  /**
   * Counts garbage, apart from the measuring: JMH's own would count for much where a call takes
   * long.
   */
  @TearDown(Level.Iteration)
  public void countGarbage(RefsFixture fixture, BenchmarkParams params) throws IOException {
    String name = params.getBenchmark();
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long end = System.nanoTime() + MAX_NANOS;
    int calls = 0;
    long before = threads.getCurrentThreadAllocatedBytes();
    do {
      switch (name.substring(name.lastIndexOf('.') + 1)) {
        case "existing" -> existing(fixture);
        case "missing" -> missing(fixture);
        case "smallPrefix" -> smallPrefix(fixture);
        case "conflictingNames" -> conflictingNames(fixture);
        case "tips" -> tips(fixture);
        case "noTips" -> noTips(fixture);
        case "all" -> all();
        case "allInAMap" -> allInAMap();
        case "allFiltered" -> allFiltered();
        case "allCopied" -> allCopied();
        default -> throw new IllegalArgumentException(name);
      }
      calls++;
    } while (calls < GARBAGE_CALLS && System.nanoTime() < end);
    CountedBytes.set(
        CountedBytes.GARBAGE, (double) (threads.getCurrentThreadAllocatedBytes() - before) / calls);
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    reader.close();
  }

  private static <T> T any(T[] names) {
    return names[ThreadLocalRandom.current().nextInt(names.length)];
  }

  private static void check(boolean right) {
    if (!right) {
      throw new IllegalStateException("a wrong answer");
    }
  }

  @Benchmark
  public void existing(RefsFixture fixture) throws IOException {
    check(reader.exactRef(any(fixture.existing)));
  }

  @Benchmark
  public void missing(RefsFixture fixture) throws IOException {
    check(!reader.exactRef(any(fixture.missing)));
  }

  /** The refs of a change, or the branches of a team. */
  @Benchmark
  public void smallPrefix(RefsFixture fixture) throws IOException {
    check(reader.prefix(any(fixture.prefixes)) > 0);
  }

  /** For a ref that could be made. */
  @Benchmark
  public void conflictingNames(RefsFixture fixture) throws IOException {
    check(reader.conflictingNames(any(fixture.missing)) == 0);
  }

  /** For an object with one ref. */
  @Benchmark
  public void tips(RefsFixture fixture) throws IOException {
    check(reader.tips(any(fixture.tips)) == 1);
  }

  @Benchmark
  public void noTips(RefsFixture fixture) throws IOException {
    check(reader.tips(any(fixture.noTips)) == 0);
  }

  @Benchmark
  public void allInAMap() throws IOException {
    check(reader.allInAMap() == refs);
  }

  @Benchmark
  public void allFiltered() throws IOException {
    check(reader.allFiltered() < refs);
  }

  @Benchmark
  public void allCopied() throws IOException {
    check(reader.allCopied() == refs);
  }

  @Benchmark
  public void all() throws IOException {
    // JGit lists HEAD only if it leads somewhere, which it does not.
    check(reader.all() == refs);
  }
}
