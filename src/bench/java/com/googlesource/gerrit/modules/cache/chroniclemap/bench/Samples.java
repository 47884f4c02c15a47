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

/** What one peer did in one scenario, over all rounds. */
final class Samples {
  /** Number of calls by their latency in nanoseconds. */
  private final TreeMap<Double, Long> calls = new TreeMap<>();

  private long callCount;
  private double throughputs;
  private int rounds;
  private double garbage;
  private int garbageRounds;
  private boolean warm = true;

  /**
   * Adds a round.
   *
   * @param opsPerSecond throughput
   * @param latencies of the calls, nanoseconds
   */
  void add(double opsPerSecond, Statistics latencies) {
    throughputs += opsPerSecond;
    rounds++;
    Iterator<Map.Entry<Double, Long>> raw = latencies.getRawData();
    while (raw.hasNext()) {
      Map.Entry<Double, Long> entry = raw.next();
      calls.merge(entry.getKey(), entry.getValue(), Long::sum);
      callCount += entry.getValue();
    }
  }

  /** Adds the bytes that a call left to the garbage collector in one round. */
  void addGarbage(double bytesPerCall) {
    garbage += bytesPerCall;
    garbageRounds++;
  }

  /** Says that in a round it still got faster when it was measured. */
  void neverWarm() {
    warm = false;
  }

  /** Whether it got no faster any more when it was measured. */
  boolean isWarm() {
    return warm;
  }

  /** Bytes of garbage of a call, the mean of all rounds; empty if not measured. */
  OptionalDouble garbage() {
    return garbageRounds == 0 ? OptionalDouble.empty() : OptionalDouble.of(garbage / garbageRounds);
  }

  /** Operations per second, the mean of all rounds. */
  double opsPerSecond() {
    return throughputs / rounds;
  }

  /** The latency in microseconds that {@code percent} of all calls did not exceed. */
  double micros(double percent) {
    long rank = (long) Math.ceil(callCount * percent / 100);
    long seen = 0;
    for (Map.Entry<Double, Long> entry : calls.entrySet()) {
      seen += entry.getValue();
      if (seen >= rank) {
        return entry.getKey() / 1000;
      }
    }
    throw new IllegalStateException("no calls were measured");
  }
}
