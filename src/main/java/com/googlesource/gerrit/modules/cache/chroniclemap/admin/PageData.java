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
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.count;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.figure;
import static com.googlesource.gerrit.modules.cache.chroniclemap.admin.PageTable.time;

import com.google.common.base.Ascii;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Lists;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.CurrentUser;
import com.google.gerrit.server.git.WorkQueue.Task.State;
import com.google.gerrit.server.restapi.config.ListTasks.TaskInfo;
import com.google.inject.Inject;
import com.google.inject.Provider;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** The data of the page for one user at one moment, as the template takes it. */
final class PageData {
  /** The projects with most lookups that are considered, and shown if the user may see them. */
  private static final int MAX_PROJECTS = 100;

  private static final ImmutableList<Integer> HOURS = ImmutableList.of(1, 3, PageQuery.ALL_HOURS);

  @Inject private Optional<CacheInventory> inventory;
  @Inject private VisibleRefs refs;
  @Inject private History history;
  @Inject private Provider<UpkeepQueue> queue;
  @Inject private Rights rights;
  @Inject private CurrentUser user;
  private UpkeepQueue.All work;
  private List<CacheReport> caches;
  private ImmutableList<Sample> samples;

  /**
   * Reads tasks, caches and samples, once all fields above are set. Tasks first, so that the caches
   * show what came of the work that has ended.
   */
  @Inject
  void read() {
    if (inventory.isPresent()) {
      work = queue.get().all();
    }
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
   * @param query what is asked for
   * @param token for requests that change something
   */
  Map<String, ?> of(PageQuery query, String token) {
    String selected = query.cache();
    PageHistory shown = PageHistory.last(samples, query.hours());
    ImmutableMap.Builder<String, Object> out = ImmutableMap.builder();
    out.put("version", RunningJar.version());
    out.put("selected", selected);
    out.put("token", token);
    out.put("mayMaintain", rights.has(Rights.MAINTAIN));
    boolean sessions = selected.equals("web_sessions");
    out.put("sessions", sessions);
    out.put("mayFlush", rights.has(sessions ? Rights.MAINTAIN : Rights.FLUSH));
    out.put("home", query.ofCache(""));
    out.put("json", query.jsonOfHistory());
    out.put("hours", query.hours());
    out.put("ranges", HOURS.stream().map(hours -> range(query, hours)).toList());
    Optional<String> noRefs = refs.whyNone();
    // A clause in other places.
    out.put("noRefs", noRefs.map(PageData::capitalized).orElse(""));
    @Nullable RefsTotals totals = noRefs.isPresent() ? null : refs.totals();
    @Nullable Figures figures = totals == null ? null : refs.figures(totals);
    Problems problems = Problems.find(history, query.hours(), inventory, caches, totals, figures);
    List<Problems.Problem> ofPage =
        selected.isEmpty() ? problems.all() : problems.shownWith(selected);
    out.put("verdict", Problems.verdict(ofPage));
    out.put("problems", Lists.transform(ofPage, problem -> problem(query, problem)));
    inventory.ifPresent(
        installed -> {
          out.put("directory", installed.directory().map(Object::toString).orElse(""));
          if (selected.isEmpty()) {
            PageCaches table = new PageCaches(query, shown, caches, problems);
            out.put("caches", table.table().data());
            out.put("folding", table.folding());
            out.put("cacheNote", PageCaches.sums(caches, Figures.ofAll(CacheMetrics.ALL, caches)));
          }
          out.put("filter", query.filter());
          out.put("sort", query.sort());
          out.put("tasks", tasks(selected).data());
        });
    caches.stream()
        .filter(report -> report.name().equals(selected))
        .findAny()
        .ifPresent(
            report -> {
              out.put("figures", figures(CacheMetrics.ALL, report).data());
              out.put("summary", PageCaches.summary(query, shown, report, problems).data());
            });
    out.put("events", events(selected).data());
    if (selected.isEmpty()) {
      if (totals != null) {
        List<ProjectRefs> projects = refs.busiest(user, MAX_PROJECTS);
        out.put("projects", projects(projects).data());
        out.put("refsNotes", RefsTable.notes(figures, totals, projects));
      }
      inventory
          .flatMap(CacheInventory::shared)
          .ifPresent(shared -> out.put("shared", figures(SharedMetrics.ALL, shared).data()));
    }
    return out.buildOrThrow();
  }

  private static Function<Sample, Figures> ofCache(String selected) {
    return selected.isEmpty() ? Sample::all : sample -> sample.caches().get(selected);
  }

  /** Returns all samples of a cache, or of all caches together, as CSV. */
  String csv(PageQuery query) {
    return new PageHistory(samples).csv(ofCache(query.cache()));
  }

  private static Map<String, ?> range(PageQuery query, int hours) {
    return Map.of(
        "text", Units.counted(hours, "hour", "hours"),
        "href", query.ofHours(hours),
        "current", query.hours() == hours);
  }

  private Map<String, ?> problem(PageQuery query, Problems.Problem problem) {
    boolean isCache = has(problem.subject());
    return ImmutableMap.<String, Object>builder()
        .put("level", CachesJson.lower(problem.level()))
        .put("shown", problem.level().shown)
        .put("subject", problem.subject())
        .put("href", isCache ? query.ofCache(problem.subject()) : "")
        .put("text", problem.text())
        .put("meaning", problem.meaning())
        .put("paragraph", problem.paragraph())
        .put("repair", problem.repairable() && rights.has(Rights.MAINTAIN))
        .put("last", PageTable.time(problem.last()).data())
        .buildOrThrow();
  }

  /** All figures of one cache or of the sharing, by their names in the metrics. */
  private static <T> PageTable figures(ImmutableList<Metric<T>> metrics, T subject) {
    PageTable table = new PageTable("Figure|#Value|Meaning");
    Figures.of(metrics, subject)
        .forEach(
            (metric, value) ->
                table.row(
                    cell(metric.shortName()),
                    cell(value, metric.format(value)),
                    cell(metric.shortMeaning())));
    return table;
  }

  private PageTable events(String selected) {
    PageTable table = new PageTable("Last seen|First seen|Where|#Count|What");
    for (Events.Event event : history.events()) {
      if (isShown(selected, event.subject())) {
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

  /** The work that is queued, running or ended, the newest one first. */
  private PageTable tasks(String selected) {
    boolean mayCancel = rights.has(Rights.KILL) && rights.has(Rights.VIEW_QUEUE);
    PageTable table = new PageTable("Work|Cache|User|Start|End|Result");
    for (UpkeepQueue.Queued queued : work.queued().reverse()) {
      UpkeepQueue.Run run = queued.run();
      if (isShown(selected, run.cache)) {
        TaskInfo info = queued.info();
        boolean running = info.state == State.RUNNING;
        String name = run.work.name();
        table.row(
            cell(name),
            cell(run.cache),
            cell(run.by),
            time(info.startTime.getTime()),
            cell(""),
            new PageTable.Cell(
                Map.of(
                    "text",
                    running
                        ? "running " + run.progress()
                        : queued.task().isDone() ? "ending" : "queued",
                    "task",
                    info.id,
                    "cancel",
                    mayCancel && !queued.task().isDone() ? info.id : "",
                    "what",
                    name + " of " + run.cache)));
      }
    }
    for (UpkeepQueue.Ended ended : work.ended()) {
      if (isShown(selected, ended.cache())) {
        table.row(
            cell(ended.work()),
            cell(ended.cache()),
            cell(ended.by()),
            time(ended.from()),
            time(ended.to()),
            new PageTable.Cell(
                Map.of("text", ended.outcome(), "task", ended.task(), "cancel", "", "what", "")));
      }
    }
    return table;
  }

  private static String capitalized(String text) {
    return Ascii.toUpperCase(text.charAt(0)) + text.substring(1);
  }

  private static boolean isShown(String selected, String cache) {
    return selected.isEmpty() || selected.equals(cache);
  }
}
