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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.PrintWriter;
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

  private static void printHead(PrintWriter out, Object... columns) {
    printRow(out, columns);
    Tables.printRule(out);
  }

  private static void printRow(PrintWriter out, Object... columns) {
    out.println(String.format(ROW, columns).stripTrailing());
  }
}
