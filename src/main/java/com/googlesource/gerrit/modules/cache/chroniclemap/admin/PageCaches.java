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
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.figure;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.link;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.nanos;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskOperation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** The table of caches on the page: what its columns are, its order, and which rows it has. */
final class PageCaches {
  /** A row. */
  private record Row(CacheReport report, Figures figures, List<Problems.Problem> problems) {
    long get(String figure) {
      return figures.get(figure);
    }

    /** Whether the cache was not used since the start, and has nothing. */
    boolean isUnused() {
      return get("entries") == 0
          && get("heap_hits") + get("heap_misses") == 0
          && problems.isEmpty();
    }
  }

  /**
   * A column.
   *
   * @param key its name in the address of the page
   * @param narrow whether it is shown on a phone
   * @param order what it is sorted by; null for the names of the caches
   */
  private record Column(
      String key,
      PageTable.Head head,
      boolean narrow,
      Function<Row, PageTable.Cell> cell,
      Comparator<Row> order) {}

  private static final String NAME = "cache";

  /** The columns of the page of one cache. */
  private static final ImmutableSet<String> SUMMARY =
      ImmutableSet.of("size", "entries", "lookups", "memory", "disk", "evicted", "start");

  private static final Comparator<Row> BY_NAME = Comparator.comparing(row -> row.report.name());

  private final PageQuery query;
  private final PageHistory history;
  private final List<Row> rows = new ArrayList<>();
  private final int unused;
  private final int filtered;

  PageCaches(PageQuery query, PageHistory history, List<CacheReport> caches, Problems problems) {
    this.query = query;
    this.history = history;
    String part = query.filter().toLowerCase(Locale.ROOT);
    int foundUnused = 0;
    int foundOthers = 0;
    for (CacheReport report : caches) {
      Row row = row(report, problems);
      if (!report.name().toLowerCase(Locale.ROOT).contains(part)) {
        foundOthers++;
      } else if (row.isUnused() && query.folded()) {
        foundUnused++;
      } else {
        rows.add(row);
      }
    }
    unused = foundUnused;
    filtered = foundOthers;
    rows.sort(order());
  }

  private static Row row(CacheReport report, Problems problems) {
    Figures figures = Figures.of(CacheMetrics.WITH_HEAP, report);
    return new Row(report, figures, problems.of(report.name()));
  }

  private Comparator<Row> order() {
    String key = query.sort().replaceFirst("^-", "");
    Comparator<Row> order =
        columns().stream()
            .filter(column -> column.key.equals(key))
            .findAny()
            .map(Column::order)
            .orElse(BY_NAME);
    return (query.sort().startsWith("-") ? order.reversed() : order).thenComparing(BY_NAME);
  }

  /** What the template shows above the table: how many caches are left out, and a link to them. */
  Map<String, ?> folding() {
    return Map.of(
        "unused",
        unused,
        "filtered",
        filtered,
        "href",
        query.folded(!query.folded()),
        "open",
        !query.folded());
  }

  PageTable table() {
    ImmutableList<Column> columns = columns();
    PageTable table = new PageTable(columns.stream().map(this::head).toList());
    for (Row row : rows) {
      table.row(
          columns.stream().map(column -> column.cell.apply(row)).toArray(PageTable.Cell[]::new));
    }
    return table;
  }

  /** Returns what counts most of one cache. */
  static PageTable summary(
      PageQuery query, PageHistory history, CacheReport report, Problems problems) {
    PageCaches one = new PageCaches(query, history, List.of(), problems);
    Row row = row(report, problems);
    List<Column> columns =
        one.columns().stream().filter(column -> SUMMARY.contains(column.key)).toList();
    PageTable table = new PageTable(columns.stream().map(Column::head).toList());
    table.row(
        columns.stream().map(column -> column.cell.apply(row)).toArray(PageTable.Cell[]::new));
    return table;
  }

  private PageTable.Head head(Column column) {
    String sort = query.sort().isEmpty() ? NAME : query.sort();
    boolean descending = sort.equals("-" + column.key);
    boolean ascending = sort.equals(column.key);
    // Of names the first ones come first, of all others what is most.
    String next =
        descending || (!ascending && column.key.equals(NAME)) ? column.key : "-" + column.key;
    return column
        .head
        .with("href", query.sortedBy(next))
        .with("sorted", descending ? "descending" : ascending ? "ascending" : "none")
        .with("narrow", column.narrow);
  }

