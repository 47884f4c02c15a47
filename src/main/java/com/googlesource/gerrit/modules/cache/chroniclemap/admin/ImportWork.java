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
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The maker of work that imports the values of a cache from Gerrit's H2 file. */
final class ImportWork {
  /** The figures by their names in JSON. Those with a head are columns of the table. */
  static final ImmutableList<Metric<ImportReport>> FIGURES =
      new Metric.Table<ImportReport>("", "")
          .gauge("rows", "In H2", "entries", ImportReport::rows)
          .gauge("read", "", "entries", ImportReport::read)
          .gauge("imported", "Imported", "entries", ImportReport::imported)
          .gauge("bytes", "Bytes", BYTES, ImportReport::bytes)
          .gauge("known", "", "entries", ImportReport::known)
          .gauge("other_version", "", "entries", ImportReport::otherVersion)
          .gauge("too_old", "", "entries", ImportReport::tooOld)
          .gauge("too_large", "", "entries", ImportReport::tooLarge)
          .gauge("millis", "Time", "millis", ImportReport::millis)
          .all();

  private ImportWork() {}

  /**
   * Makes the work.
   *
   * @param dryRun whether to count the values and change nothing
   */
  static UpkeepWork of(CacheInventory inventory, boolean dryRun) {
    return new UpkeepWork(
        "import",
        (cache, progress) -> result(inventory.importFromH2(cache, dryRun, progress), dryRun),
        (cache, why) -> result(ImportReport.of(cache, State.FAILED, why), dryRun));
  }

  static UpkeepResult result(ImportReport report, boolean dryRun) {
    State state = report.state();
    return new UpkeepResult(
        report.cache(),
        state,
        switch (state) {
          case NOTHING -> "nothing in H2";
          case WAITING -> "waiting";
          case RUNNING -> "running, " + Units.percent(report.read(), report.rows());
          case DONE -> dryRun && report.imported() > 0 ? "would be imported" : "done";
          case FULL -> "full";
          case INTERRUPTED -> "NOT DONE";
          case FAILED -> "FAILED";
          case IN_USE -> "skipped";
        },
        report.detail(),
        note(report),
        state == State.FAILED || state == State.INTERRUPTED ? "not imported" : "",
        Figures.of(FIGURES, report));
  }

  /** Why values were skipped; empty if none was. */
  private static String note(ImportReport report) {
    return Stream.of(
            counted(report.known(), "skipped, as the cache has newer ones"),
            counted(report.otherVersion(), "of another version of Gerrit"),
            counted(report.tooOld(), "too old"),
            counted(report.tooLarge(), "too large"),
            report.state() == State.FULL ? "no room for the others" : "",
            report.state() == State.NOTHING ? "" : report.detail())
        .filter(part -> !part.isEmpty())
        .collect(Collectors.joining("; "));
  }

  private static String counted(long count, String what) {
    return count == 0 ? "" : Units.count(count) + " " + what;
  }
}
