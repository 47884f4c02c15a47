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
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Publishes the metrics of parsed ref lists while the server runs. All of them are read at once,
 * when somebody reads one.
 */
@Singleton
public final class RefsMetrics extends PublishedMetrics {
  /** All metrics. Their names are documented and never change. */
  static final ImmutableList<Metric<RefsTotals>> ALL = all();

  /** The metrics of pushes and fetches, under the same rule. */
  static final ImmutableList<Metric<TransportCounts>> TRANSPORT = transport();

  @Inject private RefsInventory inventory;
  @Inject private TransportCounts transport;

  private static ImmutableList<Metric<RefsTotals>> all() {
    Metric.Table<RefsTotals> t = new Metric.Table<>("refs/chroniclemap/", "Parsed ref lists: ");
    t.gauge("projects", "projects in use", "projects", RefsTotals::repositories);
    t.gauge("lists", "distinct lists in memory", "lists", RefsTotals::lists);
    t.gauge("refs", "refs of the lists in memory", "refs", RefsTotals::refs);
    t.gauge("packed_bytes", "size of their packed-refs files", BYTES, RefsTotals::packedBytes);
    t.gauge("memory_bytes", "direct memory of the lists", BYTES, RefsTotals::memoryBytes);
    t.gauge("id_index_bytes", "indexes of object ids", BYTES, RefsTotals::idIndexBytes);
    t.gauge("heap_bytes", "heap of the lists", BYTES, RefsTotals::heapBytes);
    t.gauge(
        "process_direct_bytes",
        "direct memory of the whole process",
        BYTES,
        RefsTotals::processDirectBytes);
    t.gauge("limit_bytes", "limit of the lists' memory", BYTES, RefsTotals::memoryLimit);
    t.gauge("blocks", "distinct blocks in memory", "blocks", RefsTotals::blocks);
    t.gauge("disk_bytes", "size of the file, or 0", BYTES, r -> diskBytes(r.disk()));
    t.gauge("memory_only", "1 if nothing is on disk", "flag", r -> isOnDisk(r.disk()) ? 0 : 1);
    t.count("lookups", "lookups of refs", "lookups", RefsTotals::lookups);
    t.count("checks", "reads of a packed-refs file", "readings", RefsTotals::checks);
    t.count("parses", "lists made from text", "lists", RefsTotals::parses);
    t.count("reused_blocks", "blocks that a parse reused", "blocks", RefsTotals::reusedBlocks);
    t.count("loads", "lists loaded from disk", "lists", RefsTotals::loads);
    t.count("evicted", "lists evicted from memory", "lists", RefsTotals::evictions);
    t.count("left_to_jgit", "files that only JGit can read", "lists", RefsTotals::leftToJGit);
    t.count("no_memory", "lists without memory", "lists", RefsTotals::noMemory);
    t.count("failures", "lookups left to JGit by a fault", "lookups", RefsTotals::failures);
    t.gauge("bad_refs", "broken refs and such in the last hour", "refs", RefsTotals::badRefs);
    t.gauge("reftables", "projects read from reftables", "projects", RefsTotals::reftables);
    t.gauge("table_bytes", "size of these reftables", BYTES, RefsTotals::tableBytes);
    t.count("table_lookups", "lookups in reftables", "lookups", RefsTotals::tableLookups);
    return t.all();
  }

  private static ImmutableList<Metric<TransportCounts>> transport() {
    Metric.Table<TransportCounts> t =
        new Metric.Table<>("refs/chroniclemap/", "Pushes and fetches: ");
    t.count("pushes", "advertisements without changes read", "pushes", c -> c.pushes.sum());
    t.count("pushes_by_name", "refs looked up by name", "pushes", c -> c.pushesByName.sum());
    t.count("pushes_left", "advertisements by Gerrit", "pushes", c -> c.pushesLeft.sum());
    t.count("checks_near", "checks of a few refs", "pushes", c -> c.nearChecks.sum());
    t.count("checks_full", "checks of all advertised refs", "pushes", c -> c.fullChecks.sum());
    t.count("fetches_by_tip", "ids of visible refs", "fetches", c -> c.tips.sum());
    t.count("fetches_by_walk", "ids left to JGit", "fetches", c -> c.walks.sum());
    t.count("branches_by_rules", "judged with another", "branches", c -> c.branchesByRules.sum());
    return t.all();
  }

  private static long diskBytes(Optional<StoreStats> disk) {
    return disk.map(StoreStats::diskBytes).orElse(0L);
  }

  private static boolean isOnDisk(Optional<StoreStats> disk) {
    return disk.isPresent() && disk.get().state() != StoreState.FAILED;
  }

  @Override
  void publish() {
    if (!inventory.isEnabled()) {
      return;
    }
    publish(ALL, inventory::totals);
    publish(TRANSPORT, () -> transport);
  }

  private <R> void publish(List<Metric<R>> all, Supplier<R> report) {
    Map<Metric<R>, CallbackMetric0<Long>> metrics = new LinkedHashMap<>();
    for (Metric<R> metric : all) {
      metrics.put(metric, maker.newCallbackMetric(metric.name(), Long.class, metric.description()));
    }
    read(
        metrics.values(),
        () -> {
          R figures = report.get();
          metrics.forEach((metric, gauge) -> gauge.set(metric.of(figures)));
        });
  }
}
