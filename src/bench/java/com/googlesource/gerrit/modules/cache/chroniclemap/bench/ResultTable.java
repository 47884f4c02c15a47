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

import com.google.common.collect.Table;
import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.function.Function;

/** The results of a family of cases: for each, a line of each peer. */
final class ResultTable {
  private static final int WIDTH = 112;
  private static final String ROW = "  %-14s %9s %9s %9s %9s %9s %11s %9s %11s %9s %9s%n";

  private ResultTable() {}

  static <C extends Case, P extends Peer> void print(
      PrintStream out, List<C> cases, Function<C, List<P>> peers, Table<C, P, Samples> samples) {
    out.println(
        "A call: milliseconds, of the processor too; bytes of garbage; milliseconds for which"
            + " packed-refs.lock was held.");
    out.println("Behind: this module is so many times as good; ? where one still got faster.");
    out.printf(
        Locale.ROOT,
        ROW,
        "",
        "calls",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "a second",
        "CPU",
        "garbage",
        "lock",
        "");
    for (C scenario : cases) {
      out.println("-".repeat(WIDTH));
      out.println(scenario);
      Samples ours = samples.get(scenario, peers.apply(scenario).get(0));
      for (P peer : peers.apply(scenario)) {
        Samples one = samples.get(scenario, peer);
        out.printf(
            Locale.ROOT,
            ROW,
            peer.title(),
            Numbers.whole((double) one.callCount()),
            millis(one.millis(50)),
            millis(one.millis(95)),
            millis(one.millis(99)),
            millis(one.millis(99.9)),
            Numbers.threeDigits(one.opsPerSecond()),
            number(one.cpuMillis()),
            number(one.garbage()),
            number(one.lockedMillis()),
            one == ours
                ? ""
                : Numbers.threeDigits(scenario.times(ours, one))
                    + (ours.isWarm() && one.isWarm() ? "x" : "?"));
      }
    }
    out.println("-".repeat(WIDTH));
  }

  private static String millis(double millis) {
    return String.format(Locale.ROOT, millis < 1 ? "%.5f" : "%.2f", millis);
  }

  private static String number(OptionalDouble number) {
    return number.isPresent() ? Numbers.threeDigits(number.getAsDouble()) : "";
  }
}
