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

import com.google.common.collect.ImmutableSet;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A formatter of caches as JSON. The names of the fields are documented and never change. */
final class CachesJson {
  /** Indents the output for people. */
  static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

  private static final DateTimeFormatter TIMESTAMP =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSSSSSSSS", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  /** The metrics that other fields imply: state, last_start, and the sum of hits and misses. */
  private static final ImmutableSet<String> NOT_SHOWN =
      ImmutableSet.of("failed", "recoveries", "reads");

  private static final ImmutableSet<String> DISK_READS = ImmutableSet.of("hits", "misses");

  private CachesJson() {}

  /**
   * Formats what the inventory tells of all caches together, some of the caches, and problems.
   *
   * @param all none if the module of the caches is not installed
   */
  static JsonObject of(Optional<CacheInventory> all, List<CacheReport> reports, Problems problems) {
    JsonObject root = new JsonObject();
    root.addProperty("version", RunningJar.version());
    all.flatMap(CacheInventory::directory)
        .ifPresent(path -> root.addProperty("directory", path.toString()));
    all.flatMap(CacheInventory::memoryOnlyReason)
        .ifPresent(why -> root.addProperty("memory_only_reason", why));
    root.add("caches", byName(reports, CacheReport::name, CachesJson::cache));
    root.add("problems", array(problems.all(), CachesJson::problem));
    all.flatMap(CacheInventory::shared)
        .ifPresent(report -> root.add("shared", SharedTable.json(report)));
    return root;
  }

  static <T> JsonElement array(List<T> all, Function<T, JsonObject> json) {
    return GSON.toJsonTree(all.stream().map(json).toList());
  }

  /** An object for each of them by its name, in this order, as Gerrit has lists. */
  static <T> JsonObject byName(
      List<T> all, Function<T, String> name, Function<T, JsonObject> json) {
    JsonObject out = new JsonObject();
    all.forEach(each -> out.add(name.apply(each), json.apply(each)));
    return out;
  }

  /** Writes a time as Gerrit does: in UTC, with nanoseconds. */
  static String timestamp(long millis) {
    return TIMESTAMP.format(Instant.ofEpochMilli(millis));
  }

  /** The state and the figures of a store. */
  static <R> JsonObject figures(StoreStats stats, List<Metric<R>> metrics, R report) {
    JsonObject out = new JsonObject();
    out.addProperty("state", lower(stats.state()));
    for (Metric<R> metric : metrics) {
      String name = metric.shortName();
      if (!NOT_SHOWN.contains(name) && !metric.isLatency()) {
        out.addProperty(nameOf(metric), metric.of(report));
      }
    }
    return out;
  }

  /** The name of a figure here. */
  static String nameOf(Metric<?> metric) {
    String name = metric.shortName();
    return DISK_READS.contains(name) ? "disk_" + name : name;
  }

  static JsonObject cache(CacheReport report) {
    StoreStats stats = report.disk();
    JsonObject out = figures(stats, CacheMetrics.WITH_HEAP, report);
    out.addProperty("name", report.name());
    report
        .latencies()
        .forEach(
            (operation, latency) ->
                out.add(lower(operation) + "_latency", latency(latency, operation.unit)));
    out.add("last_start", start(stats.start()));
    return out;
  }

  private static JsonObject problem(Problems.Problem problem) {
    JsonObject out = GSON.toJsonTree(problem).getAsJsonObject();
    out.addProperty("level", lower(problem.level()));
    out.remove("last");
    if (problem.last() != Problems.UNKNOWN) {
      out.addProperty("last", timestamp(problem.last()));
    }
    return out;
  }

  private static JsonObject latency(Latency latency, TimeUnit unit) {
    JsonObject out = new JsonObject();
    out.addProperty("count", latency.count());
    String suffix = unit == TimeUnit.MICROSECONDS ? "_micros" : "_nanos";
    for (CacheMetrics.Percentile percentile : CacheMetrics.Percentile.ALL) {
      long nanos = percentile.of().applyAsLong(latency);
      out.addProperty(percentile.name() + suffix, unit.convert(nanos, TimeUnit.NANOSECONDS));
    }
    return out;
  }

  private static JsonObject start(StartReport start) {
    JsonObject out = GSON.toJsonTree(start).getAsJsonObject();
    out.addProperty("kind", lower(start.kind()));
    return out;
  }

  static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
