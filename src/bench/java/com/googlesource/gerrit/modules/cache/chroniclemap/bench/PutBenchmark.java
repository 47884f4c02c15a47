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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
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

/**
 * Puts of new keys into a cache whose file has its size: it was filled and emptied before. Both
 * caches write in the background, so one operation is to put all {@link Entries} and to wait until
 * they are on disk: a queue that is only filled gains nothing.
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class PutBenchmark {
  @Param CachePeer peer;

  @Param({"10240", "200", "102400", "5242880"})
  int valueBytes;

  @Param({"1", "2", "8"})
  int putters;

  private Entries entries;
  private Writers threads;
  private Path site;
  private OpenCache cache;

  @Setup(Level.Trial)
  public void open() throws IOException {
    entries = new Entries(valueBytes);
    threads = new Writers(putters);
    site = Fork.newSite();
    cache = new OpenCache(peer, site, entries);
    entries.putAllTo(cache);
    WarmUp.until(this::putFor);
  }

  /** Puts and removes all again and again; returns puts per second, the removals left out. */
  private double putFor(long nanos) throws IOException {
    long taken = 0;
    long puts = 0;
    while (taken < nanos) {
      removeAll();
      long start = System.nanoTime();
      var unused = putAll();
      taken += System.nanoTime() - start;
      puts += entries.count;
    }
    return puts / (taken / 1e9);
  }

  @Setup(Level.Iteration)
  public void removeAll() {
    // Not all at once: that may put a small file in place of the one that has its size.
    entries.removeAllFrom(cache);
    cache.drain();
  }

  /** Returns how long each call of put took, nanoseconds. */
  private long[] putAll() throws IOException {
    long[] calls =
        threads.make(
            0,
            entries.count,
            Integer.MAX_VALUE,
            (writer, i) -> cache.put(entries.key(i), entries.value(i)));
    cache.drain();
    return calls;
  }

  @Benchmark
  public void put() throws IOException {
    FurtherFigures.addPutCalls(putAll());
  }

  @TearDown(Level.Iteration)
  public void check() throws ExecutionException {
    if (cache.entriesOnDisk() != entries.count) {
      throw new IllegalStateException("entries on disk: " + cache.entriesOnDisk());
    }
    for (int i = 0; i < entries.count; i += 1 + entries.count / 100) {
      entries.checkAll(i, cache.get(entries.key(i)));
    }
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    threads.close();
    cache.close();
    Folders.delete(site);
  }
}
