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

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.util.List;

/** Prints parsed ref lists as JSON. The names of the fields are documented and never change. */
final class RefsJson {
  private RefsJson() {}

  static JsonObject of(RefsTotals totals, TransportCounts transport, List<ProjectRefs> reports) {
    JsonObject root = new JsonObject();
    JsonObject all = totals(totals);
    RefsMetrics.TRANSPORT.forEach(
        metric -> all.addProperty(metric.shortName(), metric.of(transport)));
    root.add("totals", all);
    JsonArray projects = new JsonArray();
    reports.forEach(refs -> projects.add(project(refs)));
    root.add("projects", projects);
    return root;
  }

  private static JsonObject totals(RefsTotals totals) {
    JsonObject out = new JsonObject();
    out.addProperty("projects", totals.repositories());
    out.addProperty("lists", totals.lists());
    out.addProperty("refs", totals.refs());
    out.addProperty("packed_bytes", totals.packedBytes());
    out.addProperty("off_heap_bytes", totals.memoryBytes());
    out.addProperty("id_index_bytes", totals.idIndexBytes());
    out.addProperty("heap_bytes", totals.heapBytes());
    out.addProperty("process_direct_bytes", totals.processDirectBytes());
    out.addProperty("memory_limit_bytes", totals.memoryLimit());
    out.addProperty("blocks", totals.blocks());
    out.addProperty("parses", totals.parses());
    out.addProperty("reused_blocks", totals.reusedBlocks());
    out.addProperty("loads", totals.loads());
    out.addProperty("checks", totals.checks());
    out.addProperty("lookups", totals.lookups());
    out.addProperty("left_to_jgit", totals.leftToJGit());
    out.addProperty("evicted", totals.evictions());
    out.addProperty("no_memory", totals.noMemory());
    out.addProperty("failures", totals.failures());
    out.addProperty("last_parse", totals.lastParse());
    out.addProperty("reftables", totals.reftables());
    out.addProperty("table_bytes", totals.tableBytes());
    out.addProperty("table_lookups", totals.tableLookups());
    totals.memoryOnlyReason().ifPresent(why -> out.addProperty("memory_only_reason", why));
    totals.disk().ifPresent(stats -> out.add("disk", CachesJson.store(stats)));
    return out;
  }

  static JsonObject project(ProjectRefs refs) {
    RefsReport report = refs.report();
    JsonObject out = new JsonObject();
    out.addProperty("name", refs.project());
    out.addProperty("in_memory", report.inMemory());
    out.addProperty("refs", report.refs());
    out.addProperty("packed_bytes", report.packedBytes());
    out.addProperty("off_heap_bytes", report.offHeapBytes());
    if (report.refs() > 0) {
      out.addProperty("bytes_a_ref", Units.tenths(report.offHeapBytes(), report.refs()));
    }
    out.addProperty("blocks", report.blocks());
    out.addProperty("parses", report.parses());
    out.addProperty("reused_blocks", report.reusedBlocks());
    out.addProperty("found", report.found());
    out.addProperty("checks", report.checks());
    out.addProperty("lookups", report.lookups());
    out.addProperty("left_to_jgit", report.leftToJGit());
    report.leftReason().ifPresent(why -> out.addProperty("left_reason", why));
    out.addProperty("no_memory", report.noMemory());
    out.addProperty("last_parse", report.lastParse());
    out.addProperty("last_parse_micros", report.lastParseMicros());
    return out;
  }
}
