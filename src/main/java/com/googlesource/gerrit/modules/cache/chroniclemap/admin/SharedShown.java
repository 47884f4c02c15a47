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

import static com.google.common.collect.ImmutableList.toImmutableList;

import com.google.common.collect.ImmutableList;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskOperation;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedCheck;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.SharedStats;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Prints the figures of the shared server, and the results of its check. */
final class SharedShown {
  private static final int NAME_WIDTH = 26;
  private static final String ROW = "%-" + NAME_WIDTH + "s %8s %8s %5s %10s %9s %9s %8s %8s";

  private SharedShown() {}

  static void print(PrintWriter out, SharedReport server, List<CacheReport> reports) {
    out.printf(
        "Shared server %s: %s%n%n",
        server.url(), server.isAnswering() ? "is asked" : "NOT ASKED, it does not answer");
    Tables.printRow(out, ROW, "", "", "", "", "Not", "", "", "Median", "99 %");
    Tables.printRow(
        out, ROW, "Cache", "Hits", "Misses", "Hits", "asked", "Rejected", "Bytes", "ms", "ms");
    Tables.printRule(out);
    for (CacheReport report : shared(reports)) {
      SharedStats stats = report.shared().orElseThrow();
      Latency latency = report.latencies().get(DiskOperation.ASK_SHARED);
      Tables.printRow(
          out,
          ROW,
          Tables.shorten(report.name(), NAME_WIDTH),
          Units.count(stats.hits()),
          Units.count(stats.misses()),
          Units.percent(stats.hits(), stats.hits() + stats.misses()),
          Units.count(stats.notAsked()) + (stats.isWorthAsking() ? "" : " *"),
          Units.count(stats.rejected()),
          Units.bytes(stats.receivedBytes()),
          millis(latency.p50()),
          millis(latency.p99()));
    }
    Tables.printRule(out);
    Tables.printNotes(
        out,
        ImmutableList.of(
            "* is cheaper to compute than to ask for, as far as was measured.",
            String.format(
                "%s waited for the server: %s were not answered in time, %s failed, and %s more were"
                    + " not sent, as too many others waited. It was given up for a while %s.",
                Units.counted(server.requests(), "request", "requests"),
                Units.count(server.timeouts()),
                Units.count(server.errors()),
                Units.count(server.tooMany()),
                Units.counted(server.openings(), "time", "times")),
            String.format(
                "%s sent (%s), %s refused by the server, %s dropped; %s wait to be sent.",
                Units.counted(server.sent(), "value was", "values were"),
                Units.bytes(server.sentBytes()),
                Units.count(server.refused()),
                Units.count(server.dropped()),
                Units.bytes(server.queuedBytes())),
            server.lastError().isEmpty()
                ? "There was no error since the start."
                : "The last error since the start: " + server.lastError()));
  }

  private static ImmutableList<CacheReport> shared(List<CacheReport> reports) {
    return reports.stream()
        .filter(report -> report.shared().isPresent())
        .collect(toImmutableList());
  }

  private static String millis(long nanos) {
    return String.format(Locale.ROOT, "%.2f", nanos / 1e6);
  }

  /** The names of the fields are those of the metrics, and never change. */
  static String json(SharedReport server, List<CacheReport> reports) {
    JsonObject root = new JsonObject();
    root.addProperty("url", server.url());
    CacheMetrics.SERVER.forEach(metric -> root.addProperty(metric.shortName(), metric.of(server)));
    root.addProperty("last_error", server.lastError());
    JsonArray caches = new JsonArray();
    for (CacheReport report : shared(reports)) {
      JsonObject cache = new JsonObject();
      cache.addProperty("name", report.name());
      CacheMetrics.SHARED.forEach(
          metric -> cache.addProperty(metric.shortName(), metric.of(report)));
      cache.addProperty("worth_asking", report.shared().orElseThrow().isWorthAsking());
      caches.add(cache);
    }
    root.add("caches", caches);
    return CachesJson.GSON.toJson(root);
  }

  static void print(PrintWriter out, List<SharedCheck.Line> lines) {
    for (SharedCheck.Line line : lines) {
      Tables.printWrapped(
          out, String.format("%-8s%-12s%s", word(line.verdict()), line.what(), line.detail()));
    }
  }

  private static String word(SharedCheck.Verdict verdict) {
    return switch (verdict) {
      case OK -> "ok";
      case WARNING -> "WARNING";
      case FAILED -> "FAILED";
    };
  }
}
