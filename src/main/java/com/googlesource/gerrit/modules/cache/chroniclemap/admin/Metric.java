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

import static com.google.gerrit.metrics.Description.Units.BYTES;
import static com.google.gerrit.metrics.Description.Units.MICROSECONDS;
import static com.google.gerrit.metrics.Description.Units.NANOSECONDS;

import com.google.common.collect.ImmutableList;
import com.google.gerrit.metrics.Description;
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counter;
import com.googlesource.gerrit.modules.cache.chroniclemap.counting.Counters;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * A figure of a report that Gerrit publishes as a metric.
 *
 * @param <R> the type of the report
 * @param prefix the beginning of its name, such as {@code caches/chroniclemap/}
 * @param shortName the rest of its name, such as {@code hits}
 * @param cumulative whether the figure only ever rises while the server runs
 * @param subject of which it is, for people, such as {@code Disk cache: }
 * @param shortMeaning what the figure means, after that
 * @param unit the unit of the figure
 * @param value reads the figure from a report
 */
record Metric<R>(
    String prefix,
    String shortName,
    boolean cumulative,
    String subject,
    String shortMeaning,
    String unit,
    ToLongFunction<R> value) {

  String name() {
    return prefix + shortName;
  }

  Description description() {
    Description description = new Description(subject + shortMeaning).setUnit(unit);
    return cumulative ? description.setCumulative() : description.setGauge();
  }

  /** Whether it is a figure of a {@link CacheMetrics.Percentile}. */
  boolean isLatency() {
    return shortName.contains("_latency_");
  }

  long of(R report) {
    return value.applyAsLong(report);
  }

  /** Formats a value for people. */
  String format(long value) {
    return switch (unit) {
      case BYTES -> Units.bytes(value);
      case NANOSECONDS -> Units.nanos(value);
      case MICROSECONDS -> Units.nanos(1000 * value);
      case "millis" -> Units.millis(value);
      default -> Units.count(value);
    };
  }

  /** A builder of the metrics of one kind of report. */
  static final class Table<R> {
    private final ImmutableList.Builder<Metric<R>> metrics = ImmutableList.builder();
    private final String prefix;
    private final String subject;

    /**
     * Starts without any metric.
     *
     * @param prefix the start of all names
     * @param subject the start of all meanings
     */
    Table(String prefix, String subject) {
      this.prefix = prefix;
      this.subject = subject;
    }

    Table<R> gauge(String name, String meaning, String unit, ToLongFunction<R> value) {
      metrics.add(new Metric<>(prefix, name, false, subject, meaning, unit, value));
      return this;
    }

    Table<R> count(String name, String meaning, String unit, ToLongFunction<R> value) {
      metrics.add(new Metric<>(prefix, name, true, subject, meaning, unit, value));
      return this;
    }

    /**
     * Adds the counts of a part of the report.
     *
     * @param any counts of this kind
     */
    <C extends Counters> Table<R> counts(C any, Function<R, C> part) {
      for (int i = 0; i < any.all().size(); i++) {
        int place = i;
        Counter c = any.all().get(i);
        count(c.name, c.meaning, c.unit, report -> part.apply(report).all().get(place).sum());
      }
      return this;
    }

    /** Adds the metrics of a part of the report, under this table's prefix and subject. */
    <P> Table<R> addAll(List<Metric<P>> others, Function<R, P> part) {
      for (Metric<P> m : others) {
        ToLongFunction<R> value = report -> m.of(part.apply(report));
        metrics.add(
            new Metric<>(
                prefix, m.shortName, m.cumulative, subject, m.shortMeaning, m.unit, value));
      }
      return this;
    }

    ImmutableList<Metric<R>> all() {
      return metrics.build();
    }
  }
}
