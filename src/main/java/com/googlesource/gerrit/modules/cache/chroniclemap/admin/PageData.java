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

import static com.google.common.base.Strings.nullToEmpty;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.bytes;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.cell;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.count;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.figure;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.link;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.nanos;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.time;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Iterables;
import com.google.common.collect.Lists;
import com.google.common.net.UrlEscapers;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.CurrentUser;
import com.google.gerrit.server.git.WorkQueue.Task.State;
import com.google.gerrit.server.restapi.config.ListTasks.TaskInfo;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskOperation;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The data of the page for one user at one moment, as the template takes it. */
final class PageData {
  /** The projects with most lookups that are considered, and shown if the user may see them. */
  private static final int MAX_PROJECTS = 100;

  /** The rows of the history, which the charts show in full. */
  private static final int HISTORY_ROWS = 16;

  @Inject private Optional<CacheInventory> inventory;
  @Inject private VisibleRefs refs;
  @Inject private History history;
  @Inject private Provider<UpkeepQueue> queue;
  @Inject private Rights rights;
  @Inject private CurrentUser user;
  private List<CacheReport> caches;
  private ImmutableList<Sample> samples;

  /** Reads caches and samples, once all fields above are set. */
  @Inject
  void read() {
    caches = inventory.map(CacheInventory::reports).orElse(List.of());
    samples = history.samples();
  }

  /** Whether there is such a cache. */
  boolean has(String cache) {
    return caches.stream().anyMatch(report -> report.name().equals(cache));
  }

  /**
   * Returns all that is shown.
   *
   * @param selected the name of a cache, or empty for all
   * @param token for requests that change something
   */
  Map<String, ?> of(String selected, String token) {
    ImmutableMap.Builder<String, Object> out = ImmutableMap.builder();
    out.put("version", nullToEmpty(PageData.class.getPackage().getImplementationVersion()));
    out.put("selected", selected);
    out.put("token", token);
    out.put("mayMaintain", rights.has(Rights.MAINTAIN));
    boolean sessions = selected.equals("web_sessions");
    out.put("sessions", sessions);
    out.put("mayFlush", rights.has(sessions ? Rights.MAINTAIN : Rights.FLUSH));
    Optional<String> noRefs = refs.whyNone();
    out.put("noRefs", noRefs.orElse(""));
    @Nullable RefsTotals totals = noRefs.isPresent() ? null : refs.totals();
    @Nullable Figures figures = totals == null ? null : refs.figures(totals);
    Sample now =
        Sample.of(System.currentTimeMillis(), inventory.isPresent() ? caches : null, figures);
    inventory.ifPresent(
        installed -> {
          out.put("directory", installed.directory().map(Object::toString).orElse(""));
          out.put("memoryOnly", installed.memoryOnlyReason().orElse(""));
          out.put("caches", caches(selected, now).data());
          out.put("cacheNote", CachesTable.activity(Figures.ofAll(CacheMetrics.ALL, caches)));
          out.put("cacheHistory", cacheHistory(selected).data());
          out.put("tasks", Lists.transform(queue.get().tasks(), PageData::task));
          out.put("mayCancel", rights.has(Rights.KILL) && rights.has(Rights.VIEW_QUEUE));
        });
    caches.stream()
        .filter(report -> report.name().equals(selected))
        .findAny()
        .ifPresent(report -> out.put("figures", figures(report).data()));
    out.put("events", events(selected).data());
    out.put("problems", problems(now, totals));
    if (selected.isEmpty()) {
      if (totals != null) {
        List<ProjectRefs> projects = refs.busiest(user, MAX_PROJECTS);
        out.put("projects", projects(projects).data());
        out.put("refsNotes", RefsTable.notes(figures, totals, projects));
        out.put("refsHistory", refsHistory().data());
      }
      out.put("memory", memory(now).data());
    }
    return out.buildOrThrow();
  }

