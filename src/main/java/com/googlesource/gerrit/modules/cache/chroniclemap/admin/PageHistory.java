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

import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.cell;

import com.google.common.collect.ImmutableList;
import com.google.gerrit.common.Nullable;
import java.time.Instant;
import java.util.function.Function;

/**
 * The history on the page: the last rates, and all of it as CSV.
 *
 * @param samples those of the time that is shown, the newest one last
 */
record PageHistory(ImmutableList<Sample> samples) {
  /** Returns those of the last hours. */
  static PageHistory last(ImmutableList<Sample> samples, int hours) {
    if (samples.isEmpty()) {
      return new PageHistory(samples);
    }
    long from = samples.get(samples.size() - 1).millis() - hours * 3_600_000L;
    return new PageHistory(
        samples.stream()
            .filter(sample -> sample.millis() >= from)
            .collect(ImmutableList.toImmutableList()));
  }

  /** Returns all samples of a subject, a line for each, with the figures by their names. */
  String csv(Function<Sample, Figures> subject) {
    StringBuilder out = new StringBuilder();
    for (Sample sample : samples) {
      @Nullable Figures figures = subject.apply(sample);
      if (figures != null) {
        if (out.isEmpty()) {
          out.append("time");
          figures.forEach((metric, value) -> out.append(',').append(metric.shortName()));
          out.append('\n');
        }
        out.append(Instant.ofEpochMilli(sample.millis()));
        figures.forEach((metric, value) -> out.append(',').append(value));
        out.append('\n');
      }
    }
    return out.toString();
  }

  /** Returns the rise of counts in the last interval, a second; negative if it is unknown. */
  double rate(Function<Sample, Figures> subject, String... names) {
    int last = samples.size() - 1;
    @Nullable Figures before = last < 1 ? null : subject.apply(samples.get(last - 1));
    @Nullable Figures after = last < 1 ? null : subject.apply(samples.get(last));
    if (before == null || after == null) {
      return -1;
    }
    long rise = 0;
    for (String name : names) {
      rise += Math.max(0, after.get(name) - before.get(name));
    }
    long millis = samples.get(last).millis() - samples.get(last - 1).millis();
    return millis <= 0 ? -1 : 1000.0 * rise / millis;
  }

  static PageTable.Cell rateCell(double rate) {
    return cell(rate < 0 ? "" : Units.perSecond(rate));
  }
}
