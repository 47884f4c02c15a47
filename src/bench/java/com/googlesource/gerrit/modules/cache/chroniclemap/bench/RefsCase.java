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

/**
 * A lookup in a repository with so many refs, by a number of threads.
 *
 * @param trust {@code core.trustStat}
 */
record RefsCase(RefsOperation operation, int refs, String trust, int threads) implements Case {
  static final String ALWAYS = "always";
  static final String AFTER_OPEN = "after_open";
  static final String NEVER = "never";

  @Override
  public String title() {
    return operation.title();
  }

  @Override
  public List<Figure> figures(Comparison<?> result) {
    return operation.once()
        ? List.of(result.less(title(), "us", samples -> samples.micros(50)))
        : Case.super.figures(result);
  }

  @Override
  public String nameOf(String quantity) {
    return String.join(", ", quantity, Bench.refs(refs), trust, Bench.counted(threads, "thread"));
  }

  @Override
  public String toString() {
    return nameOf(title());
  }
}
