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

import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** What came of long work on caches, as a table of {@link Tables#WIDTH} columns. */
final class UpkeepTable {
  private static final int NAME_WIDTH = 44;
  private static final String ROW = "%-" + NAME_WIDTH + "s %8s %8s %8s %9s   %s";

  private UpkeepTable() {}

  static void printVerify(PrintWriter out, List<VerifyResult> results) {
    printHead(out, "Cache", "Entries", "Bytes", "Damaged", "Time", "Result");
    for (VerifyResult result : results) {
      VerifyReport report = result.report();
      printRow(
          out,
          Tables.shorten(result.cache(), NAME_WIDTH),
          Units.count(report.values()),
          Units.bytes(report.bytes()),
          Units.count(report.damaged()),
          Units.millis(report.millis()),
          verdict(result.verdict()));
    }
    Tables.printRule(out);
    printRow(
        out,
        Units.counted(results.size(), "cache", "caches"),
        Units.count(results.stream().mapToLong(r -> r.report().values()).sum()),
        Units.bytes(results.stream().mapToLong(r -> r.report().bytes()).sum()),
        Units.count(results.stream().mapToLong(r -> r.report().damaged()).sum()),
        Units.millis(results.stream().mapToLong(r -> r.report().millis()).sum()),
        "");
    Tables.printNotes(
        out,
        results.stream()
            .filter(result -> !result.detail().isEmpty())
            .map(result -> result.cache() + ": " + result.detail())
            .toList());
  }

  private static String verdict(VerifyResult.Verdict verdict) {
    return switch (verdict) {
      case SOUND -> "sound";
      case REPAIRED -> "repaired";
      case DAMAGED -> "DAMAGED";
      case INCOMPLETE -> "NOT COMPLETE";
    };
  }

  static void printCompact(PrintWriter out, List<CompactResult> results) {
    printHead(out, "Cache", "Entries", "Before", "After", "Time", "Result");
    for (CompactResult result : results) {
      CompactReport report = result.report();
      printRow(
          out,
          Tables.shorten(result.cache(), NAME_WIDTH),
          Units.count(report.entries()),
          Units.bytes(report.bytesBefore()),
          Units.bytes(report.bytesAfter()),
          Units.millis(report.millis()),
          outcome(report.outcome()));
    }
    Tables.printRule(out);
    printRow(
        out,
        Units.counted(results.size(), "cache", "caches"),
        Units.count(results.stream().mapToLong(r -> r.report().entries()).sum()),
        Units.bytes(results.stream().mapToLong(r -> r.report().bytesBefore()).sum()),
        Units.bytes(results.stream().mapToLong(r -> r.report().bytesAfter()).sum()),
        Units.millis(results.stream().mapToLong(r -> r.report().millis()).sum()),
        "");
    Tables.printNotes(
        out,
        results.stream()
            .filter(result -> !result.detail().isEmpty())
            .map(result -> result.cache() + ": " + result.detail())
            .toList());
  }

  private static String outcome(CompactReport.Outcome outcome) {
    return switch (outcome) {
      case REBUILT -> "rebuilt";
      case NOTHING_TO_GAIN -> "nothing to gain";
      case NO_FILE -> "NO FILE";
      case CANCELLED, BUSY, ABANDONED -> "NOT DONE";
    };
  }

  static void printImport(
      PrintWriter out, List<ImportReport> reports, List<String> otherFiles, boolean dryRun) {
    printHead(out, "Cache", "In H2", "Taken", "Bytes", "Time", "Result");
    for (ImportReport report : reports) {
      printRow(
          out,
          Tables.shorten(report.cache(), NAME_WIDTH),
          Units.count(report.rows()),
          Units.count(report.imported()),
          Units.bytes(report.bytes()),
          Units.millis(report.millis()),
          state(report, dryRun));
    }
    Tables.printRule(out);
    printRow(
        out,
        Units.counted(reports.size(), "cache", "caches"),
        Units.count(reports.stream().mapToLong(ImportReport::rows).sum()),
        Units.count(reports.stream().mapToLong(ImportReport::imported).sum()),
        Units.bytes(reports.stream().mapToLong(ImportReport::bytes).sum()),
        Units.millis(reports.stream().mapToLong(ImportReport::millis).sum()),
        "");
    List<String> notes = new ArrayList<>();
    reports.stream().map(UpkeepTable::note).filter(note -> !note.isEmpty()).forEach(notes::add);
    if (!otherFiles.isEmpty()) {
      notes.add("Of no cache that is open here: " + String.join(", ", otherFiles));
    }
    Tables.printNotes(out, notes);
  }

  private static String state(ImportReport report, boolean dryRun) {
    return switch (report.state()) {
      case NOTHING -> "nothing in H2";
      case WAITING -> "waits";
      case RUNNING -> "is running, " + Units.percent(report.read(), report.rows());
      case DONE -> dryRun && report.imported() > 0 ? "would be taken" : "done";
      case FULL -> "full";
      case INTERRUPTED -> "NOT DONE";
      case FAILED -> "FAILED";
      case IN_USE -> "left alone";
    };
  }

  /** What was left, and why; empty if nothing was. */
  private static String note(ImportReport report) {
    List<String> parts = new ArrayList<>();
    add(parts, report.known(), "left because the cache knows better");
    add(parts, report.otherVersion(), "of another version of Gerrit");
    add(parts, report.tooOld(), "too old");
    add(parts, report.tooLarge(), "too large");
    if (report.state() == State.FULL) {
      parts.add("the others have no room");
    }
    if (!report.detail().isEmpty() && report.state() != State.NOTHING) {
      parts.add(report.detail());
    }
    return parts.isEmpty() ? "" : report.cache() + ": " + String.join("; ", parts);
  }

  private static void add(List<String> parts, long count, String what) {
    if (count > 0) {
      parts.add(Units.count(count) + " " + what);
    }
  }

  private static void printHead(PrintWriter out, Object... columns) {
    printRow(out, columns);
    Tables.printRule(out);
  }

  private static void printRow(PrintWriter out, Object... columns) {
    out.println(String.format(ROW, columns).stripTrailing());
  }
}
