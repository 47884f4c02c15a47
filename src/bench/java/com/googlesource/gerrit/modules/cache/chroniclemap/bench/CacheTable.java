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

/** The results beside one peer, as a table of 100 columns. */
final class CacheTable {
  private static final int WIDTH = 100;
  private static final String ROW = "%-10s %6s %7s %9s %8s %7s  %7s %7s %7s  %7s %7s %7s%n";

  private CacheTable() {}

  static void print(
      PrintStream out, CachePeer peer, List<Comparison<CacheCase, CachePeer>> results) {
    String them = peer.title();
    out.println(
        " ".repeat(26)
            + "Operations per second         Microseconds for a call (put: for the caller)");
    out.printf(
        Locale.ROOT, ROW, "", "", "", "", "", "ours/", "ours", "ours", "ours", them, them, them);
    out.printf(
        Locale.ROOT,
        ROW,
        "Operation",
        "Values",
        "Threads",
        "ours",
        them,
        them,
        "p50",
        "p99",
        "p99.9",
        "p50",
        "p99",
        "p99.9");
    CacheOperation previous = null;
    for (Comparison<CacheCase, CachePeer> result : results) {
      if (result.scenario().operation() != previous) {
        out.println("-".repeat(WIDTH));
        previous = result.scenario().operation();
      }
      print(out, result);
    }
    out.println("-".repeat(WIDTH));
  }

  private static void print(PrintStream out, Comparison<CacheCase, CachePeer> result) {
    CacheCase scenario = result.scenario();
    Samples ours = result.ours();
    Samples theirs = result.theirs();
    out.printf(
        Locale.ROOT,
        ROW,
        scenario.operation().title(),
        scenario.size(),
        scenario.threads(),
        Numbers.whole(ours.opsPerSecond()),
        Numbers.whole(theirs.opsPerSecond()),
        result.isWarm() ? Numbers.threeDigits(result.throughputRatio()) + "x" : "-",
        Numbers.threeDigits(ours.micros(50)),
        Numbers.threeDigits(ours.micros(99)),
        Numbers.threeDigits(ours.micros(99.9)),
        Numbers.threeDigits(theirs.micros(50)),
        Numbers.threeDigits(theirs.micros(99)),
        Numbers.threeDigits(theirs.micros(99.9)));
  }
}
