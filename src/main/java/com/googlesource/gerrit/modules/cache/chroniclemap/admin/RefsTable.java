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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import java.util.ArrayList;
import java.util.List;

/** A formatter of parsed ref lists as a {@link TextTable}. */
final class RefsTable {
  private static final int NAME_WIDTH = 21;
  private static final String ROW = " %5s %7s %7s %5s %6s %6s %7s %8s";

  /** The bad refs of a project that are named. JSON names more of them. */
  private static final int MAX_BAD_REFS = 10;

  private RefsTable() {}

  static void print(
      Screen out, Figures all, RefsTotals totals, List<ProjectRefs> reports, Problems problems) {
    TextTable table = new TextTable(out, NAME_WIDTH, ROW);
    table.row("", "|Bytes|Bytes|Bytes||||Last");
    table.row("Project", "Refs|packed|offheap|a ref|Parses|Checks|Lookups|parse");
    table.rule();
    reports.forEach(refs -> addRow(table, refs));
    table.rule();
    table.row(
        Units.counted(all.get("projects"), "project", "projects"),
        all.fill("{refs}|{packed_bytes}|{memory_bytes}||{parses}|{checks}|{lookups}|")
            + time(totals.counts().lastParse.get()));
    out.println("");
    out.printFigures(all);
    List<String> notes = notes(totals, reports);
    problems.all().forEach(problem -> notes.add(problem.line()));
    table.notes(notes);
  }

  private static void addRow(TextTable table, ProjectRefs refs) {
    RefsReport report = refs.report();
    Figures figures = Figures.of(RefsMetrics.PROJECT, report);
    table.row(
        refs.project(),
        (report.inMemory()
                ? figures.fill("{refs}|{packed_bytes}|{off_heap_bytes}|")
                    + (report.refs() == 0 ? "" : Units.count(report.offHeapBytes() / report.refs()))
                : "-|-|-|")
            + figures.fill("|{parses}|{checks}|{lookups}|")
            + time(figures.get("last_parse")));
  }

  private static String time(long millis) {
    return millis == 0 ? "" : Units.time(millis);
  }

  /** What is no figure of all, and what is wrong with single refs. */
  private static List<String> notes(RefsTotals totals, List<ProjectRefs> reports) {
    List<String> notes = new ArrayList<>();
    totals
        .disk()
        .map(disk -> Figures.of(CacheMetrics.OF_STORE, disk))
        .map(disk -> disk.fill("Blocks on disk: {entries}, {disk_bytes} of at most {limit_bytes}."))
        .ifPresent(notes::add);
    if (!totals.wantsDisk()) {
      totals
          .memoryOnlyReason()
          .ifPresent(why -> notes.add("Lists are kept in memory only: " + why));
    }
    for (ProjectRefs refs : reports) {
      refs.report()
          .leftReason()
          .ifPresent(why -> notes.add("JGit answers for " + refs.project() + ": " + why + "."));
      refs.report().badRefs().stream()
          .limit(MAX_BAD_REFS)
          .forEach(bad -> notes.add("Bad ref in " + refs.project() + ": " + bad + "."));
    }
    return notes;
  }
}
