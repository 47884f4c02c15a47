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
import com.google.common.collect.Maps;
import com.google.gerrit.metrics.CallbackMetric;
import com.google.gerrit.metrics.CallbackMetric1;
import com.google.gerrit.metrics.Description;
import com.google.gerrit.metrics.Field;
import com.google.gerrit.server.logging.Metadata;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskOperation;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

/**
 * The publisher of the metrics of all caches while the server runs. All of them are read at once,
 * when a reporter reads one. The caches of a plugin appear and disappear with the plugin.
 */
@Singleton
public final class CacheMetrics extends PublishedMetrics {
  /** The figures of a store, of each cache and of the parsed ref lists. */
  static final ImmutableList<Metric<StoreStats>> OF_STORE =
      new Metric.Table<StoreStats>("", "")
          .gauge("entries", "values on disk", "entries", StoreStats::entries)
          .gauge("live_bytes", "size of keys and values", BYTES, StoreStats::liveBytes)
          .gauge("disk_bytes", "size of the file", BYTES, StoreStats::diskBytes)
          .gauge("limit_bytes", "limit of the file's size", BYTES, StoreStats::maxBytes)
          .counts(new StoreCounts(), StoreStats::counts)
          .gauge("queued", "values queued for writing", "entries", StoreStats::queued)
          .gauge("unrepaired", "damaged entries in the file", "entries", StoreStats::unrepaired)
          .all();

  /**
   * The metrics of each cache. Their names are documented and never change. No name is a prefix of
   * another one, so that a pattern which selects one metric of all caches selects nothing else.
   */
  static final ImmutableList<Metric<CacheReport>> ALL = all();

  /** All figures of each cache: its metrics, and those of its heap tier, which Gerrit publishes. */
  static final ImmutableList<Metric<CacheReport>> WITH_HEAP = withHeap();

  /** The only metric that is not of a single cache: if it is 1, there are no others. */
  static final String MEMORY_ONLY = "caches/chroniclemap/memory_only";

  private static final Field<String> CACHE =
      Field.ofString("cache_name", Metadata.Builder::cacheName)
          .description("The name of the cache.")
          .build();

  /** A figure of a latency that is published. */
  record Percentile(String name, String meaning, ToLongFunction<Latency> of) {
    static final ImmutableList<Percentile> ALL =
        ImmutableList.of(
            new Percentile("p50", "median", Latency::p50),
            new Percentile("p99", "99th percentile", Latency::p99),
            new Percentile("p999", "99.9th percentile", Latency::p999),
            new Percentile("max", "maximum", Latency::max));
  }

  @Inject private CacheInventory inventory;

  private static ImmutableList<Metric<CacheReport>> all() {
    Metric.Table<CacheReport> t = new Metric.Table<>("caches/chroniclemap/", "Disk cache: ");
    StartReport.Kind crash = StartReport.Kind.RECOVERED;
    ToLongFunction<CacheReport> recovered = r -> r.disk().start().kind() == crash ? 1 : 0;
    ToLongFunction<CacheReport> failed = r -> r.disk().state() == StoreState.FAILED ? 1 : 0;
    String rejected = "keys and values that their serializer rejected";
    t.addAll(OF_STORE, CacheReport::disk);
    t.gauge("failed", "files that failed or cannot be opened", "flag", failed);
    t.count("reads", "reads of the disk tier", "reads", CacheMetrics::reads);
    for (DiskOperation operation : DiskOperation.values()) {
      addLatency(t, operation);
    }
    t.count("recoveries", "recoveries after a crash", "files", recovered);
    t.count("serializer_errors", rejected, "entries", CacheReport::serializerErrors);
    return t.all();
  }

  private static ImmutableList<Metric<CacheReport>> withHeap() {
    Metric.Table<CacheReport> t = new Metric.Table<>("", "");
    ToLongFunction<CacheReport> loadNanos = r -> r.heap().totalLoadTime();
    ToLongFunction<CacheReport> inUse = r -> r.disk().keysInUse();
    t.addAll(ALL, report -> report);
    t.gauge("heap_entries", "values on the heap", "entries", CacheReport::heapEntries);
    t.count("heap_hits", "lookups found in memory", "lookups", r -> r.heap().hitCount());
    t.count("heap_misses", "lookups not found there", "lookups", r -> r.heap().missCount());
    t.count("heap_evicted", "evicted from memory", "entries", r -> r.heap().evictionCount());
    t.count("load_nanos", "time of loads of what was not in memory", NANOSECONDS, loadNanos);
    t.gauge("memory_limit", "memoryLimit of the cache", "weight", CacheReport::memoryLimit);
    t.gauge("keys_in_use", "keys read from the file three times lately", "keys", inUse);
    return t.all();
  }

  private static long reads(CacheReport report) {
    StoreCounts counts = report.disk().counts();
    return counts.hits.sum() + counts.misses.sum();
  }

  private static void addLatency(Metric.Table<CacheReport> t, DiskOperation operation) {
    String prefix = CachesJson.lower(operation) + "_latency_";
    String unit = operation.unit == TimeUnit.MICROSECONDS ? MICROSECONDS : NANOSECONDS;
    for (Percentile percentile : Percentile.ALL) {
      t.gauge(
          prefix + percentile.name(),
          percentile.meaning() + " of " + operation.meaning + ", last one to two minutes",
          unit,
          r ->
              operation.unit.convert(
                  percentile.of().applyAsLong(r.latencies().get(operation)), TimeUnit.NANOSECONDS));
    }
  }

  @Override
  void publish() {
    handles.add(
        maker.newCallbackMetric(
            MEMORY_ONLY,
            Long.class,
            new Description("1 if all caches are kept in memory only").setGauge().setUnit("flag"),
            () -> inventory.memoryOnlyReason().isPresent() ? 1L : 0L));
    Map<Metric<CacheReport>, CallbackMetric1<String, Long>> metrics =
        Maps.toMap(ALL, m -> maker.newCallbackMetric(m.name(), Long.class, m.description(), CACHE));
    updateTogether(
        metrics.values(),
        () -> {
          for (CacheReport report : inventory.reports()) {
            String cache = nameInGerrit(report.name());
            metrics.forEach((metric, gauge) -> gauge.set(cache, metric.of(report)));
          }
          metrics.values().forEach(CallbackMetric::prune);
        });
  }

  /** The cache's name in Gerrit's own metrics, where a plugin's cache has another name. */
  private static String nameInGerrit(String name) {
    int dot = name.lastIndexOf('.');
    return dot < 0 ? name : "plugin/" + name.substring(0, dot) + "/" + name.substring(dot + 1);
  }
}
