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

/** An operation on a cache, on values of a size, by a number of threads. */
record CacheCase(Operation operation, int valueBytes, int threads) implements Case {
  @Override
  public String title() {
    return operation.title();
  }

  @Override
  public String callTitle() {
    return operation.callTitle();
  }

  @Override
  public double times(Samples ours, Samples theirs) {
    return ours.opsPerSecond() / theirs.opsPerSecond();
  }

  private String size() {
    return valueBytes % (1 << 20) == 0
        ? (valueBytes >> 20) + " MB"
        : valueBytes % 1024 == 0 ? valueBytes / 1024 + " KB" : valueBytes + " B";
  }

  /** Such as {@code get, 10 KB, 8 threads}. */
  @Override
  public String nameOf(String quantity) {
    return quantity + ", " + size() + ", " + Bench.counted(threads, "thread");
  }

  @Override
  public String toString() {
    return nameOf(title());
  }

  /** What is measured. */
  enum Operation {
    GET("get", "get", ReadBenchmark.class, "get"),
    MIXED("mixed 95/5", "mixed 95/5", ReadBenchmark.class, "mixed"),
    /** Throughput is until on disk; the latency is that of the caller's put. */
    PUT("put", "put call", PutBenchmark.class, "put");

    private final String title;
    private final String callTitle;
    private final Class<?> benchmark;
    private final String method;

    Operation(String title, String callTitle, Class<?> benchmark, String method) {
      this.title = title;
      this.callTitle = callTitle;
      this.benchmark = benchmark;
      this.method = method;
    }

    /** Name of its throughput. */
    String title() {
      return title;
    }

    /** Name of its latency. */
    String callTitle() {
      return callTitle;
    }

    /** Whether that is the name of its JMH benchmark. */
    boolean isMeasuredBy(String jmhBenchmark) {
      return jmhBenchmark.equals(benchmark.getName() + "." + method);
    }

    /** What JMH takes for a pattern of names. */
    String jmhName() {
      return benchmark.getName() + "." + method + "$";
    }
  }
}
