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

import static com.google.common.base.Strings.lenientFormat;

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/** Prints caches as a table of {@link Tables#WIDTH} columns. */
final class CachesTable {
  private static final int NAME_WIDTH = 25;
  private static final String ROW = "%-" + NAME_WIDTH + "s %7s %7s %7s %7s %6s %4s %7s %7s %6s %7s";

  private CachesTable() {}

  static void print(
      PrintWriter out,
      Optional<Path> directory,
      Optional<String> memoryOnlyReason,
      List<CacheReport> reports) {
    if (directory.isEmpty()) {
      Tables.printWrapped(
          out, "All caches are kept in memory only: " + memoryOnlyReason.orElse("unknown"));
      return;
    }
    out.println("Stores in " + directory.get() + System.lineSeparator());
    Tables.printRow(out, ROW, "", "", "Bytes", "Bytes", "Disk", "Disk", "", "", "", "Not", "Last");
    Tables.printRow(
        out, ROW, "Cache", "Entries", "live", "on disk", "limit", "reads", "Hits", "Evicted",
        "Damaged", "stored", "start");
    Tables.printRule(out);
    reports.forEach(report -> printRow(out, report));
    Tables.printRule(out);
    Tables.printRow(
        out,
        ROW,
        Units.counted(reports.size(), "cache", "caches"),
        Units.count(sum(reports, StoreStats::entries)),
        Units.bytes(sum(reports, StoreStats::liveBytes)),
        Units.bytes(sum(reports, StoreStats::diskBytes)));
    Tables.printNotes(
        out,
        Stream.concat(
                Stream.of(activity(reports)),
                reports.stream()
                    .flatMap(report -> Stream.of(note(report), damage(report)))
                    .flatMap(Optional::stream))
            .toList());
  }

  private static void printRow(PrintWriter out, CacheReport report) {
    StoreStats stats = report.disk();
    long reads = stats.hits() + stats.misses();
    Tables.printRow(
        out,
        ROW,
        Tables.shorten(report.name(), NAME_WIDTH),
        Units.count(stats.entries()),
        Units.bytes(stats.liveBytes()),
        Units.bytes(stats.diskBytes()),
        Units.bytes(stats.maxBytes()),
        Units.count(reads),
        Units.percent(stats.hits(), reads),
        Units.count(stats.evictions()),
        Units.count(stats.damaged()),
        Units.count(stats.notStored() + report.serializerErrors()),
        startOf(stats));
  }

  private static long sum(List<CacheReport> reports, ToLongFunction<StoreStats> figure) {
    return reports.stream().map(CacheReport::disk).mapToLong(figure).sum();
  }

  /** Sums up the figures without a column. The JSON output has them for each cache. */
  static String activity(List<CacheReport> reports) {
    return lenientFormat(
        "Since the start, %s values have expired and %s files have been replaced, by growth or"
            + " upkeep. %s values are queued for writing.",
        Units.count(sum(reports, StoreStats::expired)),
        Units.count(sum(reports, StoreStats::growths)),
        Units.count(sum(reports, StoreStats::queued)));
  }

  static String startOf(StoreStats stats) {
    if (stats.state() == StoreState.FAILED) {
      return "FAILED";
    }
    return switch (stats.start().kind()) {
      case PENDING -> "opening";
      case NEW -> "new";
      case CLEAN -> "clean";
      case RECOVERED -> "crash";
      case SHRUNK -> "shrunk";
      case REPLACED -> "emptied";
      case NONE -> "FAILED";
    };
  }

  private static Optional<String> damage(CacheReport report) {
    long found = report.disk().unrepaired();
    String counted = Units.counted(found, "damaged entry", "damaged entries");
    return Optional.of(report.name() + ": " + counted + " in the file: run verify --repair")
        .filter(text -> found > 0);
  }

  /** Why a cache is in memory only, and the way out; empty if it has its file. */
  static Optional<String> failure(CacheReport report) {
    String reason = report.disk().start().detail();
    return report.disk().state() == StoreState.FAILED
        ? Optional.of(
            report.name() + ": kept in memory only: " + (reason.isEmpty() ? "see the log" : reason))
        : Optional.empty();
  }

  private static Optional<String> note(CacheReport report) {
    Optional<String> failure = failure(report);
    if (failure.isPresent()) {
      return failure;
    }
    StartReport start = report.disk().start();
    return switch (start.kind()) {
      case RECOVERED ->
          Optional.of(
              lenientFormat(
                  "%s: recovered after a crash in %s ms, %s kept",
                  report.name(),
                  start.millis(),
                  Units.counted(start.entries(), "entry", "entries")));
      case SHRUNK ->
          Optional.of(
              lenientFormat(
                  "%s: had %s and was made smaller: %s",
                  report.name(),
                  Units.counted(start.entries(), "entry", "entries"),
                  start.detail()));
      case REPLACED -> Optional.of(report.name() + ": started empty: " + start.detail());
      default -> Optional.empty();
    };
  }
}
