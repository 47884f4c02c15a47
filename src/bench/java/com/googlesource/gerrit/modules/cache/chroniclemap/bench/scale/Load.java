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

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Two threads that write to a cache. */
final class Load {
  /** What is written. */
  enum Kind {
    /** All values in turn, each once; waits now and then until the cache has caught up. */
    FILL,
    /** Values in place of those that are there, as fast as it goes. */
    REPLACE,
    /**
     * Values that are there, as if they had been computed once more, as fast as it goes. None so
     * large that its parts can't be told from those of another value: no key gets a second one.
     */
    AGAIN
  }

  private static final int THREADS = 2;

  /** Puts after which it waits: less than what a cache may keep in a queue. */
  private static final int BATCH = 256;

  /** Writes to come before it counts as begun. */
  private static final int FIRST = 500;

  private final ScaledCache cache;
  private final Values values;
  private final int count;
  private final AtomicInteger next = new AtomicInteger();
  private final AtomicInteger written = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private final Waits waits = new Waits();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean over;
  private volatile RuntimeException failure;

  Load(ScaledCache cache, Values values, int count) {
    this.cache = cache;
    this.values = values;
    this.count = count;
  }

  /** How many of the first values are there, but for a few. */
  int filled() {
    return Math.max(0, written.get() - THREADS);
  }

  /** Stores all values and returns when nothing waits. */
  Answer fill() throws InterruptedException {
    long begun = System.nanoTime();
    start(Kind.FILL);
    for (Thread thread : threads) {
      thread.join();
    }
    rethrow();
    cache.drain();
    double seconds = (System.nanoTime() - begun) / 1e9;
    return new Answer().add("seconds", seconds).add("bytes", bytes.get()).add("put", waits);
  }

  /** Begins to write; returns when some of that is done. */
  void begin(Kind kind) throws InterruptedException {
    start(kind);
    while (written.get() < FIRST) {
      checkRunning();
      Thread.sleep(1);
    }
  }

  private void start(Kind kind) {
    for (int i = 0; i < THREADS; i++) {
      SplittableRandom random = new SplittableRandom();
      Thread thread = new Thread(() -> run(kind, random), "load-" + i);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
  }

  private void run(Kind kind, SplittableRandom random) {
    Waits mine = new Waits();
    try {
      for (int i = 1; !over; i++) {
        int number = next.getAndIncrement();
        if (kind == Kind.FILL && number >= count) {
          return;
        }
        mine.add(write(kind, number, random));
        written.incrementAndGet();
        if ((kind == Kind.FILL || cache.queuesWithoutBound()) && i % BATCH == 0) {
          cache.drain();
        }
      }
    } catch (RuntimeException e) {
      // What is closed meanwhile may refuse.
      failure = over ? null : e;
    } finally {
      synchronized (waits) {
        waits.addAll(mine);
      }
    }
  }

  private long write(Kind kind, int turn, SplittableRandom random) {
    int number = kind == Kind.FILL ? turn : random.nextInt(count);
    if (kind == Kind.AGAIN && Values.isLarge(number)) {
      number++;
    }
    byte[] value = values.value(number);
    bytes.addAndGet(Values.bytes(number));
    long begun = System.nanoTime();
    if (kind == Kind.REPLACE) {
      cache.put(number, value);
    } else {
      cache.store(number, value);
    }
    return System.nanoTime() - begun;
  }

  /** Fails if writing has. */
  void checkRunning() {
    rethrow();
    if (threads.stream().noneMatch(Thread::isAlive)) {
      throw new IllegalStateException("all was written before it could be measured");
    }
  }

  private void rethrow() {
    RuntimeException cause = failure;
    if (cause != null) {
      throw new IllegalStateException("a writer failed", cause);
    }
  }

  /** Ends what was begun. */
  void end() throws InterruptedException {
    over = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }
}
