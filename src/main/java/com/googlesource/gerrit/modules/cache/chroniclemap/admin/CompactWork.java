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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport.Outcome;

/** Makes the file of a cache as small as its entries allow. */
final class CompactWork {
  /** The figures by their names in JSON. Those with a head are columns of the table. */
  static final ImmutableList<Metric<CompactReport>> FIGURES =
      new Metric.Table<CompactReport>("", "")
          .gauge("entries", "Entries", "entries", CompactReport::entries)
          .gauge("bytes_before", "Before", BYTES, CompactReport::bytesBefore)
          .gauge("bytes_after", "After", BYTES, CompactReport::bytesAfter)
          .gauge("millis", "Time", "millis", CompactReport::millis)
          .all();

  private CompactWork() {}

  static UpkeepWork of(CacheInventory inventory) {
    return new UpkeepWork(
        "compact",
        FIGURES,
        (cache, progress) -> result(cache, inventory.compact(cache, progress)),
        (cache, why) -> result(cache, new CompactReport(Outcome.ABANDONED, 0, 0, 0, 0), why));
  }

  static UpkeepResult result(String cache, CompactReport report) {
    return result(
        cache,
        report,
        switch (report.outcome()) {
          case REBUILT, NOTHING_TO_GAIN -> "";
          case NO_FILE -> "it has no file; see the show command";
          case CANCELLED -> "interrupted; the file was not changed";
          case BUSY -> "the file is being rebuilt already; try again later";
          case ABANDONED ->
              "the disk has no room for a second file, or failed (see the log); the file was not"
                  + " changed";
        });
  }

  private static UpkeepResult result(String cache, CompactReport report, String detail) {
    Outcome outcome = report.outcome();
    boolean done = outcome == Outcome.REBUILT || outcome == Outcome.NOTHING_TO_GAIN;
    return new UpkeepResult(
        cache,
        outcome,
        switch (outcome) {
          case REBUILT -> "rebuilt";
          case NOTHING_TO_GAIN -> "nothing to gain";
          case NO_FILE -> "NO FILE";
          case CANCELLED, BUSY, ABANDONED -> "NOT DONE";
        },
        detail,
        detail,
        done ? "" : cache + " was not compacted",
        Figures.of(FIGURES, report));
  }
}
