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

import com.google.common.cache.CacheLoader;
import com.google.common.util.concurrent.Futures;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Measures how long threads wait whose values have to be computed, beside Gerrit's own caches:
 * {@code bin/bench loads}. A load sleeps, so that what is measured is who waits for whom. Then what
 * a hit on the heap costs, and a miss whose value is computed in no time.
 */
public final class LoadsBench {
  private static final int[] THREADS = {8, 64, 256};
  private static final int[] LOAD_MILLIS = {1, 10, 100, 500};
  private static final int ROUNDS = 5;

  /** A table of so many values has bins enough that keys seldom share one. */
  private static final int WARM_ENTRIES = 10_000;

  private static final int VALUE_BYTES = 1000;
  private static final long DISK_LIMIT = 256 << 20;
  private static final int CALLS = 200_000;
  private static final int MISSES = 20_000;
  private static final List<CachePeer> PEERS = List.of(CachePeer.OURS, CachePeer.H2);

  private final Path folder;
  private final String only;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<Object> figures = new ArrayList<>();

  private LoadsBench(Session session) {
    folder = session.folder();
    only = session.value(Session.ONLY).orElse("");
  }

  /** What the threads ask for, and of which cache. */
  private enum Keys {
    COLD("other keys, cold cache"),
    WARM("other keys, warm cache"),
    /** Of one hash code, so that they share a bin of any hash table. */
    COLLIDING("keys of one hash code"),
    SAME("the same key");

    private final String title;

    Keys(String title) {
      this.title = title;
    }

    String key(int round, int thread) {
      return switch (this) {
        case COLD, WARM -> "key " + round + " " + thread;
        case SAME -> "key " + round;
        case COLLIDING -> "key " + round + " " + colliding(thread);
      };
    }

    /** "Aa" and "BB" have the same hash code, and so have all texts that are made of them. */
    private static String colliding(int number) {
      StringBuilder result = new StringBuilder();
      for (int bit = 0; bit < 8; bit++) {
        result.append((number >> bit & 1) == 0 ? "Aa" : "BB");
      }
      return result.toString();
    }
  }

  private static final class Sleeper extends CacheLoader<String, byte[]> {
    private volatile long millis;

    @Override
    public byte[] load(String key) throws InterruptedException {
      if (millis > 0) {
        Thread.sleep(millis);
      }
      return new byte[VALUE_BYTES];
    }
  }

  /** Exits with 0, or with 1 if something could not be measured or written. */
  public static void main(String[] args) {
    Session.run(
        args,
        session -> {
          LoadsBench bench = new LoadsBench(session);
          session.printHead("Gerrit " + Machine.version("gerrit-acceptance-framework"));
          session.measure(
              fork -> {
                bench.measureLoads();
                bench.measureCalls();
              });
          session.printOtherWork();
          session.finish(bench.figures);
        });
    // Its threads would keep the process alive.
    System.exit(0);
  }

  private void measureLoads() throws IOException {
    System.out.printf(
        Locale.ROOT,
        "Time until all threads have their values, as a multiple of one load; medians of %d%n%n"
            + "%-28s %8s %9s %9s %9s %9s%n",
        ROUNDS,
        "",
        "Threads",
        "Load, ms",
        "ours",
        "H2",
        "no cache");
    for (Keys keys : Keys.values()) {
      for (int count : THREADS) {
        for (int millis : LOAD_MILLIS) {
          // One after another would take H2 more than half a minute.
          if (keys != Keys.COLLIDING || count * millis <= 10_000) {
            measure(keys, count, millis);
          }
        }
      }
    }
  }

  private interface Get {
    void get(int round, int thread) throws Exception;
  }

  private void measure(Keys keys, int count, int millis) throws IOException {
    String name =
        String.format(Locale.ROOT, "%s, %d threads, %d ms, all done", keys.title, count, millis);
    if (!name.contains(only)) {
      return;
    }
    Map<CachePeer, Double> took = new EnumMap<>(CachePeer.class);
    for (CachePeer peer : PEERS) {
      took.put(peer, medianOf(peer, keys, count, millis));
    }
    double alone = median(count, (round, thread) -> Thread.sleep(millis));
    System.out.printf(
        Locale.ROOT,
        "%-28s %8d %9d %9.2f %9.2f %9.2f%n",
        keys.title,
        count,
        millis,
        took.get(CachePeer.OURS) / millis,
        took.get(CachePeer.H2) / millis,
        alone / millis);
    figures.add(
        Figure.lessIsBetter(
            name + ", vs H2", "ms", took.get(CachePeer.OURS), took.get(CachePeer.H2)));
  }

