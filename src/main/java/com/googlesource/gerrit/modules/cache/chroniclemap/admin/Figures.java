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

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * The figures of one subject, such as a cache, at one moment, by their names in the metrics.
 *
 * @param metrics what each figure is
 * @param values in the order of the metrics
 */
record Figures(ImmutableList<Metric<?>> metrics, long[] values) {
  /** The value of a figure that does not exist. */
  static final long NONE = -1;

  private static final Pattern NAME = Pattern.compile("\\{(\\w+)\\}");

  /** Reads the figures of a report. */
  static <R> Figures of(List<Metric<R>> metrics, R report) {
    return new Figures(
        ImmutableList.copyOf(metrics), metrics.stream().mapToLong(m -> m.of(report)).toArray());
  }

  /** Sums up the figures of several reports, but takes the highest one of a latency. */
  static <R> Figures ofAll(List<Metric<R>> metrics, List<R> reports) {
    return new Figures(
        ImmutableList.copyOf(metrics),
        metrics.stream()
            .mapToLong(
                metric -> {
                  LongStream each = reports.stream().mapToLong(metric::of);
                  return metric.isLatency() ? each.max().orElse(0) : each.sum();
                })
            .toArray());
  }

  /** Returns these figures and others. */
  Figures and(Figures others) {
    return new Figures(
        ImmutableList.copyOf(Iterables.concat(metrics, others.metrics)),
        LongStream.concat(LongStream.of(values), LongStream.of(others.values)).toArray());
  }

  private int find(String name) {
    return Iterables.indexOf(metrics, metric -> metric.shortName().equals(name));
  }

  /** Returns a figure, or {@link #NONE}. */
  long get(String name) {
    int index = find(name);
    return index < 0 ? NONE : values[index];
  }

  /** What a figure is, for people. */
  String meaning(String name) {
    return metrics.get(find(name)).shortMeaning();
  }

  /** Formats a figure for people. */
  String text(String name) {
    int index = find(name);
    return metrics.get(index).format(values[index]);
  }

  /** Replaces each name in braces by the text of that figure. */
  String fill(String sentence) {
    return NAME.matcher(sentence).replaceAll(name -> Matcher.quoteReplacement(text(name.group(1))));
  }

  /** Adds these figures to JSON, each with the name that is given to its metric. */
  JsonObject addTo(JsonObject out, Function<Metric<?>, String> name) {
    forEach((metric, value) -> out.addProperty(name.apply(metric), value));
    return out;
  }

  void forEach(BiConsumer<Metric<?>, Long> action) {
    IntStream.range(0, values.length).forEach(i -> action.accept(metrics.get(i), values[i]));
  }
}