  /** The problems that an administrator should know, in sentences. */
  private List<String> problems(Sample now, @Nullable RefsTotals totals) {
    List<String> all = new ArrayList<>();
    now.caches().forEach((name, figures) -> all.addAll(Events.problems(name, figures)));
    inventory
        .flatMap(CacheInventory::shared)
        .ifPresent(shared -> all.addAll(SharedTable.problems(shared)));
    for (CacheReport report : caches) {
      CachesTable.failure(report).ifPresent(why -> all.add(report.name() + ": " + why));
    }
    if (totals != null) {
      all.addAll(Events.problems(Events.REFS, now.refs()));
      totals
          .disk()
          .filter(disk -> disk.state() == StoreState.FAILED || disk.unrepaired() > 0)
          .map(disk -> ": the file failed, or has damaged entries. " + disk.start().detail())
          .ifPresent(text -> all.add(Events.REFS + text));
    }
    @Nullable Sample last = Iterables.getLast(samples, null);
    if (last != null && now.millis() - last.millis() > 3 * History.INTERVAL.toMillis()) {
      all.add("No sample was taken for minutes, so rates and charts are outdated; see the log");
    }
    return all;
  }

  private PageTable caches(String selected, Sample now) {
    PageTable table =
        new PageTable(
            "Cache|#Entries|Live, on disk, limit|#Heap hits|#Disk hits|#Reads/s|#Puts/s"
                + "|#Read, 99 %|#Put, 99 %|#Evicted|#Problems|Last start");
    for (CacheReport report : caches) {
      Figures figures = Figures.of(CacheMetrics.WITH_HEAP, report);
      boolean current = report.name().equals(selected);
      Function<Sample, Figures> one = sample -> sample.caches().get(report.name());
      String escaped = UrlEscapers.urlFormParameterEscaper().escape(report.name());
      table.row(
          link(report.name(), "?cache=" + escaped, current),
          figure(figures, "entries"),
          bar(figures),
          percent(figures, "heap_hits", "heap_misses"),
          percent(figures, "hits", "misses"),
          rate(one, "heap_hits", "heap_misses"),
          rate(one, "puts"),
          nanos(report.latencies().get(DiskOperation.READ).p99()),
          nanos(report.latencies().get(DiskOperation.PUT).p99()),
          figure(figures, "evicted"),
          count(Events.countProblems(figures)),
          cell(CachesTable.startOf(report.disk())));
    }
    table.row(
        cell(Units.counted(caches.size(), "cache", "caches")),
        figure(now.all(), "entries"),
        cell(now.all().fill("{live_bytes} / {disk_bytes}")),
        percent(now.all(), "heap_hits", "heap_misses"),
        percent(now.all(), "hits", "misses"),
        rate(Sample::all, "heap_hits", "heap_misses"),
        rate(Sample::all, "puts"),
        cell(""),
        cell(""),
        figure(now.all(), "evicted"),
        count(Events.countProblems(now.all())),
        cell(""));
    return table;
  }

