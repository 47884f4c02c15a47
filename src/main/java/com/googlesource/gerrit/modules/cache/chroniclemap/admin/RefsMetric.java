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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.util.function.ToLongFunction;

/**
 * A figure of all parsed ref lists that Gerrit publishes as a metric.
 *
 * @param name its full name, such as {@code refs/chroniclemap/lookups}
 * @param cumulative whether it only ever rises while the server runs
 * @param meaning for people
 * @param unit of its values
 * @param value the figure
 */
record RefsMetric(
    String name,
    boolean cumulative,
    String meaning,
    String unit,
    ToLongFunction<RefsTotals> value) {

  /** All of them. The names are documented and stay. */
  static final ImmutableList<RefsMetric> ALL =
      ImmutableList.of(
          gauge(
              "projects",
              "projects that were asked for refs of late",
              "projects",
              RefsTotals::repositories),
          gauge("lists", "different lists in memory", "lists", RefsTotals::lists),
          gauge("refs", "refs of the lists in memory", "refs", RefsTotals::refs),
          gauge(
              "packed_bytes",
              "bytes of the packed-refs files that the lists in memory stand for",
              Units.BYTES,
              RefsTotals::packedBytes),
          gauge(
              "memory_bytes",
              "direct memory of the lists, shared blocks once",
              Units.BYTES,
              RefsTotals::memoryBytes),
          gauge(
              "heap_bytes",
              "bytes on the heap that the lists take beside",
              Units.BYTES,
              RefsTotals::heapBytes),
          gauge(
              "process_direct_bytes",
              "direct memory of the process, all of it",
              Units.BYTES,
              RefsTotals::processDirectBytes),
          gauge(
              "limit_bytes", "bytes that the lists may take", Units.BYTES, RefsTotals::memoryLimit),
          gauge("blocks", "different blocks in memory", "blocks", RefsTotals::blocks),
          gauge(
              "disk_bytes",
              "bytes that the file on disk takes; 0 if there is none",
              Units.BYTES,
              totals -> totals.disk().map(StoreStats::diskBytes).orElse(0L)),
          gauge(
              "memory_only",
              "1 if nothing is kept on disk, also because the file failed",
              "flag",
              totals -> hasFile(totals) ? 0 : 1),
          count("lookups", "questions for refs", "lookups", RefsTotals::lookups),
          count("checks", "times a packed-refs file was read", "readings", RefsTotals::checks),
          count("parses", "lists made from text", "lists", RefsTotals::parses),
          count(
              "reused_blocks",
              "blocks of those that were there already",
              "blocks",
              RefsTotals::reusedBlocks),
          count("loads", "lists found on disk", "lists", RefsTotals::loads),
          count(
              "evicted", "lists that left the memory to make room", "lists", RefsTotals::evictions),
          count(
              "left_to_jgit",
              "contents that JGit answers for, because they are broken or unusual",
              "lists",
              RefsTotals::leftToJGit),
          count(
              "no_memory",
              "times there was no memory for a list, so that JGit answered for a while",
              "lists",
              RefsTotals::noMemory),
          count(
              "failures",
              "questions that JGit answered because of a fault",
              "lookups",
              RefsTotals::failures));

  private static boolean hasFile(RefsTotals totals) {
    return totals.disk().filter(disk -> disk.state() != StoreState.FAILED).isPresent();
  }

  private static RefsMetric gauge(
      String name, String meaning, String unit, ToLongFunction<RefsTotals> value) {
    return new RefsMetric("refs/chroniclemap/" + name, false, meaning, unit, value);
  }

  private static RefsMetric count(
      String name, String meaning, String unit, ToLongFunction<RefsTotals> value) {
    return new RefsMetric("refs/chroniclemap/" + name, true, meaning, unit, value);
  }

  Description description() {
    Description description = new Description("Parsed ref lists: " + meaning).setUnit(unit);
    return cumulative ? description.setCumulative() : description.setGauge();
  }

  long of(RefsTotals totals) {
    return value.applyAsLong(totals);
  }
}
