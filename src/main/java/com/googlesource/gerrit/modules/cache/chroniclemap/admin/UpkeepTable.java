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
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;

/** What came of long work on caches, as a table of {@link Tables#WIDTH} columns. */
final class UpkeepTable {
  private static final int NAME_WIDTH = 44;
  private static final String ROW = "%-" + NAME_WIDTH + "s %8s %8s %8s %9s   %s";

  private UpkeepTable() {}

  /** A column of figures, of which the last line has the sum. */
  private record Column<R>(String head, ToLongFunction<R> figure, LongFunction<String> inPrint) {}

  static void printVerify(PrintWriter out, List<VerifyResult> results) {
    print(
        out,
        results,
        VerifyResult::cache,
        List.of(
            new Column<>("Entries", r -> r.report().values(), Units::count),
            new Column<>("Bytes", r -> r.report().bytes(), Units::bytes),
            new Column<>("Damaged", r -> r.report().damaged(), Units::count),
            new Column<>("Time", r -> r.report().millis(), Units::millis)),
        result -> verdict(result.verdict()));
    printDetails(out, results, VerifyResult::cache, VerifyResult::detail);
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
    print(
        out,
        results,
        CompactResult::cache,
        List.of(
            new Column<>("Entries", r -> r.report().entries(), Units::count),
            new Column<>("Before", r -> r.report().bytesBefore(), Units::bytes),
            new Column<>("After", r -> r.report().bytesAfter(), Units::bytes),
            new Column<>("Time", r -> r.report().millis(), Units::millis)),
        result -> outcome(result.report().outcome()));
    printDetails(out, results, CompactResult::cache, CompactResult::detail);
  }

  private static String outcome(CompactReport.Outcome outcome) {
    return switch (outcome) {
      case REBUILT -> "rebuilt";
      case NOTHING_TO_GAIN -> "nothing to gain";
      case NO_FILE -> "NO FILE";
      case CANCELLED, BUSY, ABANDONED -> "NOT DONE";
    };
  }

  static void printImport(PrintWriter out, List<ImportReport> reports, boolean dryRun) {
    print(
        out,
        reports,
        ImportReport::cache,
        List.of(
            new Column<>("In H2", ImportReport::rows, Units::count),
            new Column<>("Taken", ImportReport::imported, Units::count),
            new Column<>("Bytes", ImportReport::bytes, Units::bytes),
            new Column<>("Time", ImportReport::millis, Units::millis)),
        report -> state(report, dryRun));
    List<String> notes = new ArrayList<>();
    reports.stream().map(UpkeepTable::note).filter(note -> !note.isEmpty()).forEach(notes::add);
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

  /** A line for each result and one for all; {@code last} says in words what came of it. */
  private static <R> void print(
      PrintWriter out,
      List<R> results,
      Function<R, String> cache,
      List<Column<R>> columns,
      Function<R, String> last) {
    printRow(out, "Cache", columns, Column::head, "Result");
    Tables.printRule(out);
    for (R result : results) {
      printRow(
          out,
          Tables.shorten(cache.apply(result), NAME_WIDTH),
          columns,
          column -> column.inPrint.apply(column.figure.applyAsLong(result)),
          last.apply(result));
    }
    Tables.printRule(out);
    printRow(
        out,
        Units.counted(results.size(), "cache", "caches"),
        columns,
        column -> column.inPrint.apply(results.stream().mapToLong(column.figure).sum()),
        "");
  }

  private static <R> void printRow(
      PrintWriter out,
      String first,
      List<Column<R>> columns,
      Function<Column<R>, String> cell,
      String last) {
    List<String> cells = new ArrayList<>(List.of(first));
    columns.stream().map(cell).forEach(cells::add);
    cells.add(last);
    out.println(String.format(ROW, cells.toArray()).stripTrailing());
  }

  private static <R> void printDetails(
      PrintWriter out, List<R> results, Function<R, String> cache, Function<R, String> detail) {
    Tables.printNotes(
        out,
        results.stream()
            .filter(result -> !detail.apply(result).isEmpty())
            .map(result -> cache.apply(result) + ": " + detail.apply(result))
            .toList());
  }
}
