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

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Says how far a run is: on a terminal in one line that changes each second, else in a line for
 * each step.
 */
public final class Progress implements AutoCloseable {
  private static final String CLEAR_LINE = "\r\033[K";

  private final boolean terminal;
  private final int steps;
  private final long start = System.nanoTime();
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

  // Guarded by this.
  private int done;
  private String step = "";
  private long remainingNanos = -1;
  private long estimated = start;

  public Progress(boolean terminal, int steps) {
    this.terminal = terminal;
    this.steps = steps;
    if (terminal) {
      var unused = clock.scheduleAtFixedRate(this::draw, 0, 1, TimeUnit.SECONDS);
    }
  }

  /** Says what is done from here on. */
  public synchronized void begin(String name) {
    step = name;
    if (terminal) {
      draw();
    } else {
      System.out.println(line());
    }
  }

  /** The step begun last has ended. */
  public synchronized void end() {
    done++;
    estimated = System.nanoTime();
    remainingNanos = (estimated - start) / done * (steps - done);
  }

  private synchronized void draw() {
    System.out.print(CLEAR_LINE + line());
    System.out.flush();
  }

  private String line() {
    long now = System.nanoTime();
    String left =
        remainingNanos < 0
            ? ""
            : ", about " + show(Math.max(0, remainingNanos - (now - estimated))) + " left";
    return String.format(
        Locale.ROOT, "%3d/%d  %s  (%s%s)", done + 1, steps, step, show(now - start), left);
  }

  private static String show(long nanos) {
    Duration duration = Duration.ofNanos(nanos);
    return duration.toMinutes() == 0
        ? duration.toSecondsPart() + " s"
        : String.format(
            Locale.ROOT, "%d min %02d s", duration.toMinutes(), duration.toSecondsPart());
  }

  @Override
  public void close() {
    clock.shutdownNow();
    synchronized (this) {
      if (terminal) {
        System.out.print(CLEAR_LINE);
        System.out.flush();
      }
    }
  }
}
