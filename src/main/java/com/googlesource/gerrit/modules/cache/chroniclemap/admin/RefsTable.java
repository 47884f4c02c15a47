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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** A formatter of parsed ref lists as a {@link TextTable}. */
final class RefsTable {
  private static final int NAME_WIDTH = 22;
  private static final String ROW = "%-" + NAME_WIDTH + "s %7s %7s %7s %5s %6s %6s %6s %6s %7s %8s";

  /** The bad refs of a project that are named. JSON names more of them. */
  private static final int MAX_BAD_REFS = 10;

  private RefsTable() {}

  static void print(PrintWriter out, Figures all, RefsTotals totals, List<ProjectRefs> reports) {
    TextTable table = new TextTable(out, ROW);
    table.row("", "|Bytes|Bytes|Bytes|||Blocks|||Last");
    table.row("Project", "Refs|packed|offheap|a ref|Blocks|Parses|reused|Checks|Lookups|parse");
    table.rule();
    reports.forEach(refs -> addRow(table, refs));
    table.rule();
    table.row(
        all.get("projects") + " projects",
        all.fill("{refs}|{packed_bytes}|{memory_bytes}|")
            + perRef(all.get("memory_bytes"), all.get("refs"))
            + all.fill("|{blocks}|{parses}|{reused_blocks}|{checks}|{lookups}|")
            + time(totals.counts().lastParse.get()));
    table.notes(notes(all, totals, reports));
  }

  private static void addRow(TextTable table, ProjectRefs refs) {
    RefsReport report = refs.report();
    Figures figures = Figures.of(RefsMetrics.PROJECT, report);
    table.row(
        TextTable.shorten(refs.project(), NAME_WIDTH),
        (report.inMemory()
                ? figures.fill("{refs}|{packed_bytes}|{off_heap_bytes}|")
                    + perRef(report.offHeapBytes(), report.refs())
                    + figures.fill("|{blocks}")
                : "-|-|-||-")
            + figures.fill("|{parses}|{reused_blocks}|{checks}|{lookups}|")
            + time(figures.get("last_parse")));
  }

  static String perRef(long bytes, long refs) {
    return refs == 0 ? "" : Units.count(bytes / refs);
  }

  private static String time(long millis) {
    return millis == 0 ? "" : Units.time(millis);
  }

  /** Figures that have no column, in sentences. */
  static List<String> notes(Figures all, RefsTotals totals, List<ProjectRefs> reports) {
    List<String> notes = new ArrayList<>();
    notes.add(
        all.fill(
            "{lists} lists in memory, with shared blocks counted once; the limit is {limit_bytes}."
                + " {evicted} were evicted to make room, {loads} were loaded from disk."));
    notes.add(
        all.fill(
            "Direct memory of the indexes of object ids: {id_index_bytes}; of the whole process:"
                + " {process_direct_bytes}."));
    totals
        .disk()
        .map(disk -> Figures.of(CacheMetrics.OF_STORE, disk))
        .map(disk -> disk.fill("On disk: {entries} blocks, {disk_bytes} of at most {limit_bytes}."))
        .ifPresent(notes::add);
    notes.add(
        all.fill(
            "Pushes: {pushes} lists of refs made without those of changes, {pushes_by_name} looked"
                + " up by name, {pushes_left} left to Gerrit; {checks_near} checked against the"
                + " commits that they build on, {checks_full} against all advertised refs. Fetches"
                + " by id: {fetches_by_tip} of visible refs, {fetches_by_walk} checked by JGit."
                + " For {branches_by_rules} branches, Gerrit's decision on another branch with the"
                + " same access rules was used."));
    String reftables = "Reftables: those of {reftables} projects, {table_bytes}, were looked into";
    addIfAny(notes, all, "reftables", reftables + " {table_lookups} times.");
    totals.memoryOnlyReason().ifPresent(why -> notes.add("Lists are kept in memory only: " + why));
    String left = "{left_to_jgit} files could not be parsed: JGit answered for them,";
    addIfAny(notes, all, "left_to_jgit", left + " as without this module.");
    for (ProjectRefs refs : reports) {
      refs.report()
          .leftReason()
          .ifPresent(why -> notes.add("JGit answers for " + refs.project() + ": " + why + "."));
      refs.report().badRefs().stream()
          .limit(MAX_BAD_REFS)
          .forEach(bad -> notes.add("Bad ref in " + refs.project() + ": " + bad + "."));
    }
    String noMemory = "There was no memory for a list {no_memory} times:";
    addIfAny(notes, all, "no_memory", noMemory + " raise -XX:MaxDirectMemorySize.");
    String faults = "{failures} lookups were left to JGit because of a fault; see the log.";
    addIfAny(notes, all, "failures", faults);
    return notes;
  }

  private static void addIfAny(List<String> notes, Figures all, String figure, String note) {
    if (all.get(figure) > 0) {
      notes.add(all.fill(note));
    }
  }
}
