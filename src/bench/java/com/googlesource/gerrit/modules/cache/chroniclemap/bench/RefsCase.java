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

import java.util.List;
import java.util.Locale;

/**
 * One line of the results: an operation on a repository with so many refs, by a number of threads.
 *
 * @param trust {@code core.trustStat}; or {@link #REFTABLE} for refs that are not in files
 */
record RefsCase(RefsOperation operation, int refs, String trust, int threads) implements Case {
  static final String ALWAYS = "always";
  static final String AFTER_OPEN = "after_open";
  static final String NEVER = "never";
  static final String REFTABLE = "reftable";

  boolean isReftable() {
    return trust.equals(REFTABLE);
  }

  @Override
  public String title() {
    return operation.title();
  }

  @Override
  public List<Figure> figures(Comparison<?, ?> result) {
    return operation.once()
        ? List.of(result.less(title(), "us", samples -> samples.micros(50)))
        : Case.super.figures(result);
  }

  static String count(int refs) {
    if (refs % 1_000_000 == 0) {
      return refs / 1_000_000 + "M refs";
    }
    return refs % 1000 == 0 ? refs / 1000 + "k refs" : refs + " refs";
  }

  @Override
  public String nameOf(String quantity) {
    return String.format(
        Locale.ROOT,
        "%s, %s, %s, %d %s",
        quantity,
        count(refs),
        trust,
        threads,
        threads == 1 ? "thread" : "threads");
  }

  @Override
  public String toString() {
    return nameOf(operation.title());
  }
}
