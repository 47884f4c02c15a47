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

import static com.google.gerrit.metrics.Description.Units.BYTES;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Lists;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.TextTable.Screen;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.util.List;

/**
 * The result of a verify of one cache, and its formats: a table, and JSON, whose names are
 * documented and never change.
 *
 * @param cache the name of the cache
 * @param repair whether damaged entries were to be dropped
 * @param report what was found
 * @param why why the work is incomplete, for people; empty if it is complete
 */
record VerifyResult(String cache, boolean repair, VerifyReport report, String why) {
  private static final int NAME_WIDTH = 25;
  private static final String ROW = " %8s %8s %8s %8s  %s";

  private static final ImmutableList<Metric<VerifyReport>> FIGURES =
      new Metric.Table<VerifyReport>("", "")
          .gauge("entries", "sound entries", "entries", VerifyReport::values)
          .gauge("bytes", "size of keys and values", BYTES, VerifyReport::bytes)
          .gauge("damaged", "damaged entries", "entries", VerifyReport::damaged)
          .gauge("millis", "duration", "millis", VerifyReport::millis)
          .all();

  enum Verdict {
    /** All entries were checked and none is damaged. */
    SOUND("sound", ""),
    /** The damaged entries were dropped. */
    REPAIRED("repaired", ""),
    /** Damaged entries were found and are still there. */
    DAMAGED("DAMAGED", "damaged; verify --repair drops the damaged entries"),
    /** Not all entries were checked. */
    INCOMPLETE("NOT COMPLETE", "not checked completely");

    /** As the table shows it. */
    final String shown;

    /** Why the command fails; empty if it does not. */
    private final String failure;

    Verdict(String shown, String failure) {
      this.shown = shown;
      this.failure = failure;
    }
  }

  /** The result for a cache of which nothing was checked. */
  static VerifyResult none(String cache, boolean repair, String why) {
    return new VerifyResult(cache, repair, new VerifyReport(0, 0, 0, false, false, 0), why);
  }

  Verdict verdict() {
    return report.repaired()
        ? Verdict.REPAIRED
        : report.damaged() > 0
            ? Verdict.DAMAGED
            : report.complete() ? Verdict.SOUND : Verdict.INCOMPLETE;
  }

  /** Why the command fails, without the name of the cache; empty if it does not. */
  String failure() {
    return repair && verdict() == Verdict.DAMAGED
        ? "damaged, and could not be repaired"
        : verdict().failure;
  }

  JsonObject json() {
    JsonObject out = new JsonObject();
    out.addProperty("name", cache);
    out.addProperty("result", CachesJson.lower(verdict()));
    out.addProperty("detail", why);
    Figures.of(FIGURES, report).addTo(out, Metric::name);
    out.addProperty("complete", report.complete());
    return out;
  }

  static JsonObject json(List<VerifyResult> results) {
    JsonObject root = new JsonObject();
    root.add("caches", CachesJson.byName(results, VerifyResult::cache, VerifyResult::json));
    return root;
  }

  /** Prints a {@link TextTable}: a line for each cache, a line for all, and why some are not. */
  static void print(Screen out, List<VerifyResult> results) {
    TextTable table = new TextTable(out, NAME_WIDTH, ROW);
    table.row("Cache", "Entries|Bytes|Damaged|Time|Result");
    table.rule();
    for (VerifyResult result : results) {
      table.row(result.cache, cells(Figures.of(FIGURES, result.report)) + result.verdict().shown);
    }
    table.rule();
    List<VerifyReport> reports = Lists.transform(results, VerifyResult::report);
    table.row(
        Units.counted(results.size(), "cache", "caches"), cells(Figures.ofAll(FIGURES, reports)));
    table.notes(
        results.stream()
            .filter(result -> !result.why.isEmpty())
            .map(result -> result.cache + ": " + result.why)
            .toList());
  }

  private static String cells(Figures figures) {
    return figures.fill("{entries}|{bytes}|{damaged}|{millis}|");
  }
}
