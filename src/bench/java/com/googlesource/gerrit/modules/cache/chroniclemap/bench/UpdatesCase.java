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

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * One line of the results: an operation on a repository with so many refs, by a number of writers.
 *
 * @param durable {@code core.fsyncRefFiles}
 */
record UpdatesCase(UpdatesOperation operation, int refs, boolean durable, int writers)
    implements Case {
  private static final double KILO = 1000;

  @Override
  public String title() {
    return operation.title();
  }

  /** Name of what is measured, with the way in which this module did it. */
  String title(Peer us) {
    return title() + (us == UpdatesPeer.OURS_BY_REWRITE ? " by rewrite" : "");
  }

  @Override
  public String nameOf(String quantity) {
    return quantity
        + (durable ? ", durable" : "")
        + (writers == 1 ? "" : ", " + writers + " writers")
        + ", "
        + RefsCase.count(refs);
  }

  /** How many times as fast; of many writers, how many times as many in a second. */
  double times(Samples ours, Samples theirs) {
    return writers == 1
        ? theirs.millis(50) / ours.millis(50)
        : ours.opsPerSecond() / theirs.opsPerSecond();
  }

  @Override
  public List<Figure> figures(Comparison<?, ?> result) {
    String name = title(result.us());
    List<Figure> all = new ArrayList<>();
    if (writers > 1) {
      all.add(result.more(name + " per second", "runs/s", Samples::opsPerSecond));
    }
    all.add(result.less(name, "ms", samples -> samples.millis(50)));
    all.add(result.less(name + " p95", "ms", samples -> samples.millis(95)));
    all.add(result.less(name + " CPU", "ms", Samples::cpuMillis));
    all.addAll(result.lessIfMeasured(name + " garbage", "KB", UpdatesCase::garbageKilo));
    all.addAll(result.lessIfMeasured(name + " packed-refs.lock held", "ms", Samples::lockedMillis));
    return all;
  }

  private static OptionalDouble garbageKilo(Samples samples) {
    OptionalDouble garbage = samples.garbage();
    return garbage.isPresent() ? OptionalDouble.of(garbage.getAsDouble() / KILO) : garbage;
  }

  @Override
  public String toString() {
    return nameOf(title());
  }
}
