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

import com.google.common.collect.ImmutableList;
import com.google.gerrit.metrics.CallbackMetric0;
import com.google.gerrit.metrics.MetricMaker;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Publishes the metrics of parsed ref lists while the server runs. They are read when somebody
 * looks.
 */
@Singleton
final class RefsMetrics extends PublishedMetrics {
  /** All of them. The names are documented and stay. */
  static final ImmutableList<Metric<RefsTotals>> ALL = all();

  private final RefsInventory inventory;

  @Inject
  RefsMetrics(MetricMaker maker, RefsInventory inventory) {
    super(maker);
    this.inventory = inventory;
  }

  private static ImmutableList<Metric<RefsTotals>> all() {
    Metric.Table<RefsTotals> t = new Metric.Table<>("refs/chroniclemap/", "Parsed ref lists: ");
    t.gauge(
        "projects",
        "projects that were asked for refs of late",
        "projects",
        RefsTotals::repositories);
    t.gauge("lists", "different lists in memory", "lists", RefsTotals::lists);
    t.gauge("refs", "refs of the lists in memory", "refs", RefsTotals::refs);
    t.gauge(
        "packed_bytes",
        "bytes of the packed-refs files that the lists in memory stand for",
        BYTES,
        RefsTotals::packedBytes);
    t.gauge(
        "memory_bytes",
        "direct memory of the lists, shared blocks once",
        BYTES,
        RefsTotals::memoryBytes);
    t.gauge(
        "heap_bytes", "bytes on the heap that the lists take beside", BYTES, RefsTotals::heapBytes);
    t.gauge(
        "process_direct_bytes",
        "direct memory of the process, all of it",
        BYTES,
        RefsTotals::processDirectBytes);
    t.gauge("limit_bytes", "bytes that the lists may take", BYTES, RefsTotals::memoryLimit);
    t.gauge("blocks", "different blocks in memory", "blocks", RefsTotals::blocks);
    t.gauge(
        "disk_bytes",
        "bytes that the file on disk takes; 0 if there is none",
        BYTES,
        r -> r.disk().map(StoreStats::diskBytes).orElse(0L));
    t.gauge(
        "memory_only",
        "1 if nothing is kept on disk, also because the file failed",
        "flag",
        r -> r.disk().filter(disk -> disk.state() != StoreState.FAILED).isPresent() ? 0 : 1);
    t.count("lookups", "questions for refs", "lookups", RefsTotals::lookups);
    t.count("checks", "times a packed-refs file was read", "readings", RefsTotals::checks);
    t.count("parses", "lists made from text", "lists", RefsTotals::parses);
    t.count(
        "reused_blocks",
        "blocks of those that were there already",
        "blocks",
        RefsTotals::reusedBlocks);
    t.count("loads", "lists found on disk", "lists", RefsTotals::loads);
    t.count("evicted", "lists that left the memory to make room", "lists", RefsTotals::evictions);
    t.count(
        "left_to_jgit",
        "contents that JGit answers for, because they are broken or unusual",
        "lists",
        RefsTotals::leftToJGit);
    t.count(
        "no_memory",
        "times there was no memory for a list, so that JGit answered for a while",
        "lists",
        RefsTotals::noMemory);
    t.count(
        "failures",
        "questions that JGit answered because of a fault",
        "lookups",
        RefsTotals::failures);
    return t.all();
  }

  @Override
  void publish() {
    if (!inventory.isEnabled()) {
      return;
    }
    Map<Metric<RefsTotals>, CallbackMetric0<Long>> metrics = new LinkedHashMap<>();
    for (Metric<RefsTotals> metric : ALL) {
      metrics.put(metric, maker.newCallbackMetric(metric.name(), Long.class, metric.description()));
    }
    read(
        metrics.values(),
        () -> {
          RefsTotals totals = inventory.totals();
          metrics.forEach((metric, gauge) -> gauge.set(metric.of(totals)));
        });
  }
}
