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
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.nanos;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.time;

import com.google.common.collect.ImmutableList;
import com.google.gerrit.common.Nullable;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.stream.Stream;

/**
 * The history on the page as tables, for those who see no charts, and as CSV.
 *
 * @param samples those of the time that is shown, the newest one last
 */
record PageHistory(ImmutableList<Sample> samples) {
  /** The rows of a table. CSV and charts have all samples. */
  private static final int ROWS = 16;

  /** A column, whose cells show what changed between two samples. */
  private record Column(PageTable.Head head, Period cell) {}

  private interface Period {
    PageTable.Cell cell(int from, int to, Function<Sample, Figures> subject);
  }

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

  PageTable ofCaches(Function<Sample, Figures> subject) {
    return table(
        subject,
        rises("Memory hits", "heap_hits"),
        rises("Disk hits", "hits"),
        rises("Misses", "misses"),
        rises("Puts", "puts"),
        rises("Evicted", "evicted"),
        last("Live", "live_bytes", PageTable::bytes),
        last("On disk", "disk_bytes", PageTable::bytes),
        last("Disk read, 99 %", "read_latency_p99", PageTable::nanos),
        last("Put, 99 %", "put_latency_p99", micros -> nanos(1000 * micros)));
  }

  PageTable ofRefs() {
    return table(
        Sample::refs,
        rises("Lookups", "lookups"),
        rises("Files read", "checks"),
        rises("Lists parsed", "parses"),
        rises("Pushes", "pushes", "pushes_left"),
        rises("Fetches by id", "fetches_by_tip", "fetches_by_walk"),
        last("Lists, off heap", "memory_bytes", PageTable::bytes),
        last("Lists, heap", "heap_bytes", PageTable::bytes));
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
    return last < 1 ? -1 : rate(last - 1, last, subject, names);
  }

  private double rate(int from, int to, Function<Sample, Figures> subject, String... names) {
    @Nullable Figures before = subject.apply(samples.get(from));
    @Nullable Figures after = subject.apply(samples.get(to));
    long millis = samples.get(to).millis() - samples.get(from).millis();
    if (before == null || after == null || millis <= 0) {
      return -1;
    }
    long rise = 0;
    for (String name : names) {
      rise += Math.max(0, after.get(name) - before.get(name));
    }
    return 1000.0 * rise / millis;
  }

  static PageTable.Cell rateCell(double rate) {
    return cell(rate < 0 ? "" : Units.perSecond(rate));
  }

  private Column rises(String title, String... names) {
    return new Column(
        PageTable.Head.figure(title, "a second", ""),
        (from, to, subject) -> rateCell(rate(from, to, subject, names)));
  }

  private Column last(String title, String name, LongFunction<PageTable.Cell> cell) {
    return new Column(
        PageTable.Head.figure(title, "", ""),
        (from, to, subject) -> cell.apply(subject.apply(samples.get(to)).get(name)));
  }

  /** Splits the samples into the rows of a table, the newest one first. */
  private PageTable table(Function<Sample, Figures> subject, Column... columns) {
    List<PageTable.Head> heads =
        Stream.concat(
                Stream.of(PageTable.Head.text("From", "", "")),
                Stream.of(columns).map(Column::head))
            .toList();
    PageTable table = new PageTable(heads);
    int last = samples.size() - 1;
    int rows = Math.min(ROWS, last);
    for (int row = rows; row > 0; row--) {
      int from = (row - 1) * last / rows;
      int to = row * last / rows;
      if (subject.apply(samples.get(to)) != null) {
        table.row(
            Stream.concat(
                    Stream.of(time(samples.get(from).millis())),
                    Stream.of(columns).map(column -> column.cell.cell(from, to, subject)))
                .toArray(PageTable.Cell[]::new));
      }
    }
    return table;
  }
}
