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

/** What came of one case, this module beside one peer. */
record UpdatesComparison(
    UpdatesCase scenario,
    UpdatesPeer us,
    UpdatesSamples ours,
    UpdatesPeer peer,
    UpdatesSamples theirs) {
  private static final double KILO = 1000;

  /** How many times as fast; of many writers, how many times as many in a second. */
  double times() {
    return scenario.writers() == 1
        ? theirs.millis(50) / ours.millis(50)
        : ours.perSecond() / theirs.perSecond();
  }

  double cpuTimes() {
    return theirs.cpuMillis() / ours.cpuMillis();
  }

  List<Figure> figures() {
    List<Figure> all = new ArrayList<>();
    if (scenario.writers() > 1) {
      all.add(
          new Figure(name(" per second"), "runs/s", ours.perSecond(), theirs.perSecond(), times()));
    }
    all.add(Figure.lessIsBetter(name(""), "ms", ours.millis(50), theirs.millis(50)));
    all.add(Figure.lessIsBetter(name(" p95"), "ms", ours.millis(95), theirs.millis(95)));
    all.add(Figure.lessIsBetter(name(" CPU"), "ms", ours.cpuMillis(), theirs.cpuMillis()));
    if (ours.garbage().isPresent() && theirs.garbage().isPresent()) {
      all.add(
          Figure.lessIsBetter(
              name(" garbage"),
              "KB",
              ours.garbage().getAsDouble() / KILO,
              theirs.garbage().getAsDouble() / KILO));
    }
    if (ours.lockedMillis().isPresent() && theirs.lockedMillis().isPresent()) {
      all.add(
          Figure.lessIsBetter(
              name(" packed-refs.lock held"),
              "ms",
              ours.lockedMillis().getAsDouble(),
              theirs.lockedMillis().getAsDouble()));
    }
    return all;
  }

  private String name(String quantity) {
    String rewrite = us == UpdatesPeer.OURS_BY_REWRITE ? " by rewrite" : "";
    return scenario.nameOf(scenario.operation().title() + rewrite + quantity)
        + ", vs "
        + peer.title();
  }

  @Override
  public String toString() {
    return name("");
  }
}
