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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport.Outcome;

/**
 * What came of compacting a cache.
 *
 * @param cache its name
 * @param detail why nothing was done, for people; empty if something was, or nothing had to be
 * @param report what was done
 */
record CompactResult(String cache, String detail, CompactReport report) {
  static CompactResult of(String cache, CompactReport report) {
    return new CompactResult(
        cache,
        switch (report.outcome()) {
          case REBUILT, NOTHING_TO_GAIN -> "";
          case NO_FILE -> "it has no file, see show";
          case CANCELLED -> "interrupted; the file stays as it was";
          case BUSY -> "it is being rebuilt already, try again later";
          case ABANDONED ->
              "the disk has no room for a second file, or failed (see the log); the file stays as it"
                  + " was";
        },
        report);
  }

  static CompactResult refused(String cache, String reason) {
    return new CompactResult(cache, reason, new CompactReport(Outcome.ABANDONED, 0, 0, 0, 0));
  }

  boolean isGood() {
    return report.outcome() == Outcome.REBUILT || report.outcome() == Outcome.NOTHING_TO_GAIN;
  }
}
