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

import java.util.Iterator;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import org.openjdk.jmh.util.Statistics;

/** What one peer did in one case, over all rounds. */
public final class Samples {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;

  /** Number of calls by their latency in nanoseconds. */
  private final TreeMap<Double, Long> calls = new TreeMap<>();

  private long callCount;
  private double operations;
  private double seconds;
  private long cpuNanos;
  private double garbage;
  private long garbageParts;
  private boolean warm = true;
  private int refused;

  /**
   * Adds a round of JMH's. All take equally long.
   *
   * @param opsPerSecond throughput
   * @param latencies of the calls, nanoseconds
   */
  void add(double opsPerSecond, Statistics latencies) {
    operations += opsPerSecond;
    seconds++;
    Iterator<Map.Entry<Double, Long>> raw = latencies.getRawData();
    while (raw.hasNext()) {
      Map.Entry<Double, Long> entry = raw.next();
      addCalls(entry.getKey(), entry.getValue());
    }
  }

  public void add(Turn run) {
    for (long latency : run.latencies()) {
      addCalls((double) latency, 1);
    }
    operations += run.count();
    seconds += run.wallNanos() / NANOS_PER_SECOND;
    cpuNanos += run.cpuNanos();
    if (run.allocated().isPresent()) {
      garbage += run.allocated().getAsLong();
      garbageParts += run.count();
    }
  }

  private void addCalls(double nanos, long count) {
    calls.merge(nanos, count, Long::sum);
    callCount += count;
  }

  /** Adds the bytes that a call left to the garbage collector in one round. */
  void addGarbage(double bytesPerCall) {
    garbage += bytesPerCall;
    garbageParts++;
  }

  /** Adds a call that was refused; says why of the first one. */
  public synchronized void refuse(String why) {
    if (refused++ == 0) {
      System.out.println("refused: " + why);
    }
  }

  int refused() {
    return refused;
  }

  /** Says that in a round it still got faster when it was measured. */
  void neverWarm() {
    warm = false;
  }

  /** Whether it got no faster any more when it was measured. */
  boolean isWarm() {
    return warm;
  }

  long callCount() {
    return callCount;
  }

  /** Bytes of garbage of a call, the mean of all rounds; empty if not measured. */
  OptionalDouble garbage() {
    return garbageParts == 0 ? OptionalDouble.empty() : OptionalDouble.of(garbage / garbageParts);
  }

  /** Operations per second, the mean of all rounds. */
  public double opsPerSecond() {
    return operations / seconds;
  }

  /** Processor time of a call; empty if not measured. */
  OptionalDouble cpuMillis() {
    return cpuNanos == 0
        ? OptionalDouble.empty()
        : OptionalDouble.of(cpuNanos / NANOS_PER_MILLI / callCount);
  }

  /** The latency in milliseconds that {@code percent} of all calls did not exceed. */
  public double millis(double percent) {
    return micros(percent) / 1000;
  }

  /**
   * The latency in microseconds that {@code percent} of all calls did not exceed; not a number if
   * all were refused.
   */
  double micros(double percent) {
    long rank = (long) Math.ceil(callCount * percent / 100);
    long seen = 0;
    for (Map.Entry<Double, Long> entry : calls.entrySet()) {
      seen += entry.getValue();
      if (seen >= rank) {
        return entry.getKey() / 1000;
      }
    }
    return Double.NaN;
  }
}
