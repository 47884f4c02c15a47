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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** The results about refs, as a table of 104 columns. */
final class RefsTable {
  private static final int WIDTH = 104;
  private static final String ROW = "%-20s %-10s %3s %8s %8s %7s  %-12s %9s %9s %11s %6s%n";

  private RefsTable() {}

  static void print(PrintStream out, List<Comparison<RefsCase, RefsPeer>> results) {
    out.println(
        " ".repeat(35)
            + "Ours: microseconds, garbage    Another: the same, and how many times p50");
    out.printf(
        Locale.ROOT,
        ROW,
        "Operation",
        "Trust",
        "Th.",
        "p50",
        "p99",
        "B",
        "",
        "p50",
        "p99",
        "B",
        "");
    RefsCase previous = null;
    for (Comparison<RefsCase, RefsPeer> result : results) {
      RefsCase scenario = result.scenario();
      boolean again = scenario.equals(previous);
      if (previous == null || !previous.operation().title().equals(scenario.operation().title())) {
        out.println("-".repeat(WIDTH));
      }
      previous = scenario;
      Samples ours = result.ours();
      Samples theirs = result.theirs();
      out.printf(
          Locale.ROOT,
          ROW,
          again ? "" : scenario.operation().title(),
          again ? "" : scenario.trust(),
          again ? "" : scenario.threads(),
          again ? "" : Numbers.threeDigits(ours.micros(50)),
          again ? "" : Numbers.threeDigits(ours.micros(99)),
          again ? "" : garbage(ours),
          result.peer().title(),
          Numbers.threeDigits(theirs.micros(50)),
          Numbers.threeDigits(theirs.micros(99)),
          garbage(theirs),
          Numbers.threeDigits(result.latencyRatio(50)) + "x");
    }
    out.println("-".repeat(WIDTH));
  }

  private static String garbage(Samples samples) {
    OptionalDouble garbage = samples.garbage();
    return garbage.isPresent() ? Numbers.whole(garbage.getAsDouble()) : "";
  }

  static void printMemory(PrintStream out, List<RefsMemory> memory) {
    for (RefsMemory one : memory) {
      out.printf(
          Locale.ROOT,
          "Memory, %s: %.2f bytes of heap a ref, %.1f outside%n",
          one.peer().title(),
          one.heap(),
          one.direct());
    }
  }
}
