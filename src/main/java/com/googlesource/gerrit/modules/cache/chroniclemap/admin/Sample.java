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

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.List;

/**
 * A sample of all figures at one moment, by their names in the metrics: about 7 KiB with 25 caches.
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
  /** The figures of each cache that are sampled. */
  private static final ImmutableSet<String> NAMES =
      ImmutableSet.copyOf(
          Splitter.on(' ')
              .split(
                  "heap_hits heap_misses heap_evicted load_nanos keys_in_use entries"
                      + " live_bytes disk_bytes limit_bytes failed hits misses puts"
                      + " read_latency_p99 put_latency_p99 evicted damaged unrepaired faults"
                      + " not_stored serializer_errors queued flushes"));

  private static final ImmutableList<Metric<CacheReport>> CACHE =
      ImmutableList.copyOf(
          Iterables.filter(CacheMetrics.WITH_HEAP, metric -> NAMES.contains(metric.shortName())));

  private static final ImmutableList<Metric<MemoryUsage>> PROCESS =
      new Metric.Table<MemoryUsage>("process/", "Java process: ")
          .gauge("heap_bytes", "heap in use", BYTES, MemoryUsage::getUsed)
          .gauge("heap_limit_bytes", "limit of the heap", BYTES, MemoryUsage::getMax)
          .gauge("direct_bytes", "direct memory", BYTES, heap -> directBytes())
          .all();

  /** The direct memory of all byte buffers of this process. */
  static long directBytes() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getMemoryUsed)
        .sum();
  }

  /** The memory of the Java process now. */
  static Figures memory() {
    return Figures.of(PROCESS, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage());
  }

  /** Takes a sample. The cost grows with the number of caches. */
  static Sample of(long millis, @Nullable List<CacheReport> reports, @Nullable Figures refs) {
    return new Sample(
        millis,
        reports == null
            ? ImmutableMap.of()
            : reports.stream()
                .collect(
                    ImmutableMap.toImmutableMap(
                        CacheReport::name,
                        report -> Figures.of(CACHE, report),
                        (older, newer) -> newer)),
        reports == null ? null : Figures.ofAll(CACHE, reports),
        refs,
        memory());
  }
}
