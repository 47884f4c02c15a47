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

package com.googlesource.gerrit.modules.cache.chroniclemap;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

/** The threads of a test, all of which have ended when a method of this returns. */
public final class Threads {
  private Threads() {}

  @FunctionalInterface
  public interface Act {
    void run() throws Exception;
  }

  @FunctionalInterface
  public interface Task {
    void run(int thread) throws Exception;
  }

  /** How many bytes of heap this thread takes for it: the same each time, as a duration is not. */
  public static long allocated(Act act) throws Exception {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    act.run();
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  /** Has so many threads do their task once, at the same time; fails if one of them does. */
  public static void together(int count, Task task) throws Exception {
    CountDownLatch start = new CountDownLatch(count);
    run(
        count,
        thread -> {
          start.countDown();
          start.await();
          task.run(thread);
        },
        () -> {});
  }

  /** Has so many threads do their task again and again, at least once, while the test does more. */
  public static void meanwhile(int count, Task again, Act act) throws Exception {
    AtomicBoolean isOver = new AtomicBoolean();
    run(
        count,
        thread -> {
          do {
            again.run(thread);
          } while (!isOver.get());
        },
        () -> {
          try {
            act.run();
          } finally {
            isOver.set(true);
          }
        });
  }

  private static void run(int count, Task task, Act act) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(count)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        int number = i;
        all.add(
            threads.submit(
                () -> {
                  task.run(number);
                  return null;
                }));
      }
      act.run();
      for (Future<?> each : all) {
        each.get();
      }
    }
  }
}
