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

/** This module's samples of a scenario beside those of another. */
record Comparison(Scenario scenario, Samples ours, Peer peer, Samples theirs) {
  /**
   * One figure of both, as {@code --json} writes it.
   *
   * @param ratio more than 1 if ours is better
   */
  record Figure(String name, String unit, double ours, double peer, double ratio) {}

  double throughputRatio() {
    return ours.opsPerSecond() / theirs.opsPerSecond();
  }

  double latencyRatio(double percent) {
    return theirs.micros(percent) / ours.micros(percent);
  }

  List<Figure> figures() {
    List<Figure> all = new ArrayList<>();
    all.add(
        new Figure(
            name(scenario.operation().title()),
            "ops/s",
            rounded(ours.opsPerSecond()),
            rounded(theirs.opsPerSecond()),
            rounded(throughputRatio())));
    all.add(latency("p50", 50));
    all.add(latency("p99", 99));
    all.add(latency("p99.9", 99.9));
    return all;
  }

  private Figure latency(String name, double percent) {
    return new Figure(
        name(scenario.operation().callTitle() + " " + name),
        "us",
        rounded(ours.micros(percent)),
        rounded(theirs.micros(percent)),
        rounded(latencyRatio(percent)));
  }

  private String name(String quantity) {
    return scenario.nameOf(quantity) + ", vs " + peer.title();
  }

  /** More digits would say nothing. */
  private static double rounded(double figure) {
    return figure >= 1000 ? Math.rint(figure) : Math.rint(figure * 1000) / 1000;
  }
}
