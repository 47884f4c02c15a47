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

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;

/**
 * Requests at a steady pace while something else is done: reads of random keys, and puts in place
 * of what is there. Each wait counts from the moment when the request was due, so that a pause
 * counts for all requests that fell into it, unless the thread only woke up late.
 */
final class Requests {
  private static final long READ_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long PUT_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long REMOVE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** What else is done besides reads. */
  enum Changes {
    NONE,
    PUTS,
    REMOVALS
  }

  private final ScaledCache cache;
  private final Values values;
  private final Paced reads;
  private final Changes kind;
  private final Paced changes;

  /**
   * Begins.
   *
   * @param filled how many keys there are by now
   * @param changes what else to do
   */
  static Requests begin(ScaledCache cache, Values values, IntSupplier filled, Changes changes) {
    Requests requests = new Requests(cache, values, filled, changes);
    requests.reads.start();
    if (changes != Changes.NONE) {
      requests.changes.start();
    }
    return requests;
  }

  private Requests(ScaledCache cache, Values values, IntSupplier filled, Changes kind) {
    this.cache = cache;
    this.values = values;
    this.reads = new Paced("reads", READ_NANOS, filled, this::read);
    this.kind = kind;
    this.changes =
        kind == Changes.REMOVALS
            ? new Paced("removals", REMOVE_NANOS, filled, this::remove)
            : new Paced("puts", PUT_NANOS, filled, this::put);
  }

  private long remove(int number) {
    long begun = System.nanoTime();
    cache.remove(number);
    return System.nanoTime() - begun;
  }

  private long read(int number) {
    long begun = System.nanoTime();
    byte[] found = cache.read(number);
    long end = System.nanoTime();
    if (found != null) {
      Values.check(number, found);
    }
    return end - begun;
  }

  private long put(int number) {
    // To make a value is not part of the request.
    byte[] value = values.value(number);
    long begun = System.nanoTime();
    cache.put(number, value);
    return System.nanoTime() - begun;
  }

  /** Ends, and adds what was waited to an answer. */
  void end(Answer answer) throws InterruptedException {
    answer.add("read", reads.end());
    if (kind != Changes.NONE) {
      answer.add(kind == Changes.PUTS ? "put" : "remove", changes.end());
    }
  }

  private interface Request {
    /** Makes it and says how long that took. */
    long make(int number);
  }

  private static final class Paced extends Thread {
    private final long pace;
    private final IntSupplier filled;
    private final Request request;
    private final Waits waits = new Waits();
    private final SplittableRandom random = new SplittableRandom(3);
    private volatile boolean over;
    private volatile RuntimeException failure;

    Paced(String name, long pace, IntSupplier filled, Request request) {
      super(name);
      this.pace = pace;
      this.filled = filled;
      this.request = request;
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        long due = System.nanoTime();
        while (!over) {
          due += pace;
          long late = waitUntil(due);
          int count = filled.getAsInt();
          if (count > 0) {
            waits.add(late + request.make(random.nextInt(count)));
          }
        }
      } catch (RuntimeException e) {
        failure = e;
      }
    }

    /** Returns how late it is because requests before took long. */
    private long waitUntil(long due) {
      long now = System.nanoTime();
      if (now >= due) {
        return now - due;
      }
      while (now < due && !over) {
        LockSupport.parkNanos(due - now);
        now = System.nanoTime();
      }
      return 0;
    }

    Waits end() throws InterruptedException {
      over = true;
      join();
      if (failure != null) {
        throw failure;
      }
      return waits;
    }
  }
}
