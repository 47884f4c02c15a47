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
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** This module's samples of a case beside those of another. */
record Comparison<C extends Case>(C scenario, Samples ours, Peer peer, Samples theirs) {
  /** What {@code --json} writes: no ratio of who still gets faster, which would say nothing. */
  List<? extends Record> figures() {
    List<Figure> figures = scenario.figures(this);
    return ours.isWarm() && theirs.isWarm()
        ? figures
        : figures.stream().map(Figure::alone).toList();
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
