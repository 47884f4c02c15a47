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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.common.collect.ImmutableList;
import com.google.gerrit.metrics.Description;
import com.google.gerrit.metrics.Description.Units;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latencies;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * A figure of each cache that Gerrit publishes as a metric.
 *
 * @param name its full name, such as {@code caches/chroniclemap/hits}
 * @param cumulative whether it only ever rises while the server runs
 * @param meaning for people
 * @param unit of its values
 * @param value the figure in a cache's report
 */
record CacheMetric(
    String name,
    boolean cumulative,
    String meaning,
    String unit,
    ToLongFunction<CacheReport> value) {

  /**
   * All of them. The names are documented and stay. None is the beginning of another, so that a
   * pattern finds the figures of all caches and no other ones.
   */
  static final ImmutableList<CacheMetric> ALL =
      ImmutableList.<CacheMetric>builder()
          .add(
              gauge("entries", "values on disk", "entries", report -> report.disk().entries()),
              gauge(
                  "live_bytes",
                  "bytes of the keys and values",
                  Units.BYTES,
                  report -> report.disk().liveBytes()),
              gauge(
                  "disk_bytes",
                  "bytes that the file takes",
                  Units.BYTES,
                  report -> report.disk().diskBytes()),
              gauge(
                  "limit_bytes",
                  "bytes that the file may take",
                  Units.BYTES,
                  report -> report.disk().maxBytes()),
              gauge(
                  "failed",
                  "1 if the cache has no file any more and is kept in memory only",
                  "flag",
                  report -> report.disk().state() == StoreState.FAILED ? 1 : 0),
              gauge(
                  "queued",
                  "values that wait for being written",
                  "entries",
                  report -> report.disk().queued()),
              count(
                  "reads",
                  "reads of the disk tier",
                  "reads",
                  report -> report.disk().hits() + report.disk().misses()),
              count("hits", "reads that found a value", "reads", report -> report.disk().hits()),
              count("misses", "reads that found none", "reads", report -> report.disk().misses()),
              count("puts", "values written to disk", "entries", report -> report.disk().puts()))
          .addAll(
              latency(
                  "put", "the time that a put kept its caller", Units.MICROSECONDS, Latencies::put))
          .addAll(
              latency(
                  "read",
                  "the time that a read from disk which found a value took, up to its bytes",
                  Units.NANOSECONDS,
                  Latencies::read))
          .addAll(
              latency(
                  "serialize",
                  "the time that making bytes of a value took",
                  Units.NANOSECONDS,
                  Latencies::serialize))
          .addAll(
              latency(
                  "deserialize",
                  "the time that making a value of its bytes took",
                  Units.NANOSECONDS,
                  Latencies::deserialize))
          .add(
              count(
                  "invalidated",
                  "keys removed on request",
                  "entries",
                  report -> report.disk().invalidated()),
              count(
                  "evicted",
                  "values that left to make room",
                  "entries",
                  report -> report.disk().evictions()),
              count(
                  "expired",
                  "values that became too old",
                  "entries",
                  report -> report.disk().expired()),
              count(
                  "growths",
                  "times the file was replaced by another",
                  "files",
                  report -> report.disk().growths()),
              count(
                  "recoveries",
                  "times the file was recovered after a crash",
                  "files",
                  report -> report.disk().start().kind() == StartReport.Kind.RECOVERED ? 1 : 0),
              count(
                  "damaged",
                  "entries found damaged, by reads and when what a kill had left was put in order",
                  "entries",
                  report -> report.disk().damaged()),
              count(
                  "faults",
                  "times the disk failed the file, whatever came of it",
                  "faults",
                  report -> report.disk().faults()),
              count(
                  "not_stored",
                  "values left out because there was no room",
                  "entries",
                  report -> report.disk().notStored()),
              count(
                  "serializer_errors",
                  "keys and values that their serializer refused",
                  "entries",
                  CacheReport::serializerErrors))
          .build();

  private static CacheMetric gauge(
      String name, String meaning, String unit, ToLongFunction<CacheReport> value) {
    return new CacheMetric("caches/chroniclemap/" + name, false, meaning, unit, value);
  }

  private static CacheMetric count(
      String name, String meaning, String unit, ToLongFunction<CacheReport> value) {
    return new CacheMetric("caches/chroniclemap/" + name, true, meaning, unit, value);
  }

  private static ImmutableList<CacheMetric> latency(
      String operation, String meaning, String unit, Function<Latencies, Latency> latency) {
    long nanos = unit.equals(Units.MICROSECONDS) ? TimeUnit.MICROSECONDS.toNanos(1) : 1;
    String name = operation + "_latency_";
    String time = " of " + meaning + ", last one to two minutes";
    return ImmutableList.of(
        gauge(
            name + "p50",
            "median" + time,
            unit,
            report -> latency.apply(report.latencies()).p50() / nanos),
        gauge(
            name + "p99",
            "99th percentile" + time,
            unit,
            report -> latency.apply(report.latencies()).p99() / nanos),
        gauge(
            name + "p999",
            "99.9th percentile" + time,
            unit,
            report -> latency.apply(report.latencies()).p999() / nanos),
        gauge(
            name + "max",
            "maximum" + time,
            unit,
            report -> latency.apply(report.latencies()).max() / nanos));
  }

  Description description() {
    Description description = new Description("Disk cache: " + meaning).setUnit(unit);
    return cumulative ? description.setCumulative() : description.setGauge();
  }

  long of(CacheReport report) {
    return value.applyAsLong(report);
  }
}
