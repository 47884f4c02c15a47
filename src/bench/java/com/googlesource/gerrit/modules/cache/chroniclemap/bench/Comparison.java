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

/** This module's samples of a case beside those of another. */
record Comparison<C extends Case, P extends Contender>(
    C scenario, Samples ours, P peer, Samples theirs) {
  /** Whether they can be compared: a ratio of who still gets faster would say nothing. */
  boolean isWarm() {
    return ours.isWarm() && theirs.isWarm();
  }

  double throughputRatio() {
    return ours.opsPerSecond() / theirs.opsPerSecond();
  }

  double latencyRatio(double percent) {
    return theirs.micros(percent) / ours.micros(percent);
  }

  List<Figure> figures() {
    if (scenario.once()) {
      return List.of(latency(scenario.title(), 50));
    }
    List<Figure> all = new ArrayList<>();
    all.add(
        new Figure(
            name(scenario.title()),
            "ops/s",
            ours.opsPerSecond(),
            theirs.opsPerSecond(),
            throughputRatio()));
    all.add(latency(scenario.callTitle() + " p50", 50));
    all.add(latency(scenario.callTitle() + " p99", 99));
    all.add(latency(scenario.callTitle() + " p99.9", 99.9));
    if (ours.garbage().isPresent() && theirs.garbage().isPresent()) {
      all.add(
          Figure.lessIsBetter(
              name(scenario.callTitle() + " garbage"),
              "B",
              ours.garbage().getAsDouble(),
              theirs.garbage().getAsDouble()));
    }
    return all;
  }

  private Figure latency(String quantity, double percent) {
    return Figure.lessIsBetter(name(quantity), "us", ours.micros(percent), theirs.micros(percent));
  }

  private String name(String quantity) {
    return scenario.nameOf(quantity) + ", vs " + peer.title();
  }
}
