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

import com.google.common.collect.ImmutableList;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.FileCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/**
 * The publisher of the metrics of parsed ref lists, pushes and fetches while the server runs. All
 * of one subject are read at once, when a reporter reads one.
 */
@Singleton
public final class RefsMetrics extends PublishedMetrics {
  /** All metrics. Their names are documented and never change. */
  static final ImmutableList<Metric<RefsTotals>> ALL = all();

  /** The metrics of pushes and fetches, under the same rule. */
  static final ImmutableList<Metric<TransportCounts>> TRANSPORT =
      new Metric.Table<TransportCounts>("refs/chroniclemap/", "Pushes and fetches: ")
          .counts(new TransportCounts(), counts -> counts)
          .all();

  /** The figures of one project, which are not published: there may be thousands of projects. */
  static final ImmutableList<Metric<RefsReport>> PROJECT =
      new Metric.Table<RefsReport>("refs/project/", "Parsed refs of a project: ")
          .gauge("refs", "packed refs", "refs", RefsReport::refs)
          .gauge("packed_bytes", "size of packed-refs", BYTES, RefsReport::packedBytes)
          .gauge("off_heap_bytes", "direct memory of its blocks", BYTES, RefsReport::offHeapBytes)
          .gauge("blocks", "blocks of the list", "blocks", RefsReport::blocks)
          .counts(new FileCounts(), RefsReport::counts)
          .gauge("last_parse", "time since the epoch", "time", r -> r.counts().lastParse.get())
          .gauge(
              "last_parse_micros", "duration", MICROSECONDS, r -> r.counts().lastParseNanos / 1000)
          .all();

  @Inject private RefsInventory inventory;
  @Inject private TransportCounts transport;

  private static ImmutableList<Metric<RefsTotals>> all() {
    Metric.Table<RefsTotals> t = new Metric.Table<>("refs/chroniclemap/", "Parsed ref lists: ");
    ToLongFunction<RefsTotals> diskBytes = r -> r.disk().map(StoreStats::diskBytes).orElse(0L);
    Predicate<StoreStats> works = disk -> disk.state() != StoreState.FAILED;
    ToLongFunction<RefsTotals> memoryOnly = r -> r.disk().filter(works).isPresent() ? 0 : 1;
    ToLongFunction<RefsTotals> direct = r -> Sample.directBytes();
    ToLongFunction<RefsTotals> packedBytes = r -> sum(r.lists(), ParsedRefs::textBytes);
    ToLongFunction<RefsTotals> badRefs = r -> sum(r.reports(), each -> each.badRefs().size());
    ToLongFunction<RefsTotals> tableBytes = r -> sum(r.tables(), Long::longValue);
    t.gauge("projects", "projects in use", "projects", r -> r.reports().size());
    t.gauge("lists", "distinct lists in memory", "lists", r -> r.lists().size());
    t.gauge("refs", "refs of the lists in memory", "refs", r -> sum(r.lists(), ParsedRefs::size));
    t.gauge("packed_bytes", "size of their packed-refs files", BYTES, packedBytes);
    t.gauge("memory_bytes", "direct memory of the lists", BYTES, r -> r.memory().bytes());
    t.gauge("id_index_bytes", "indexes of object ids", BYTES, r -> r.memory().idIndexBytes());
    t.gauge("heap_bytes", "heap of the lists", BYTES, r -> r.memory().heapBytes());
    t.gauge("process_direct_bytes", "direct memory of the whole process", BYTES, direct);
    t.gauge("limit_bytes", "limit of the lists' memory", BYTES, r -> r.memory().limit);
    t.gauge("blocks", "distinct blocks in memory", "blocks", r -> r.memory().blocks());
    t.gauge("disk_bytes", "size of the file, or 0", BYTES, diskBytes);
    t.gauge("memory_only", "1 if nothing is on disk", "flag", memoryOnly);
    t.counts(new FileCounts(), RefsTotals::counts);
    t.count("loads", "lists loaded from disk", "lists", RefsTotals::loads);
    t.count("evicted", "lists evicted from memory", "lists", r -> r.memory().evictions());
    t.count("failures", "lookups left to JGit by a fault", "lookups", RefsTotals::failures);
    t.gauge("bad_refs", "broken refs and such in the last hour", "refs", badRefs);
    t.gauge("reftables", "projects read from reftables", "projects", r -> r.tables().size());
    t.gauge("table_bytes", "size of these reftables", BYTES, tableBytes);
    t.count("table_lookups", "lookups in reftables", "lookups", RefsTotals::tableLookups);
    return t.all();
  }

  private static <T> long sum(List<T> all, ToLongFunction<T> figure) {
    return all.stream().mapToLong(figure).sum();
  }

  /** Reads the figures of all projects, and of pushes and fetches. */
  static Figures read(RefsTotals totals, TransportCounts transport) {
    return Figures.of(ALL, totals).and(Figures.of(TRANSPORT, transport));
  }

  @Override
  void publish() {
    if (!inventory.isEnabled()) {
      return;
    }
    publishAll(ALL, inventory::totals);
    publishAll(TRANSPORT, () -> transport);
  }
}
