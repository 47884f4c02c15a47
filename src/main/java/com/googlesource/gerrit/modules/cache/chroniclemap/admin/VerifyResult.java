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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;

/**
 * What came of verifying a cache.
 *
 * @param cache its name
 * @param verdict in one word
 * @param detail why it was not verified, for people; empty if it was
 * @param report what was counted
 */
record VerifyResult(String cache, Verdict verdict, String detail, VerifyReport report) {
  private static final VerifyReport NOTHING = new VerifyReport(0, 0, 0, false, false, 0);

  enum Verdict {
    /** All was checked and nothing is damaged. */
    SOUND,
    /** What is damaged was dropped. */
    REPAIRED,
    /** Something is damaged, and still there. */
    DAMAGED,
    /** Not all was checked. */
    INCOMPLETE
  }

  static VerifyResult of(String cache, VerifyReport report, String whyIncomplete) {
    if (report.repaired()) {
      return new VerifyResult(cache, Verdict.REPAIRED, "", report);
    }
    if (report.damaged() > 0) {
      return new VerifyResult(
          cache, Verdict.DAMAGED, report.complete() ? "" : whyIncomplete, report);
    }
    return report.complete()
        ? new VerifyResult(cache, Verdict.SOUND, "", report)
        : new VerifyResult(cache, Verdict.INCOMPLETE, whyIncomplete, report);
  }

  static VerifyResult refused(String cache, String reason) {
    return new VerifyResult(cache, Verdict.INCOMPLETE, reason, NOTHING);
  }

  boolean isGood() {
    return verdict == Verdict.SOUND || verdict == Verdict.REPAIRED;
  }
}