  private ImmutableList<Column> columns() {
    return ImmutableList.of(
        new Column(
            NAME,
            PageTable.Head.text("Cache", "", "Choose one for its own page"),
            true,
            row -> link(row.report.name(), query.ofCache(row.report.name())),
            BY_NAME),
        new Column(
            "problems",
            PageTable.Head.text("Problems", "", "What is wrong with it; see above"),
            true,
            row -> problems(row.problems),
            Comparator.comparing(row -> severity(row.problems))),
        new Column(
            "size",
            PageTable.Head.text(
                "Size", "live / on disk / limit", "Keys and values; the file; its diskLimit"),
            true,
            row -> bar(row.figures),
            by(row -> row.get("live_bytes"))),
        new Column(
            "entries",
            PageTable.Head.figure("Entries", "on disk", "Values in the file"),
            false,
            row -> figure(row.figures, "entries"),
            by(row -> row.get("entries"))),
        new Column(
            "lookups",
            PageTable.Head.figure("Lookups", "a second, 30 s", "What Gerrit asks the cache for"),
            false,
            row -> PageHistory.rateCell(lookups(row)),
            by(this::lookups)),
        percent(
            "memory",
            "Memory hits",
            "of lookups, since the start",
            "Lookups that found their value in memory",
            "heap_hits",
            "heap_misses"),
        percent(
            "disk",
            "Disk hits",
            "of reads, since the start",
            "Reads, of what was not in memory, that found their value in the file",
            "hits",
            "misses"),
        new Column(
            "read",
            PageTable.Head.figure(
                "Read", "99 %, last minutes", "99 of 100 reads from the file took at most so long"),
            false,
            row -> nanos(p99(row)),
            by(PageCaches::p99)),
        new Column(
            "puts",
            PageTable.Head.figure("Puts", "a second, 30 s", "Values written to the file"),
            false,
            row -> PageHistory.rateCell(puts(row)),
            by(this::puts)),
        new Column(
            "evicted",
            PageTable.Head.figure("Evicted", "since the start", "Values that made room for others"),
            false,
            row -> figure(row.figures, "evicted"),
            by(row -> row.get("evicted"))),
        new Column(
            "start",
            PageTable.Head.text("Start", "", "How its file was found at the start"),
            false,
            row -> cell(CachesTable.startOf(row.report.disk())),
            Comparator.comparing(row -> CachesTable.startOf(row.report.disk()))));
  }

  private static PageTable.Cell percent(Figures figures, String hits, String misses) {
    long found = figures.get(hits);
    return cell(found, Units.percent(found, found + figures.get(misses)));
  }

  private static Comparator<Row> by(ToDoubleFunction<Row> figure) {
    return Comparator.comparingDouble(figure);
  }

  private static Column percent(
      String key, String title, String unit, String meaning, String hits, String misses) {
    return new Column(
        key,
        PageTable.Head.figure(title, unit, meaning),
        false,
        row -> percent(row.figures, hits, misses),
        by(row -> (double) row.get(hits) / Math.max(1, row.get(hits) + row.get(misses))));
  }

  private Function<Sample, Figures> sampled(Row row) {
    return sample -> sample.caches().get(row.report.name());
  }

  private double lookups(Row row) {
    return history.rate(sampled(row), "heap_hits", "heap_misses");
  }

  private double puts(Row row) {
    return history.rate(sampled(row), "puts");
  }

  private static long p99(Row row) {
    return row.report.latencies().get(DiskOperation.READ).p99();
  }

  private static int severity(List<Problems.Problem> problems) {
    return problems.isEmpty() ? 0 : problems.get(0).level().severity;
  }

  private static PageTable.Cell problems(List<Problems.Problem> problems) {
    if (problems.isEmpty()) {
      return cell("");
    }
    Problems.Level level = problems.get(0).level();
    return new PageTable.Cell(Map.of("text", level.shown, "level", CachesJson.lower(level)));
  }

  /** A bar as wide as the limit, or as the file while a second one takes its place. */
  private static PageTable.Cell bar(Figures disk) {
    long onDisk = disk.get("disk_bytes");
    long whole = Math.max(1, Math.max(disk.get("limit_bytes"), onDisk));
    return new PageTable.Cell(
        Map.of(
            "text",
            disk.fill("{live_bytes} / {disk_bytes} / {limit_bytes}"),
            "live",
            100.0 * disk.get("live_bytes") / whole,
            "disk",
            100.0 * onDisk / whole));
  }

  /** The sums of the columns that have one, in a sentence. */
  static String sums(List<CacheReport> caches, Figures all) {
    return Units.counted(caches.size(), "cache", "caches")
        + all.fill(": entries {entries}, {live_bytes} live, {disk_bytes} on disk. ")
        + CachesTable.activity(all);
  }
}
