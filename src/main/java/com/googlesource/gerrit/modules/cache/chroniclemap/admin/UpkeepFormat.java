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

import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.io.PrintWriter;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/**
 * A formatter of the results of long work, as a table or as JSON. The names of the JSON fields are
 * documented and never change.
 */
final class UpkeepFormat {
  private static final int NAME_WIDTH = 25;
  private static final String ROW = "%-" + NAME_WIDTH + "s %8s %8s %8s %8s  %s";

  private UpkeepFormat() {}

  static JsonObject json(UpkeepResult result) {
    JsonObject out = new JsonObject();
    out.addProperty("name", result.cache());
    out.addProperty("result", CachesJson.lower(result.outcome()));
    out.addProperty("detail", result.detail());
    for (Metric<?> metric : result.figures().metrics()) {
      long value = result.figures().get(metric.name());
      boolean isFlag = metric.unit().equals("flag");
      out.add(metric.name(), isFlag ? new JsonPrimitive(value == 1) : new JsonPrimitive(value));
    }
    return out;
  }

  static JsonObject json(List<UpkeepResult> results) {
    JsonObject root = new JsonObject();
    root.add("caches", CachesJson.array(results, UpkeepFormat::json));
    return root;
  }

  /**
   * Prints a {@link TextTable}: a line for each cache, a line for all, and notes on single caches.
   */
  static void print(PrintWriter out, List<UpkeepResult> results) {
    List<Metric<?>> figures =
        results.stream()
            .flatMap(result -> result.figures().metrics().stream())
            .filter(metric -> !metric.meaning().isEmpty())
            .distinct()
            .toList();
    TextTable table = new TextTable(out, ROW);
    table.row("Cache", cells(figures, Metric::meaning, "Result"));
    table.rule();
    for (UpkeepResult result : results) {
      String name = TextTable.shorten(result.cache(), NAME_WIDTH);
      table.row(name, cells(figures, m -> result.figures().text(m.name()), result.shown()));
    }
    table.rule();
    ToLongFunction<Metric<?>> sum =
        metric -> results.stream().mapToLong(r -> r.figures().get(metric.name())).sum();
    String all = Units.counted(results.size(), "cache", "caches");
    table.row(all, cells(figures, metric -> metric.format(sum.applyAsLong(metric)), ""));
    table.notes(
        results.stream()
            .filter(result -> !result.note().isEmpty())
            .map(result -> result.cache() + ": " + result.note())
            .toList());
  }

  private static String cells(
      List<Metric<?>> figures, Function<Metric<?>, String> cell, String last) {
    return figures.stream().map(cell).collect(Collectors.joining("|")) + "|" + last;
  }
}
