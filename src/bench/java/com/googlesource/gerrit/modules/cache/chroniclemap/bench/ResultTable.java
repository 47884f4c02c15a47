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
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;

/** The results of a family of cases: for each, a line of each peer. */
final class ResultTable {
  private static final int WIDTH_OF_A_PEER = 16;
  private static final int WIDTH = 11;

  /**
   * A line.
   *
   * @param beside this module beside this peer; empty for this module itself
   * @param timesSmall how many times as long it takes as in a small repository
   */
  record Row(
      String scenario,
      String peer,
      Samples samples,
      Optional<? extends Comparison<?>> beside,
      Optional<Double> timesSmall) {}

  private record Column(String title, Function<Row, String> text) {}

  private static final List<Column> COLUMNS =
      List.of(
          new Column("calls", row -> Figure.whole((double) row.samples.callCount())),
          new Column(
              "refused",
              row ->
                  row.samples.refused() == 0 ? "" : Figure.whole((double) row.samples.refused())),
          new Column("p50", row -> millis(row.samples.millis(50))),
          new Column("p95", row -> millis(row.samples.millis(95))),
          new Column("p99", row -> millis(row.samples.millis(99))),
          new Column("p99.9", row -> millis(row.samples.millis(99.9))),
          new Column("a second", row -> Figure.threeDigits(row.samples.opsPerSecond())),
          new Column("CPU", row -> number(row.samples.cpuMillis())),
          new Column("garbage", row -> number(row.samples.garbage())),
          new Column("ours", row -> row.beside.map(ResultTable::times).orElse("")),
          new Column("x small", row -> row.timesSmall.map(Figure::threeDigits).orElse("")));

  private ResultTable() {}

  /** Prints it, without the columns in which nobody has anything. */
  static void print(PrintStream out, List<Row> rows) {
    List<Column> columns =
        COLUMNS.stream()
            .filter(column -> rows.stream().anyMatch(row -> !column.text.apply(row).isEmpty()))
            .toList();
    String rule = "-".repeat(WIDTH_OF_A_PEER + WIDTH * columns.size());
    out.println("A call: milliseconds, of the processor too; bytes of garbage.");
    out.println("Ours: this module is so many times as good; ? where one still got faster.");
    if (rows.stream().anyMatch(row -> row.timesSmall.isPresent())) {
      out.println("x small: so many times as long as in a small repository.");
    }
    out.println(line("", columns.stream().map(Column::title).toList()));
    String scenario = "";
    for (Row row : rows) {
      if (!row.scenario.equals(scenario)) {
        out.println(rule);
        out.println(row.scenario);
        scenario = row.scenario;
      }
      out.println(line(row.peer, columns.stream().map(each -> each.text.apply(row)).toList()));
    }
    out.println(rule);
  }

  private static String line(String peer, List<String> texts) {
    StringBuilder line =
        new StringBuilder(String.format(Locale.ROOT, "%-" + WIDTH_OF_A_PEER + "s", "  " + peer));
    texts.forEach(text -> line.append(String.format(Locale.ROOT, "%" + WIDTH + "s", text)));
    return line.toString();
  }

  private static String times(Comparison<?> beside) {
    return Figure.threeDigits(beside.times()) + (beside.isWarm() ? "x" : "?");
  }

  private static String millis(double millis) {
    return String.format(Locale.ROOT, millis < 1 ? "%.5f" : "%.2f", millis);
  }

  private static String number(OptionalDouble number) {
    return number.isPresent() ? Figure.threeDigits(number.getAsDouble()) : "";
  }
}
