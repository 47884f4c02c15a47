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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.scale;

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Zipf;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What is asked of a cache that has been full for long: a few keys are read again and again, and
 * there are always new ones. All values are of about 5 KB, as {@code change_notes} has them.
 */
final class SteadyState {
  /** As many as the machine has processors: with more, the longest waits are their turns to run. */
  private static final int THREADS = Runtime.getRuntime().availableProcessors();

  private static final int NEW_IN = 10;
  private static final double SKEW = 0.9;

  private final ScaledCache cache;
  private final Values values;
  private final int count;
  private final AtomicInteger next;
  private final Zipf ranks;
  private volatile long end;

  /**
   * Prepares.
   *
   * @param count keys that were stored before; see {@link #number}
   */
  SteadyState(ScaledCache cache, Values values, int count) {
    this.cache = cache;
    this.values = values;
    this.count = count;
    this.next = new AtomicInteger(count);
    this.ranks = new Zipf(count, SKEW);
  }

  /** The number of the value of the key with an index; always one of middle size. */
  static int number(int index) {
    return 8 * index;
  }

  private interface Work {
    /** Returns bytes put. */
    long run(Random random, Waits reads, Waits puts, AtomicLong hits);
  }

  /** Nine of ten calls read, one stores a new key; a value that is not found is stored anew. */
  Answer mix(int seconds) throws Exception {
    return run(
        seconds,
        (random, reads, puts, hits) -> {
          if (random.nextInt(NEW_IN) == 0) {
            return store(next.getAndIncrement(), puts);
          }
          // The newest keys are asked for most, as those of changes are.
          int index = Math.max(0, next.get() - 1 - ranks.next(random));
          long begun = System.nanoTime();
          byte[] found = cache.read(number(index));
          reads.add(System.nanoTime() - begun);
          if (found == null) {
            return store(index, puts);
          }
          Values.check(number(index), found);
          hits.incrementAndGet();
          return 0;
        });
  }

  /** New keys as fast as it goes, with reads and removals meanwhile. */
  Answer flood(int seconds) throws Exception {
    Requests others = Requests.begin(cache, values, () -> 8 * count, Requests.Changes.REMOVALS);
    Answer answer =
        run(
            seconds,
            (random, noReads, puts, hits) -> {
              long bytes = store(next.getAndIncrement(), puts);
              if (cache.queuesWithoutBound() && random.nextInt(256) == 0) {
                cache.drain();
              }
              return bytes;
            });
    others.end(answer);
    return answer;
  }

  private long store(int index, Waits puts) {
    byte[] value = values.value(number(index));
    long begun = System.nanoTime();
    cache.store(number(index), value);
    puts.add(System.nanoTime() - begun);
    return value.length;
  }

  private Answer run(int seconds, Work work) throws Exception {
    Waits allReads = new Waits();
    Waits allPuts = new Waits();
    AtomicLong hits = new AtomicLong();
    AtomicLong bytes = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    List<Throwable> failures = new ArrayList<>();
    double readBefore = Memory.readBytes();
    double writtenBefore = Memory.writtenBytes();
    long evictedBefore = cache.lost();
    long begun = System.nanoTime();
    end = begun + seconds * 1_000_000_000L;
    for (int i = 0; i < THREADS; i++) {
      Random random = new Random(i);
      Thread thread =
          new Thread(
              () -> {
                Waits reads = new Waits();
                Waits puts = new Waits();
                try {
                  while (System.nanoTime() < end) {
                    bytes.addAndGet(work.run(random, reads, puts, hits));
                  }
                } catch (RuntimeException | Error e) {
                  synchronized (failures) {
                    failures.add(e);
                  }
                }
                synchronized (allReads) {
                  allReads.addAll(reads);
                  allPuts.addAll(puts);
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (!failures.isEmpty()) {
      throw new IllegalStateException(failures.get(0));
    }
    cache.drain();
    double took = (System.nanoTime() - begun) / 1e9;
    return new Answer()
        .add("read", allReads)
        .add("put", allPuts)
        .add("reads", allReads.count() / took)
        .add("puts", (allPuts.count() - (cache.lost() - evictedBefore)) / took)
        .add("lost", (double) (cache.lost() - evictedBefore))
        .add("hits", 100.0 * hits.get() / Math.max(1, allReads.count()))
        .add("bytes.put", bytes.get() / took)
        .add("disk.read", (Memory.readBytes() - readBefore) / took)
        .add("disk.written", (Memory.writtenBytes() - writtenBefore) / took);
  }
}
