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

/** The results about updates of refs, as a table of 112 columns. */
final class UpdatesTable {
  private static final int WIDTH = 112;
  private static final String ROW = "  %-34s %5s %9s %9s %9s %11s %10s %9s %9s%n";
  private static final double KILO = 1000;

  private UpdatesTable() {}

  static void print(
      PrintStream out, List<UpdatesCase> cases, Table<UpdatesCase, UpdatesPeer, Samples> samples) {
    out.println(
        "A run: milliseconds, processor time, garbage, packed-refs.lock held. Behind: ours is so"
            + " many times as fast.");
    out.printf(
        Locale.ROOT,
        ROW,
        "",
        "runs",
        "median",
        "p95",
        "CPU ms",
        "garbage KB",
        "lock ms",
        "a second",
        "");
    for (UpdatesCase scenario : cases) {
      out.println("-".repeat(WIDTH));
      out.println(scenario);
      Samples ours = samples.get(scenario, UpdatesPeer.OURS);
      for (UpdatesPeer peer : UpdatesPlan.peers(scenario)) {
        Samples one = samples.get(scenario, peer);
        double times = scenario.times(ours, one);
        out.printf(
            Locale.ROOT,
            ROW,
            title(scenario, peer),
            one.callCount(),
            Numbers.threeDigits(one.millis(50)),
            Numbers.threeDigits(one.millis(95)),
            Numbers.threeDigits(one.cpuMillis()),
            number(one.garbage(), KILO),
            number(one.lockedMillis(), 1),
            Numbers.threeDigits(one.opsPerSecond()),
            peer == UpdatesPeer.OURS ? "" : Numbers.threeDigits(times) + "x");
      }
    }
    out.println("-".repeat(WIDTH));
  }

  private static String title(UpdatesCase scenario, UpdatesPeer peer) {
    if (peer != UpdatesPeer.GIT) {
      return peer.title();
    }
    return switch (scenario.operation()) {
      case PACK -> "git pack-refs, a process a run";
      case AVAILABILITY -> "git update-ref, kept; locks too";
      default -> "git update-ref, kept running";
    };
  }

  private static String number(OptionalDouble number, double unit) {
    return number.isPresent() ? Numbers.threeDigits(number.getAsDouble() / unit) : "";
  }
}
