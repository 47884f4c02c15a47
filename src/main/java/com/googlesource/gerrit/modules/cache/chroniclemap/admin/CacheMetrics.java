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

import static com.google.gerrit.metrics.Description.Units.BYTES;
import static com.google.gerrit.metrics.Description.Units.MICROSECONDS;
import static com.google.gerrit.metrics.Description.Units.NANOSECONDS;

import com.google.common.collect.ImmutableList;
import com.google.gerrit.metrics.CallbackMetric;
import com.google.gerrit.metrics.CallbackMetric1;
import com.google.gerrit.metrics.Description;
import com.google.gerrit.metrics.Field;
import com.google.gerrit.metrics.MetricMaker;
import com.google.gerrit.server.logging.Metadata;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latencies;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Publishes the metrics of all caches while the server runs. They are read when somebody looks, all
 * at once; caches of plugins come and go with their plugins.
 */
@Singleton
final class CacheMetrics extends PublishedMetrics {
  /**
   * All of them. The names are documented and stay. None is the beginning of another, so that a
   * pattern finds the figures of all caches and no other ones.
   */
  static final ImmutableList<Metric<CacheReport>> ALL = all();

  /** The one that is not of a single cache: there are no others then. */
  static final String MEMORY_ONLY = "caches/chroniclemap/memory_only";

  private static final Field<String> CACHE =
      Field.ofString("cache_name", Metadata.Builder::cacheName)
          .description("The name of the cache.")
          .build();

  /** What of a latency is shown. */
  record Percentile(String name, String meaning, ToLongFunction<Latency> of) {
    static final ImmutableList<Percentile> ALL =
        ImmutableList.of(
            new Percentile("p50", "median", Latency::p50),
            new Percentile("p99", "99th percentile", Latency::p99),
            new Percentile("p999", "99.9th percentile", Latency::p999),
            new Percentile("max", "maximum", Latency::max));
  }

  private final CacheInventory inventory;

  @Inject
  CacheMetrics(MetricMaker maker, CacheInventory inventory) {
    super(maker);
    this.inventory = inventory;
  }

  private static ImmutableList<Metric<CacheReport>> all() {
    Metric.Table<CacheReport> t = new Metric.Table<>("caches/chroniclemap/", "Disk cache: ");
    t.gauge("entries", "values on disk", "entries", r -> r.disk().entries());
    t.gauge("live_bytes", "bytes of the keys and values", BYTES, r -> r.disk().liveBytes());
    t.gauge("disk_bytes", "bytes that the file takes", BYTES, r -> r.disk().diskBytes());
    t.gauge("limit_bytes", "bytes that the file may take", BYTES, r -> r.disk().maxBytes());
    t.gauge(
        "failed",
        "1 if the cache has no file any more and is kept in memory only",
        "flag",
        r -> r.disk().state() == StoreState.FAILED ? 1 : 0);
    t.gauge("queued", "values that wait for being written", "entries", r -> r.disk().queued());
    t.count("reads", "reads of the disk tier", "reads", r -> r.disk().hits() + r.disk().misses());
    t.count("hits", "reads that found a value", "reads", r -> r.disk().hits());
    t.count("misses", "reads that found none", "reads", r -> r.disk().misses());
    t.count("puts", "values written to disk", "entries", r -> r.disk().puts());
    addLatency(t, "put", "the time that a put kept its caller", MICROSECONDS, Latencies::put);
    addLatency(
        t,
        "read",
        "the time that a read from disk which found a value took, up to its bytes",
        NANOSECONDS,
        Latencies::read);
    addLatency(
        t,
        "serialize",
        "the time that making bytes of a value took",
        NANOSECONDS,
        Latencies::serialize);
    addLatency(
        t,
        "deserialize",
        "the time that making a value of its bytes took",
        NANOSECONDS,
        Latencies::deserialize);
    t.count("invalidated", "keys removed on request", "entries", r -> r.disk().invalidated());
    t.count("evicted", "values that left to make room", "entries", r -> r.disk().evictions());
    t.count("expired", "values that became too old", "entries", r -> r.disk().expired());
    t.count("growths", "times the file was replaced by another", "files", r -> r.disk().growths());
    t.count(
        "recoveries",
        "times the file was recovered after a crash",
        "files",
        r -> r.disk().start().kind() == StartReport.Kind.RECOVERED ? 1 : 0);
    t.count(
        "damaged",
        "entries found damaged, by reads and when what a kill had left was put in order",
        "entries",
        r -> r.disk().damaged());
    t.count(
        "faults",
        "times the disk failed the file, whatever came of it",
        "faults",
        r -> r.disk().faults());
    t.count(
        "not_stored",
        "values left out because there was no room",
        "entries",
        r -> r.disk().notStored());
    t.count(
        "serializer_errors",
        "keys and values that their serializer refused",
        "entries",
        CacheReport::serializerErrors);
    return t.all();
  }

  private static void addLatency(
      Metric.Table<CacheReport> t,
      String operation,
      String meaning,
      String unit,
      Function<Latencies, Latency> of) {
    long nanos = unit.equals(MICROSECONDS) ? TimeUnit.MICROSECONDS.toNanos(1) : 1;
    for (Percentile percentile : Percentile.ALL) {
      t.gauge(
          operation + "_latency_" + percentile.name(),
          percentile.meaning() + " of " + meaning + ", last one to two minutes",
          unit,
          r -> percentile.of().applyAsLong(of.apply(r.latencies())) / nanos);
    }
  }

  @Override
  void publish() {
    remove(
        maker.newCallbackMetric(
            MEMORY_ONLY,
            Long.class,
            new Description("1 if all caches are kept in memory only").setGauge().setUnit("flag"),
            () -> inventory.memoryOnlyReason().isPresent() ? 1L : 0L));
    Map<Metric<CacheReport>, CallbackMetric1<String, Long>> metrics = new LinkedHashMap<>();
    for (Metric<CacheReport> metric : ALL) {
      metrics.put(
          metric, maker.newCallbackMetric(metric.name(), Long.class, metric.description(), CACHE));
    }
    read(
        metrics.values(),
        () -> {
          for (CacheReport report : inventory.reports()) {
            String cache = nameInGerrit(report.name());
            metrics.forEach((metric, gauge) -> gauge.set(cache, metric.of(report)));
          }
          metrics.values().forEach(CallbackMetric::prune);
        });
  }

  /** The name under which Gerrit's own metrics have a cache: a plugin's is otherwise there. */
  private static String nameInGerrit(String name) {
    int dot = name.lastIndexOf('.');
    return dot < 0 ? name : "plugin/" + name.substring(0, dot) + "/" + name.substring(dot + 1);
  }
}
