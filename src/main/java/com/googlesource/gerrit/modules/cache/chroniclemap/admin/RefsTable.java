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

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Prints the parsed ref lists as a table of {@link Tables#WIDTH} columns. */
final class RefsTable {
  private static final int NAME_WIDTH = 22;
  private static final String ROW = "%-" + NAME_WIDTH + "s %7s %7s %7s %5s %6s %6s %6s %6s %7s %8s";

  /** So many bad refs of a project are named; JSON names more of them. */
  private static final int MOST_BAD = 10;

  private RefsTable() {}

  static void print(
      PrintWriter out, RefsTotals totals, TransportCounts transport, List<ProjectRefs> reports) {
    Tables.printRow(out, ROW, "", "", "Bytes", "Bytes", "Bytes", "", "", "Blocks", "", "", "Last");
    Tables.printRow(
        out, ROW, "Project", "Refs", "packed", "offheap", "a ref", "Blocks", "Parses", "reused",
        "Checks", "Lookups", "parse");
    Tables.printRule(out);
    reports.forEach(refs -> printRow(out, refs));
    Tables.printRule(out);
    Tables.printRow(
        out,
        ROW,
        totals.repositories() + " projects",
        Units.count(totals.refs()),
        Units.bytes(totals.packedBytes()),
        Units.bytes(totals.memoryBytes()),
        perRef(totals.memoryBytes(), totals.refs()),
        Units.count(totals.blocks()),
        Units.count(totals.parses()),
        Units.count(totals.reusedBlocks()),
        Units.count(totals.checks()),
        Units.count(totals.lookups()),
        time(totals.lastParse()));
    Tables.printNotes(out, notes(totals, transport, reports));
  }

  private static void printRow(PrintWriter out, ProjectRefs refs) {
    RefsReport report = refs.report();
    Tables.printRow(
        out,
        ROW,
        Tables.shorten(refs.project(), NAME_WIDTH),
        report.inMemory() ? Units.count(report.refs()) : "-",
        report.inMemory() ? Units.bytes(report.packedBytes()) : "-",
        report.inMemory() ? Units.bytes(report.offHeapBytes()) : "-",
        perRef(report.offHeapBytes(), report.refs()),
        report.inMemory() ? Units.count(report.blocks()) : "-",
        Units.count(report.parses()),
        Units.count(report.reusedBlocks()),
        Units.count(report.checks()),
        Units.count(report.lookups()),
        time(report.lastParse()));
  }

  static String perRef(long bytes, long refs) {
    return refs == 0 ? "" : Units.count(bytes / refs);
  }

  private static String time(long millis) {
    return millis == 0 ? "" : Units.time(millis);
  }

  /** What the table has no column for, in sentences. */
  static List<String> notes(
      RefsTotals totals, TransportCounts transport, List<ProjectRefs> reports) {
    List<String> notes = new ArrayList<>();
    notes.add(
        lenientFormat(
            "%s lists in memory, with shared blocks counted once; the limit is %s. %s were evicted to"
                + " make room, %s were loaded from disk.",
            Units.count(totals.lists()),
            Units.bytes(totals.memoryLimit()),
            Units.count(totals.evictions()),
            Units.count(totals.loads())));
    notes.add(
        lenientFormat(
            "Direct memory of the indexes of object ids: %s; of the whole process: %s.",
            Units.bytes(totals.idIndexBytes()), Units.bytes(totals.processDirectBytes())));
    totals
        .disk()
        .ifPresent(
            disk ->
                notes.add(
                    lenientFormat(
                        "On disk: %s blocks, %s of at most %s.",
                        Units.count(disk.entries()),
                        Units.bytes(disk.diskBytes()),
                        Units.bytes(disk.maxBytes()))));
    notes.add(
        lenientFormat(
            "Pushes: %s lists of refs made without those of changes, %s looked up by name, %s left to"
                + " Gerrit; %s checked against the refs that they build on, %s against all"
                + " advertised refs. Fetches by id: %s of visible refs, %s checked by JGit. %s branches"
                + " took the answer for another one under the same access rules.",
            Units.count(transport.pushes.sum()),
            Units.count(transport.pushesByName.sum()),
            Units.count(transport.pushesLeft.sum()),
            Units.count(transport.nearChecks.sum()),
            Units.count(transport.fullChecks.sum()),
            Units.count(transport.tips.sum()),
            Units.count(transport.walks.sum()),
            Units.count(transport.branchesByRules.sum())));
    if (totals.reftables() > 0) {
      notes.add(
          lenientFormat(
              "Reftables: those of %s projects, %s, were looked into %s times.",
              Units.count(totals.reftables()),
              Units.bytes(totals.tableBytes()),
              Units.count(totals.tableLookups())));
    }
    totals.memoryOnlyReason().ifPresent(why -> notes.add("Lists are kept in memory only: " + why));
    if (totals.leftToJGit() > 0) {
      notes.add(
          Units.count(totals.leftToJGit())
              + " files could not be parsed: JGit answered for them, as without this module.");
    }
    for (ProjectRefs refs : reports) {
      refs.report()
          .leftReason()
          .ifPresent(why -> notes.add("JGit answers for " + refs.project() + ": " + why + "."));
      refs.report().badRefs().stream()
          .limit(MOST_BAD)
          .forEach(bad -> notes.add("Bad ref in " + refs.project() + ": " + bad + "."));
    }
    if (totals.noMemory() > 0) {
      notes.add(
          lenientFormat(
              "There was no memory for a list %s times: raise -XX:MaxDirectMemorySize.",
              Units.count(totals.noMemory())));
    }
    if (totals.failures() > 0) {
      notes.add(
          Units.count(totals.failures())
              + " lookups were left to JGit because of a fault; see the log.");
    }
    return notes;
  }
}
