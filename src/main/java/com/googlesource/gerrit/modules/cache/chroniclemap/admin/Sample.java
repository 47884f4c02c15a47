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
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Iterables;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;

/**
 * The figures at one moment, by their names in the metrics: about 6 KiB with 25 caches.
 *
 * @param millis the time, since the epoch
 * @param caches those of each cache
 * @param all those of all caches together; null if the module of the caches is not installed
 * @param refs those of all parsed ref lists; null if their module is not installed
 * @param process the memory of the Java process
 */
record Sample(
    long millis,
    ImmutableMap<String, Figures> caches,
    @Nullable Figures all,
    @Nullable Figures refs,
    Figures process) {
  /** What is returned for a figure that does not exist. */
  static final long NONE = -1;

  private static final ImmutableList<Metric<CacheReport>> CACHE = ofCache();
  private static final ImmutableList<String> CACHE_NAMES = names(CACHE);
  private static final ImmutableList<String> REFS_NAMES =
      ImmutableList.copyOf(Iterables.concat(names(RefsMetrics.ALL), names(RefsMetrics.TRANSPORT)));
  private static final ImmutableList<String> PROCESS_NAMES =
      ImmutableList.of("heap_bytes", "heap_limit_bytes", "direct_bytes");

  /**
   * Figures of one kind.
   *
   * @param names shared by all figures of this kind
   * @param values in the order of the names
   */
  record Figures(ImmutableList<String> names, long[] values) {
    long get(String name) {
      int index = names.indexOf(name);
      return index < 0 ? NONE : values[index];
    }
  }

  private static ImmutableList<Metric<CacheReport>> ofCache() {
    Set<String> taken =
        Set.of(
            "entries",
            "live_bytes",
            "disk_bytes",
            "limit_bytes",
            "failed",
            "hits",
            "misses",
            "puts",
            "read_latency_p99",
            "put_latency_p99",
            "evicted",
            "growths",
            "damaged",
            "unrepaired",
            "faults",
            "not_stored",
            "serializer_errors");
    Metric.Table<CacheReport> heap = new Metric.Table<>("caches/memory/", "Heap tier: ");
    heap.count("heap_hits", "reads that found a value", "reads", r -> r.heap().hitCount());
    heap.count("heap_misses", "reads that found none", "reads", r -> r.heap().missCount());
    return ImmutableList.copyOf(
        Iterables.concat(
            heap.all(),
            Iterables.filter(CacheMetrics.ALL, metric -> taken.contains(metric.shortName()))));
  }

  private static ImmutableList<String> names(List<? extends Metric<?>> metrics) {
    return metrics.stream().map(Metric::shortName).collect(ImmutableList.toImmutableList());
  }

  /** Takes a sample. The cost grows with the number of caches. */
  static Sample of(
      long millis,
      @Nullable List<CacheReport> reports,
      @Nullable RefsTotals totals,
      TransportCounts transport) {
    return new Sample(
        millis,
        reports == null
            ? ImmutableMap.of()
            : reports.stream()
                .collect(
                    ImmutableMap.toImmutableMap(
                        CacheReport::name, Sample::ofCache, (older, newer) -> newer)),
        reports == null ? null : ofAll(reports),
        totals == null ? null : ofRefs(totals, transport),
        ofProcess());
  }

  private static Figures ofCache(CacheReport report) {
    return new Figures(CACHE_NAMES, CACHE.stream().mapToLong(m -> m.of(report)).toArray());
  }

  /** Sums up, but takes the slowest cache for a latency. */
  private static Figures ofAll(List<CacheReport> reports) {
    return new Figures(
        CACHE_NAMES,
        CACHE.stream()
            .mapToLong(
                metric -> {
                  LongStream each = reports.stream().mapToLong(metric::of);
                  return metric.shortName().contains("_latency_")
                      ? each.max().orElse(0)
                      : each.sum();
                })
            .toArray());
  }

  private static Figures ofRefs(RefsTotals totals, TransportCounts transport) {
    return new Figures(
        REFS_NAMES,
        LongStream.concat(
                RefsMetrics.ALL.stream().mapToLong(metric -> metric.of(totals)),
                RefsMetrics.TRANSPORT.stream().mapToLong(metric -> metric.of(transport)))
            .toArray());
  }

  private static Figures ofProcess() {
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    long direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .mapToLong(BufferPoolMXBean::getMemoryUsed)
            .sum();
    return new Figures(PROCESS_NAMES, new long[] {heap.getUsed(), heap.getMax(), direct});
  }
}
