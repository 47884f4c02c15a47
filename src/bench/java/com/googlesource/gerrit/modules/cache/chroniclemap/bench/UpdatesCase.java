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
 * An update of a repository with so many refs, by a number of writers.
 *
 * @param durable {@code core.fsyncRefFiles}
 */
record UpdatesCase(UpdatesOperation operation, int refs, boolean durable, int writers)
    implements Case {
  @Override
  public String title() {
    return operation.title();
  }

  @Override
  public String nameOf(String quantity) {
    return quantity
        + (durable ? ", durable" : "")
        + (writers == 1 ? "" : ", " + writers + " writers")
        + ", "
        + Bench.refs(refs);
  }

  /** How many times as fast; of many writers, how many times as many in a second. */
  @Override
  public double times(Samples ours, Samples theirs) {
    return writers == 1
        ? Case.super.times(ours, theirs)
        : ours.opsPerSecond() / theirs.opsPerSecond();
  }

  @Override
  public List<Figure> figures(Comparison<?> result) {
    return result.inMillis(title(), writers > 1);
  }

  @Override
  public String toString() {
    return nameOf(title());
  }
}
