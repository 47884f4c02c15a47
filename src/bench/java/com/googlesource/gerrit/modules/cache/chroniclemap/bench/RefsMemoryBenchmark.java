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

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;

/** What a repository whose refs were found by name and id takes of memory until it is closed. */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
public class RefsMemoryBenchmark {
  @Benchmark
  public Object read(RefsFixture fixture) throws IOException, InterruptedException {
    fixture.ours.forgetAll();
    // What each process has once, such as the buffers of the parser, is there already.
    readAndClose(fixture);
    fixture.ours.forgetAll();
    collect();
    long heapBefore = heapUsed();
    long directBefore = directUsed();
    try (RefReader reader = fixture.open()) {
      ask(reader, fixture);
      fixture.ours.awaitWritten();
      collect();
      FurtherFigures.set(FurtherFigures.HEAP, (double) (heapUsed() - heapBefore));
      FurtherFigures.set(FurtherFigures.DIRECT, (double) (directUsed() - directBefore));
      return reader;
    }
  }

  /** Apart, so that no frame holds what was read. */
  private static void readAndClose(RefsFixture fixture) throws IOException {
    try (RefReader reader = fixture.open()) {
      ask(reader, fixture);
    }
  }

  private static void ask(RefReader reader, RefsFixture fixture) throws IOException {
    reader.exactRef(fixture.existing[0]);
    reader.tips(fixture.tips[0]);
  }

  /** Direct memory is given back by a thread some time after a collection. */
  private static void collect() throws InterruptedException {
    for (int i = 0; i < 4; i++) {
      System.gc();
      Thread.sleep(100);
    }
  }

  private static long heapUsed() {
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static long directUsed() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getMemoryUsed)
        .sum();
  }
}