  private static PageTable.Cell percent(Figures figures, String hits, String misses) {
    long found = figures.get(hits);
    return cell(found, Units.percent(found, found + figures.get(misses)));
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
            100 * disk.get("live_bytes") / whole,
            "disk",
            100 * onDisk / whole));
  }

  /** The rise of counts in the last interval, per second. */
  private PageTable.Cell rate(Function<Sample, Figures> subject, String... names) {
    int last = samples.size() - 1;
    return last < 1 ? cell("") : rate(last - 1, last, subject, names);
  }

  private PageTable.Cell rate(
      int from, int to, Function<Sample, Figures> subject, String... names) {
    @Nullable Figures before = subject.apply(samples.get(from));
    @Nullable Figures after = subject.apply(samples.get(to));
    long millis = samples.get(to).millis() - samples.get(from).millis();
    if (before == null || after == null || millis <= 0) {
      return cell("");
    }
    long rise = 0;
    for (String name : names) {
      rise += Math.max(0, after.get(name) - before.get(name));
    }
    return cell(Units.perSecond(1000.0 * rise / millis));
  }

  /** All figures of one cache, by their names in the metrics. */
  private static PageTable figures(CacheReport report) {
    PageTable table = new PageTable("Figure|#Value|Meaning");
    Figures.of(CacheMetrics.ALL, report)
        .forEach(
            (metric, value) ->
                table.row(
                    cell(metric.shortName()),
                    cell(value, metric.format(value)),
                    cell(metric.meaning())));
    return table;
  }

  private PageTable cacheHistory(String selected) {
    return history(
        selected.isEmpty() ? Sample::all : sample -> sample.caches().get(selected),
        rises("Heap hits/s", "heap_hits"),
        rises("Disk hits/s", "hits"),
        rises("Misses/s", "misses"),
        rises("Puts/s", "puts"),
        rises("Evicted/s", "evicted"),
        last("Live", "live_bytes", PageTable::bytes),
        last("On disk", "disk_bytes", PageTable::bytes),
        last("Read, 99 %", "read_latency_p99", PageTable::nanos),
        last("Put, 99 %", "put_latency_p99", micros -> nanos(1000 * micros)));
  }

  private PageTable refsHistory() {
    return history(
        Sample::refs,
        rises("Lookups/s", "lookups"),
        rises("Files read/s", "checks"),
        rises("Lists parsed/s", "parses"),
        rises("Pushes/s", "pushes", "pushes_left"),
        rises("Fetches by id/s", "fetches_by_tip", "fetches_by_walk"),
        last("Lists, off heap", "memory_bytes", PageTable::bytes),
        last("Lists, heap", "heap_bytes", PageTable::bytes));
  }

  /** A column of a history, whose cells show what changed between two samples. */
  private record Column(String title, Period cell) {}

  private interface Period {
    PageTable.Cell cell(int from, int to, Function<Sample, Figures> subject);
  }

  private Column rises(String title, String... names) {
    return new Column(title, (from, to, subject) -> rate(from, to, subject, names));
  }

  private Column last(String title, String name, LongFunction<PageTable.Cell> cell) {
    return new Column(
        title, (from, to, subject) -> cell.apply(subject.apply(samples.get(to)).get(name)));
  }

  /** Splits the samples into the rows of a table, the newest one first. */
  private PageTable history(Function<Sample, Figures> subject, Column... columns) {
    String titles = Stream.of(columns).map(Column::title).collect(Collectors.joining("|#"));
    PageTable table = new PageTable("From|#" + titles);
    int last = samples.size() - 1;
    int rows = Math.min(HISTORY_ROWS, last);
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

  private PageTable events(String selected) {
    PageTable table = new PageTable("Last seen|First seen|Where|#Count|What");
    for (Events.Event event : history.events()) {
      if (selected.isEmpty() || event.subject().equals(selected)) {
        table.row(
            time(event.to()),
            time(event.from()),
            cell(event.subject()),
            count(event.count()),
            cell(event.text()));
      }
    }
    return table;
  }

  private static PageTable projects(List<ProjectRefs> projects) {
    PageTable table =
        new PageTable(
            "Project|#Refs|#packed-refs|#Off heap|#Bytes a ref|#Parses|#Files read|#Lookups"
                + "|Last parse");
    for (ProjectRefs refs : projects) {
      Figures figures = Figures.of(RefsMetrics.PROJECT, refs.report());
      table.row(
          cell(refs.project()),
          figure(figures, "refs"),
          figure(figures, "packed_bytes"),
          figure(figures, "off_heap_bytes"),
          cell(RefsTable.perRef(figures.get("off_heap_bytes"), figures.get("refs"))),
          figure(figures, "parses"),
          figure(figures, "checks"),
          figure(figures, "lookups"),
          time(figures.get("last_parse")));
    }
    return table;
  }

  private static PageTable memory(Sample now) {
    PageTable table = new PageTable("Memory|#Used|#Limit");
    memory(table, "Java heap of the process", now.process(), "heap_bytes", "heap_limit_bytes");
    memory(table, "Direct memory of the process", now.process(), "direct_bytes", "");
    if (now.refs() != null) {
      String lists = "Parsed ref lists, direct memory";
      memory(table, lists, now.refs(), "memory_bytes", "limit_bytes");
      memory(table, "Parsed ref lists, heap", now.refs(), "heap_bytes", "");
      memory(table, "Indexes of object ids, direct memory", now.refs(), "id_index_bytes", "");
    }
    return table;
  }

  private static void memory(
      PageTable table, String title, Figures figures, String used, String limit) {
    long most = figures.get(limit);
    table.row(cell(title), bytes(figures.get(used)), most < 0 ? cell("") : bytes(most));
  }

  private static Map<String, ?> task(TaskInfo task) {
    boolean running = task.state == State.RUNNING;
    return Map.of("id", task.id, "text", task.command, "running", running);
  }
}
