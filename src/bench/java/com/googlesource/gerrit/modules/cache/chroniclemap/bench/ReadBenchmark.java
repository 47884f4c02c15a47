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

import com.google.common.util.concurrent.Futures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
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
import org.openjdk.jmh.infra.BenchmarkParams;

/**
 * Reads from disk, of random keys, alone and with puts among them, of a cache with all {@link
 * Entries} on disk: filled, closed, opened again and each value compared.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class ReadBenchmark {
  private static final int ONE_PUT_IN = 20;

  @Param CachePeer peer;

  @Param({"10240", "200", "102400", "5242880"})
  int valueBytes;

  private Entries entries;
  private OpenCache cache;
  private Path site;

  @Setup(Level.Trial)
  public void fill(BenchmarkParams params) throws IOException, ExecutionException {
    entries = new Entries(valueBytes);
    site = Fork.newSite();
    try (OpenCache filling = new OpenCache(peer, site, entries)) {
      entries.putAllTo(filling);
    }
    cache = new OpenCache(peer, site, entries);
    if (cache.entriesOnDisk() != entries.count) {
      throw new IllegalStateException("entries on disk: " + cache.entriesOnDisk());
    }
    for (int i = 0; i < entries.count; i++) {
      entries.checkAll(i, cache.get(entries.key(i)));
    }
    boolean mixed = CacheBench.CacheCase.Operation.MIXED.isMeasuredBy(params.getBenchmark());
    try (ExecutorService threads = Executors.newFixedThreadPool(params.getThreads())) {
      WarmUp.until(nanos -> callFor(nanos, mixed, threads, params.getThreads()));
    }
    drain();
  }

  /** Has all threads call for so long; returns calls per second. */
  private double callFor(long nanos, boolean mixed, ExecutorService threads, int count) {
    long start = System.nanoTime();
    List<Future<Long>> calls = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      calls.add(threads.submit(() -> callUntil(start + nanos, mixed)));
    }
    long all = 0;
    for (Future<Long> call : calls) {
      all += Futures.getUnchecked(call);
    }
    return all / ((System.nanoTime() - start) / 1e9);
  }

  private long callUntil(long end, boolean mixed) throws ExecutionException {
    long calls = 0;
    do {
      var unused = mixed ? mixed() : get();
      calls++;
    } while (System.nanoTime() < end);
    return calls;
  }

  /** Reads a random key from disk. */
  @Benchmark
  public byte[] get() throws ExecutionException {
    int i = ThreadLocalRandom.current().nextInt(entries.count);
    return entries.check(i, cache.get(entries.key(i)));
  }

  /** 95 of 100 calls are gets, the others replace the value of a key. */
  @Benchmark
  public byte[] mixed() throws ExecutionException {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    int i = random.nextInt(entries.count);
    if (random.nextInt(ONE_PUT_IN) == 0) {
      byte[] value = entries.value(i);
      cache.put(entries.key(i), value);
      return value;
    }
    return entries.check(i, cache.get(entries.key(i)));
  }

  /** What one iteration has put shall not be written during the next. */
  @TearDown(Level.Iteration)
  public void drain() {
    cache.drain();
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    cache.close();
    Folders.delete(site);
  }
}
