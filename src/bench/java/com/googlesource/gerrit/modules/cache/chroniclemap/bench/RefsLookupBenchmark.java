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
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Reads of a repository whose refs were read before. */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class RefsLookupBenchmark {
  private static final int GARBAGE_CALLS = 2000;
  private static final long MAX_NANOS = 500_000_000;

  @Param RefsOperation operation;

  private RefReader reader;

  @Setup(Level.Trial)
  public void open(RefsFixture fixture) throws IOException {
    reader = fixture.open();
  }

  /**
   * Counts garbage, apart from the measuring: JMH's own would count for much where a call takes
   * long.
   */
  @TearDown(Level.Iteration)
  public void countGarbage(RefsFixture fixture) throws IOException {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long end = System.nanoTime() + MAX_NANOS;
    int calls = 0;
    long before = threads.getCurrentThreadAllocatedBytes();
    do {
      operation.ask(reader, fixture);
      calls++;
    } while (calls < GARBAGE_CALLS && System.nanoTime() < end);
    FurtherFigures.set(
        FurtherFigures.GARBAGE,
        (double) (threads.getCurrentThreadAllocatedBytes() - before) / calls);
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    reader.close();
  }

  @Benchmark
  public void ask(RefsFixture fixture) throws IOException {
    operation.ask(reader, fixture);
  }
}