  private double medianOf(CachePeer peer, Keys keys, int count, int millis) throws IOException {
    if (keys != Keys.COLD) {
      Sleeper source = new Sleeper();
      try (OpenCache cache = open(peer, source)) {
        for (int i = 0; i < WARM_ENTRIES; i++) {
          var unused = get(cache, "other " + i);
        }
        cache.drain();
        source.millis = millis;
        return median(count, (round, thread) -> get(cache, keys.key(round, thread)));
      }
    }
    double[] rounds = new double[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      Sleeper source = new Sleeper();
      source.millis = millis;
      int round = i;
      try (OpenCache cache = open(peer, source)) {
        rounds[i] = time(count, thread -> get(cache, keys.key(round, thread)));
      }
    }
    return middle(rounds);
  }

  private OpenCache open(CachePeer peer, Sleeper source) throws IOException {
    Path site = Files.createTempDirectory(folder, "site");
    return new OpenCache(
        peer, site, DiskCacheDef.withTextKeys("benchmark", DISK_LIMIT, 10L * WARM_ENTRIES), source);
  }

  private static byte[] get(OpenCache cache, String key) {
    try {
      return cache.get(key);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }

  private double median(int count, Get get) {
    double[] rounds = new double[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      int round = i;
      rounds[i] = time(count, thread -> get.get(round, thread));
    }
    return middle(rounds);
  }

  private interface Task {
    void run(int thread) throws Exception;
  }

  /** Milliseconds until all of so many threads, which begin at once, are done. */
  private double time(int count, Task task) {
    long[] begun = new long[1];
    CyclicBarrier start = new CyclicBarrier(count + 1, () -> begun[0] = System.nanoTime());
    List<Future<?>> tasks = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int thread = i;
      Callable<Void> callable =
          () -> {
            start.await();
            task.run(thread);
            return null;
          };
      tasks.add(threads.submit(callable));
    }
    try {
      start.await();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    tasks.forEach(Futures::getUnchecked);
    return (System.nanoTime() - begun[0]) / (double) TimeUnit.MILLISECONDS.toNanos(1);
  }

  private static double middle(double[] figures) {
    double[] sorted = figures.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  // ---- what a call costs

  private void measureCalls() throws IOException {
    System.out.printf(
        Locale.ROOT,
        "%n%-28s %9s %9s %9s %9s%n",
        "One thread",
        "ours, ns",
        "H2, ns",
        "ours, B",
        "H2, B");
    for (boolean hit : new boolean[] {true, false}) {
      String name = hit ? "hit on the heap" : "miss, computed in no time";
      if (!name.contains(only)) {
        continue;
      }
      Map<CachePeer, double[]> results = new EnumMap<>(CachePeer.class);
      for (CachePeer peer : PEERS) {
        results.put(peer, hit ? hits(peer) : misses(peer));
      }
      double[] ours = results.get(CachePeer.OURS);
      double[] theirs = results.get(CachePeer.H2);
      System.out.printf(
          Locale.ROOT,
          "%-28s %9s %9s %9s %9s%n",
          name,
          Numbers.whole(ours[0]),
          Numbers.whole(theirs[0]),
          Numbers.whole(ours[1]),
          Numbers.whole(theirs[1]));
      figures.add(Figure.lessIsBetter(name + ", vs H2", "ns", ours[0], theirs[0]));
      figures.add(Figure.lessIsBetter(name + ", garbage, vs H2", "bytes", ours[1], theirs[1]));
    }
    System.out.println();
  }

  /** Nanoseconds and bytes of garbage for a call. */
  private double[] hits(CachePeer peer) throws IOException {
    try (OpenCache cache = open(peer, new Sleeper())) {
      String[] keys = IntStream.range(0, 1000).mapToObj(i -> "key " + i).toArray(String[]::new);
      return best(30, CALLS, i -> get(cache, keys[i % keys.length]));
    }
  }

  private double[] misses(CachePeer peer) throws IOException {
    try (OpenCache cache = open(peer, new Sleeper())) {
      int[] next = {0};
      return best(12, MISSES, i -> get(cache, "key " + next[0]++));
    }
  }

  /** The best of some rounds, of which the first warm up the compiler. */
  private static double[] best(int rounds, int calls, Task task) {
    var memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    double[] best = {Double.MAX_VALUE, Double.MAX_VALUE};
    try {
      for (int round = 0; round < rounds; round++) {
        long bytes = memory.getCurrentThreadAllocatedBytes();
        long begun = System.nanoTime();
        for (int i = 0; i < calls; i++) {
          task.run(i);
        }
        best[0] = Math.min(best[0], (System.nanoTime() - begun) / (double) calls);
        bytes = memory.getCurrentThreadAllocatedBytes() - bytes;
        best[1] = Math.min(best[1], bytes / (double) calls);
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    return best;
  }
}
