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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import com.google.common.base.Splitter;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Figure;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritWar;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * A run of {@code bin/bench} in a real Gerrit, which has checked its arguments; and the figures
 * that it writes for {@code --json}.
 */
public final class BenchRun {
  private final List<String> args;
  private final List<Figure> figures = new ArrayList<>();

  BenchRun(String[] args) {
    this.args = List.of(args);
  }

  boolean has(String option) {
    return args.contains(option);
  }

  boolean isQuick() {
    return has("--quick");
  }

  Optional<String> value(String option) {
    int found = args.indexOf(option);
    return found < 0 ? Optional.empty() : Optional.of(args.get(found + 1));
  }

  int number(String option, int otherwise) {
    return value(option).map(Integer::parseInt).orElse(otherwise);
  }

  List<Integer> numbers(String option, String otherwise) {
    return Splitter.on(',')
        .splitToStream(value(option).orElse(otherwise))
        .map(Integer::valueOf)
        .toList();
  }

  /** Whether what has this name is asked for. */
  boolean isWanted(String name) {
    return name.contains(value("--only").orElse(""));
  }

  /**
   * Says what is measured, and where.
   *
   * @param more what else is known of it
   */
  void printHead(String what, String... more) {
    var system = ManagementFactory.getOperatingSystemMXBean();
    say("Command   %s", System.getProperty("bench.command"));
    say("Gerrit    %s, %s", GerritWar.version(), what);
    for (String line : more) {
      say("%s", line);
    }
    say(
        "Machine   %d processors, load %.2f before the run",
        system.getAvailableProcessors(), system.getSystemLoadAverage());
  }

  void addLessIsBetter(String name, String unit, double ours, double peer) {
    if (hasRatio(peer, ours)) {
      figures.add(Figure.lessIsBetter(name, unit, ours, peer));
    }
  }

  void addMoreIsBetter(String name, String unit, double ours, double peer) {
    if (hasRatio(ours, peer)) {
      figures.add(Figure.moreIsBetter(name, unit, ours, peer));
    }
  }

  /** Where nothing was done, there is no such figure. */
  private static boolean hasRatio(double figure, double divisor) {
    return Double.isFinite(figure) && Double.isFinite(divisor) && divisor != 0;
  }

  void writeJson() throws IOException {
    Figure.write(value("--json"), figures);
  }

  static void say(String format, Object... args) {
    System.out.println(String.format(Locale.ROOT, format, args));
  }

  static String decimals(double number) {
    return String.format(Locale.ROOT, number >= 100 ? "%.0f" : "%.2f", number);
  }

  static String refsName(int refs) {
    return refs % 1000 == 0 ? refs / 1000 + "k refs" : refs + " refs";
  }

  /** A number of things, in words. */
  static String counted(int count, String thing) {
    return count + " " + thing + (count == 1 ? "" : "s");
  }
}
