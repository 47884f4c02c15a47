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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that share the runs of an operation, each making one after the other. */
final class Writers implements AutoCloseable {
  private final int count;
  private final ExecutorService threads;

  Writers(int count) {
    this.count = count;
    this.threads = Executors.newFixedThreadPool(count);
  }

  /** Does it once. */
  interface Work {
    /**
     * Does it.
     *
     * @param writer who does it, from 0
     * @param run another one each time
     */
    void run(int writer, int run) throws IOException;
  }

  /**
   * Makes runs.
   *
   * @param first number of the first run
   * @param most how many runs there may be
   * @param millis after which none is begun any more; one is made in any case
   * @return latencies in the order of the runs
   */
  long[] make(int first, int most, int millis, Work work) throws IOException {
    long[] latencies = new long[most];
    AtomicInteger next = new AtomicInteger();
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    if (count == 1) {
      makeOneByOne(0, first, end, next, latencies, work);
    } else {
      List<Callable<Void>> tasks = new ArrayList<>();
      for (int writer = 0; writer < count; writer++) {
        int self = writer;
        tasks.add(
            () -> {
              makeOneByOne(self, first, end, next, latencies, work);
              return null;
            });
      }
      await(tasks);
    }
    long[] made = new long[Math.min(most, next.get())];
    System.arraycopy(latencies, 0, made, 0, made.length);
    return made;
  }

  private static void makeOneByOne(
      int writer, int first, long end, AtomicInteger next, long[] latencies, Work work)
      throws IOException {
    do {
      int taken = next.getAndUpdate(number -> Math.min(number + 1, latencies.length));
      if (taken == latencies.length) {
        return;
      }
      long begun = System.nanoTime();
      work.run(writer, first + taken);
      latencies[taken] = System.nanoTime() - begun;
    } while (System.nanoTime() < end);
  }

  private void await(List<Callable<Void>> tasks) throws IOException {
    try {
      for (Future<Void> task : threads.invokeAll(tasks)) {
        var unused = task.get();
      }
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
