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

import com.google.common.collect.ImmutableMap;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import java.util.List;

/**
 * A formatter of parsed ref lists as JSON. The names of the fields are documented and never change.
 */
final class RefsJson {
  /** The fields whose names are not those of the metrics. */
  private static final ImmutableMap<String, String> NAMES =
      ImmutableMap.of("memory_bytes", "off_heap_bytes", "limit_bytes", "memory_limit_bytes");

  private RefsJson() {}

  static JsonObject of(Figures figures, RefsTotals totals, List<ProjectRefs> reports) {
    JsonObject root = new JsonObject();
    JsonObject all = figures.addTo(new JsonObject(), RefsJson::nameOf);
    addLastParse(all, totals.counts().lastParse.get());
    totals.memoryOnlyReason().ifPresent(why -> all.addProperty("memory_only_reason", why));
    totals
        .disk()
        .ifPresent(
            stats -> all.add("disk", CachesJson.figures(stats, CacheMetrics.OF_STORE, stats)));
    root.add("totals", all);
    List<String> missing = Member.missing().stream().map(Member::warning).toList();
    root.add("missing_members", CachesJson.GSON.toJsonTree(missing));
    root.add("projects", CachesJson.byName(reports, ProjectRefs::project, RefsJson::project));
    return root;
  }

  private static void addLastParse(JsonObject out, long millis) {
    out.remove("last_parse");
    if (millis > 0) {
      out.addProperty("last_parse", CachesJson.timestamp(millis));
    }
  }

  /** The name of a figure here. */
  static String nameOf(Metric<?> metric) {
    return NAMES.getOrDefault(metric.shortName(), metric.shortName());
  }

  static JsonObject project(ProjectRefs refs) {
    RefsReport report = refs.report();
    Figures figures = Figures.of(RefsMetrics.PROJECT, report);
    JsonObject out = new JsonObject();
    out.addProperty("name", refs.project());
    out.addProperty("in_memory", report.inMemory());
    figures.addTo(out, RefsJson::nameOf);
    addLastParse(out, figures.get("last_parse"));
    if (report.refs() > 0) {
      out.addProperty("bytes_a_ref", Units.tenths(report.offHeapBytes(), report.refs()));
    }
    report.leftReason().ifPresent(why -> out.addProperty("left_reason", why));
    out.add("bad_refs", CachesJson.GSON.toJsonTree(report.badRefs()));
    return out;
  }
}
