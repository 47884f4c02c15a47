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
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** This module's samples of a case beside those of another. */
public record Comparison<C extends Case>(
    C scenario, Samples ours, Bench.Peer peer, Samples theirs) {
  /**
   * What {@code --json} writes: nothing where one was only refused, and no ratio of who still gets
   * faster, which would say nothing.
   */
  List<? extends Record> figures() {
    if (ours.callCount() == 0 || theirs.callCount() == 0) {
      return List.of();
    }
    List<Figure> figures = scenario.figures(this);
    return isWarm() ? figures : figures.stream().map(Figure::alone).toList();
  }

  boolean isWarm() {
    return ours.isWarm() && theirs.isWarm();
  }

  /** How many times as good ours is. */
  double times() {
    return scenario.times(ours, theirs);
  }

  /** Of calls that take milliseconds: how many there were, and what each took. */
  public List<Figure> inMillis(String title, boolean withRate) {
    List<Figure> all = new ArrayList<>();
    if (withRate) {
      all.add(more(title + " per second", "calls/s", Samples::opsPerSecond));
    }
    for (int percent : new int[] {50, 95, 99}) {
      all.add(less(title + " p" + percent, "ms", samples -> samples.millis(percent)));
    }
    all.addAll(lessIfMeasured(title + " CPU", "ms", 1, Samples::cpuMillis));
    all.addAll(lessIfMeasured(title + " garbage", "KB", 1000, Samples::garbage));
    return all;
  }

  /** A figure of which more is better. */
  Figure more(String quantity, String unit, ToDoubleFunction<Samples> value) {
    return Figure.moreIsBetter(
        name(quantity), unit, value.applyAsDouble(ours), value.applyAsDouble(theirs));
  }

  /** A figure of which less is better. */
  Figure less(String quantity, String unit, ToDoubleFunction<Samples> value) {
    return Figure.lessIsBetter(
        name(quantity), unit, value.applyAsDouble(ours), value.applyAsDouble(theirs));
  }

  /**
   * The same; none where it was not measured of both.
   *
   * @param parts of which the unit has so many
   */
  List<Figure> lessIfMeasured(
      String quantity, String unit, double parts, Function<Samples, OptionalDouble> value) {
    return value.apply(ours).isPresent() && value.apply(theirs).isPresent()
        ? List.of(less(quantity, unit, samples -> value.apply(samples).getAsDouble() / parts))
        : List.of();
  }

  private String name(String quantity) {
    return scenario.nameOf(quantity) + ", vs " + peer.title();
  }
}
