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

import com.googlesource.gerrit.modules.cache.chroniclemap.admin.TextTable.Screen;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A formatter of caches as a {@link TextTable}. */
final class CachesTable {
  private static final int NAME_WIDTH = 25;
  private static final String ROW = " %7s %7s %7s %6s %4s %7s %8s";

  private CachesTable() {}

  /**
   * Prints what the inventory tells of all caches together, and some of the caches.
   *
   * @param problems of these caches
   */
  static void print(
      Screen out, CacheInventory inventory, List<CacheReport> reports, Problems problems) {
    out.println(AdminPlugin.NAME + " " + RunningJar.version());
    Optional<Path> directory = inventory.directory();
    if (directory.isEmpty()) {
      String reason = inventory.memoryOnlyReason().orElse("unknown");
      out.printWrapped("All caches are kept in memory only: " + reason);
      return;
    }
    out.println("Stores in " + directory.get() + System.lineSeparator());
    TextTable table = new TextTable(out, NAME_WIDTH, ROW);
    table.row("", "|Bytes|Disk|Disk|||Last");
    table.row("Cache", "Entries|on disk|limit|reads|Hits|Evicted|start");
    table.rule();
    reports.forEach(report -> addRow(table, report));
    table.rule();
    Figures all = Figures.ofAll(CacheMetrics.ALL, reports);
    String counted = Units.counted(reports.size(), "cache", "caches");
    table.row(counted, all.fill("{entries}|{disk_bytes}"));
    List<String> notes = new ArrayList<>();
    notes.add(all.fill("Expired since the start: {expired}; queued for writing now: {queued}."));
    for (CacheReport report : reports) {
      StartReport start = report.disk().start();
      if (start.kind() != StartReport.Kind.NONE && !start.told().isEmpty()) {
        notes.add(report.name() + ": " + start.told());
      }
    }
    problems.all().forEach(problem -> notes.add(problem.line()));
    table.notes(notes);
  }

  private static void addRow(TextTable table, CacheReport report) {
    Figures figures = Figures.of(CacheMetrics.ALL, report);
    boolean isFailed = report.disk().state() == StoreState.FAILED;
    StartReport.Kind start = isFailed ? StartReport.Kind.NONE : report.disk().start().kind();
    table.row(
        report.name(),
        figures.fill("{entries}|{disk_bytes}|{limit_bytes}|{reads}|")
            + Units.percent(figures.get("hits"), figures.get("reads"))
            + figures.fill("|{evicted}|")
            + start.word);
  }
}
