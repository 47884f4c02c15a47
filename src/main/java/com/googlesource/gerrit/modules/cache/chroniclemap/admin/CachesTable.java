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

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The caches as a table of 100 columns. */
final class CachesTable {
  static final int WIDTH = 100;
  private static final int NAME_WIDTH = 26;
  private static final String ROW = "%-" + NAME_WIDTH + "s %7s %8s %8s %8s %7s %7s %7s %6s %7s%n";

  private CachesTable() {}

  static void print(
      PrintWriter out,
      Optional<Path> directory,
      Optional<String> memoryOnlyReason,
      List<CacheReport> reports) {
    if (directory.isEmpty()) {
      printWrapped(
          out, "All caches are kept in memory only: " + memoryOnlyReason.orElse("unknown"));
      return;
    }
    out.printf("Stores in %s%n%n", directory.get());
    out.printf(ROW, "", "", "Bytes", "Bytes", "Disk", "Disk", "Disk", "", "Not", "Last");
    out.printf(
        ROW, "Cache", "Entries", "live", "on disk", "limit", "hits", "misses", "Damaged", "stored",
        "start");
    out.println("-".repeat(WIDTH));
    long entries = 0;
    long live = 0;
    long disk = 0;
    for (CacheReport report : reports) {
      StoreStats stats = report.disk();
      entries += stats.entries();
      live += stats.liveBytes();
      disk += stats.diskBytes();
      printRow(out, report);
    }
    out.println("-".repeat(WIDTH));
    out.printf(
        ROW,
        reports.size() + " caches",
        Units.count(entries),
        Units.bytes(live),
        Units.bytes(disk),
        "",
        "",
        "",
        "",
        "",
        "");
    printNotes(out, reports);
  }

  private static void printRow(PrintWriter out, CacheReport report) {
    StoreStats stats = report.disk();
    out.printf(
        ROW,
        shorten(report.name()),
        Units.count(stats.entries()),
        Units.bytes(stats.liveBytes()),
        Units.bytes(stats.diskBytes()),
        Units.bytes(stats.maxBytes()),
        Units.count(stats.hits()),
        Units.count(stats.misses()),
        Units.count(stats.damaged() + stats.start().damaged()),
        Units.count(stats.notStored() + report.serializerErrors()),
        startOf(stats));
  }

  private static String shorten(String name) {
    return name.length() <= NAME_WIDTH ? name : name.substring(0, NAME_WIDTH - 1) + "~";
  }

  private static String startOf(StoreStats stats) {
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

  /** What a column of a few characters can't say. */
  private static void printNotes(PrintWriter out, List<CacheReport> reports) {
    List<String> notes = reports.stream().map(CachesTable::note).flatMap(Optional::stream).toList();
    if (!notes.isEmpty()) {
      out.println();
      notes.forEach(note -> printWrapped(out, note));
    }
  }

  private static Optional<String> note(CacheReport report) {
    StoreStats stats = report.disk();
    StartReport start = stats.start();
    if (stats.state() == StoreState.FAILED) {
      String reason = start.detail().isEmpty() ? "see the log" : start.detail();
      return Optional.of(report.name() + ": kept in memory only, its file failed: " + reason);
    }
    return switch (start.kind()) {
      case RECOVERED ->
          Optional.of(
              String.format(
                  "%s: recovered after a crash in %d ms, %d entries kept, %d damaged ones dropped",
                  report.name(), start.millis(), start.entries(), start.damaged()));
      case SHRUNK ->
          Optional.of(
              String.format(
                  "%s: made smaller in %d ms, %d entries kept: %s",
                  report.name(), start.millis(), start.entries(), start.detail()));
      case REPLACED -> Optional.of(report.name() + ": started empty: " + start.detail());
      default -> Optional.empty();
    };
  }

  /** Prints a text on as many lines as it takes, all but the first indented. */
  private static void printWrapped(PrintWriter out, String text) {
    String rest = text;
    String indent = "";
    while (indent.length() + rest.length() > WIDTH) {
      int room = WIDTH - indent.length();
      int space = rest.lastIndexOf(' ', room);
      int end = space > 0 ? space : room;
      out.println(indent + rest.substring(0, end));
      rest = rest.substring(end).stripLeading();
      indent = "  ";
    }
    out.println(indent + rest);
  }
}
