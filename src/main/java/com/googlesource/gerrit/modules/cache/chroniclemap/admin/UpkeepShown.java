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

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Prints the results of long-running commands, as a table or as JSON. The names of the JSON fields
 * are documented and never change.
 */
final class UpkeepShown {
  private static final int NAME_WIDTH = 44;
  private static final String ROW = "%-" + NAME_WIDTH + "s %8s %8s %8s %9s   %s";

  private UpkeepShown() {}

  /** A column of figures. The last line of the table has their sum. */
  record Column(String head, String figure, LongFunction<String> inPrint) {
    static final Column TIME = new Column("Time", "millis", Units::millis);

    /** The sum of the figures of results. */
    String text(Stream<UpkeepResult> results) {
      return inPrint.apply(results.mapToLong(result -> result.figure(figure)).sum());
    }
  }

  static JsonObject json(UpkeepResult result) {
    JsonObject out = new JsonObject();
    out.addProperty("name", result.cache());
    out.addProperty("result", result.outcome().name().toLowerCase(Locale.ROOT));
    out.addProperty("detail", result.detail());
    result.figures().forEach((name, figure) -> out.add(name, CachesJson.GSON.toJsonTree(figure)));
    return out;
  }

  static JsonObject json(List<UpkeepResult> results) {
    JsonArray caches = new JsonArray();
    results.forEach(result -> caches.add(json(result)));
    JsonObject root = new JsonObject();
    root.add("caches", caches);
    return root;
  }

  /**
   * Prints a table of {@link Tables#WIDTH} columns: a line for each cache, a line for all, and
   * notes on single caches.
   */
  static void print(PrintWriter out, List<Column> columns, List<UpkeepResult> results) {
    printRow(out, "Cache", columns, Column::head, "Result");
    Tables.printRule(out);
    for (UpkeepResult result : results) {
      String name = Tables.shorten(result.cache(), NAME_WIDTH);
      printRow(out, name, columns, c -> c.text(Stream.of(result)), result.shown());
    }
    Tables.printRule(out);
    String all = Units.counted(results.size(), "cache", "caches");
    printRow(out, all, columns, column -> column.text(results.stream()), "");
    Tables.printNotes(
        out,
        results.stream()
            .filter(result -> !result.note().isEmpty())
            .map(result -> result.cache() + ": " + result.note())
            .toList());
  }

  private static void printRow(
      PrintWriter out,
      String first,
      List<Column> columns,
      Function<Column, String> cell,
      String last) {
    String figures = columns.stream().map(cell).collect(Collectors.joining("|"));
    Tables.printCells(out, ROW, first, figures + "|" + last);
  }
}
