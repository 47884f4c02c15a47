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
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;

/** The work of reading and checking every entry of a cache on disk. */
record VerifyWork(CacheInventory inventory, boolean repair) {
  /** The figures by their names in JSON. Those with a head are columns of the table. */
  static final ImmutableList<Metric<VerifyReport>> FIGURES =
      new Metric.Table<VerifyReport>("", "")
          .gauge("entries", "Entries", "entries", VerifyReport::values)
          .gauge("bytes", "Bytes", BYTES, VerifyReport::bytes)
          .gauge("damaged", "Damaged", "entries", VerifyReport::damaged)
          .gauge("complete", "", "flag", report -> report.complete() ? 1 : 0)
          .gauge("millis", "Time", "millis", VerifyReport::millis)
          .all();

  /** How often a check is tried if a flush replaces its file each time. */
  private static final int MAX_ATTEMPTS = 5;

  enum Verdict {
    /** All entries were checked and none is damaged. */
    SOUND("sound"),
    /** The damaged entries were dropped. */
    REPAIRED("repaired"),
    /** Damaged entries were found and are still there. */
    DAMAGED("DAMAGED"),
    /** Not all entries were checked. */
    INCOMPLETE("NOT COMPLETE");

    private final String shown;

    Verdict(String shown) {
      this.shown = shown;
    }
  }

  /**
   * Makes the work.
   *
   * @param repair whether to drop damaged entries
   */
  static UpkeepWork of(CacheInventory inventory, boolean repair) {
    return new UpkeepWork(
        repair ? "repair" : "verify",
        new VerifyWork(inventory, repair)::work,
        (cache, why) -> result(cache, new VerifyReport(0, 0, 0, false, false, 0), why, repair));
  }

  private UpkeepResult work(String cache, Progress progress) throws Exception {
    VerifyReport report = inventory.verify(cache, repair, progress);
    for (int i = 1;
        i < MAX_ATTEMPTS && !report.complete() && !progress.isCancelled() && hasFile(cache);
        i++) {
      report = inventory.verify(cache, repair, progress);
    }
    return result(cache, report, whyIncomplete(cache, progress), repair);
  }

  private String whyIncomplete(String cache, Progress progress) {
    if (progress.isCancelled()) {
      return "interrupted";
    }
    return hasFile(cache)
        ? "its file was replaced several times meanwhile, or could not be read (see the log)"
        : "it has no file; see the show command";
  }

  private boolean hasFile(String cache) {
    return inventory.reports().stream()
        .filter(report -> report.name().equals(cache))
        .map(CacheReport::disk)
        .anyMatch(disk -> disk.state() == StoreState.READY);
  }

  static UpkeepResult result(
      String cache, VerifyReport report, String whyIncomplete, boolean repair) {
    Verdict verdict =
        report.repaired()
            ? Verdict.REPAIRED
            : report.damaged() > 0
                ? Verdict.DAMAGED
                : report.complete() ? Verdict.SOUND : Verdict.INCOMPLETE;
    String detail = verdict == Verdict.REPAIRED || report.complete() ? "" : whyIncomplete;
    return new UpkeepResult(
        cache,
        verdict,
        verdict.shown,
        detail,
        detail,
        switch (verdict) {
          case SOUND, REPAIRED -> "";
          case DAMAGED ->
              repair
                  ? "damaged, and could not be repaired"
                  : "damaged; verify --repair drops the damaged entries";
          case INCOMPLETE -> "not checked completely";
        },
        Figures.of(FIGURES, report));
  }
}
