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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit;

import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.say;

import com.google.common.collect.ImmutableList;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.BulkFill;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.CachePeer;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.Readers.Request;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.Readers.Spread;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RequestFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.eclipse.jgit.lib.Constants;

/**
 * {@code bin/bench gerrit}: what users' requests cost in a real Gerrit with H2 caches and in one
 * with this module, by turns, on the same changes; after a restart too, and while H2's caches are
 * taken over.
 */
final class GerritBench {
  private static final String PROJECT = "work";
  private static final String HEAP = "2g";
  private static final long GIGABYTE = 1L << 30;
  private static final int FIRST_REQUESTS = 1000;

  /** The caches that these requests ask, where what is in memory makes a difference. */
  private static final ImmutableList<String> CACHES =
      ImmutableList.of(
          "change_notes",
          "gerrit_file_diff",
          "git_file_diff",
          "modified_files",
          "git_modified_files",
          "diff_summary",
          "comment_context");

  /** The caches that are empty on a server that has never shown these changes. */
  private static final ImmutableList<String> COLD_CACHES =
      ImmutableList.<String>builder()
          .addAll(CACHES)
          .add("diff_intraline", "changeid_project", "change_kind", "conflicts", "mergeability")
          .build();

  private static final String SMALL_MEMORY = "256k";

  private static final String NEVER = "[core]\n\ttrustStat = never\n";

  private static final ImmutableList<Request> REQUESTS =
      ImmutableList.of(Request.DETAIL, Request.QUERY, Request.DIFF);

  /** A Gerrit is warm when this long a time takes it no less of the processors than the best. */
  private static final Duration WARM_UP_SLICE = Duration.ofSeconds(10);

  private static final double STEADY = 0.97;
  private static final int WARM_UP_SLICES = 12;

  private enum Kind {
    H2("H2"),
    OURS("this module");

    final String title;

    Kind(String title) {
      this.title = title;
    }
  }

  /** What can be measured by itself, in this order. */
  private enum Part {
    COLD("cold caches"),
    DEFAULT_MEMORY("default memoryLimit"),
    RESTART("after a restart"),
    TRUST_NEVER("trustStat never, with PackedRefsModule"),
    SMALL_MEMORY("small memoryLimit"),
    IMPORT("import");

    final String title;

    Part(String title) {
      this.title = title;
    }
  }

  /** One thing that was measured. */
  private record Line(String what, Kind kind) {}

  private final BenchRun run;
  private final int changes;
  private final int users;

  /** Whether only {@link Part#COLD} is measured, or all but that. */
  private final boolean isCold;

  private final int importGigabytes;
  private final int rounds;
  private final int warmUpSlices;
  private final Duration time;
  private final Duration afterRestart;
  private final Map<Line, RequestFigures> results = new LinkedHashMap<>();
  private final Map<Kind, GerritSite> sites = new EnumMap<>(Kind.class);
  private final Map<Kind, GerritDaemon> daemons = new EnumMap<>(Kind.class);
  private final Map<Kind, Readers> readers = new EnumMap<>(Kind.class);

  /** How long each start took, milliseconds. */
  private final Map<Kind, List<Long>> ready = new EnumMap<>(Kind.class);

  private Workload work;

  private GerritBench(BenchRun run) {
    this.run = run;
    boolean quick = run.isQuick();
    changes = run.number("--changes", quick ? 300 : 3000);
    isCold = run.has("--cold");
    users = run.number("--users", isCold ? 16 : 10);
    time = Duration.ofSeconds(run.number("--seconds", quick ? 3 : 15));
    rounds = quick ? 1 : run.number("--rounds", 3);
    warmUpSlices = quick ? 2 : WARM_UP_SLICES;
    importGigabytes = run.number("--import-gigabytes", quick ? 0 : 1);
    afterRestart = Duration.ofSeconds(quick ? 10 : 60);
  }

  public static void main(String[] args) throws Exception {
    new GerritBench(new BenchRun(args)).run();
  }

  private void run() throws Exception {
    run.printHead(String.format(Locale.ROOT, "%d changes, %d users", changes, users));
    Path root = Files.createTempDirectory("cache-chroniclemap-gerrit-");
    try {
      prepare(root);
      for (Part part : Part.values()) {
        if (run.isWanted(part.title) && (part == Part.COLD) == isCold) {
          measure(part, root);
        }
      }
      printTable();
      run.writeJson();
    } finally {
      stopAll();
      Folders.delete(root);
    }
  }

  private void measure(Part part, Path root) throws Exception {
    List<Spread> spreads = List.of(Spread.values());
    GerritSite ours = sites.get(Kind.OURS);
    switch (part) {
      case COLD -> cold(root);
      case DEFAULT_MEMORY -> {
        measureAll(part, REQUESTS, spreads);
        tellFootprint();
      }
      case RESTART -> afterRestart(root);
      case TRUST_NEVER -> {
        ours.installRefsModule();
        for (GerritSite site : sites.values()) {
          distrust(site);
        }
        measureAll(part, List.of(Request.DETAIL, Request.DIFF), List.of(Spread.ZIPF));
        for (GerritSite site : sites.values()) {
          trust(site);
        }
        ours.edit(config -> config.unset("gerrit", null, "installDbModule"));
      }
      case SMALL_MEMORY -> {
        for (GerritSite site : sites.values()) {
          setSmallMemory(site);
        }
        measureAll(part, REQUESTS, spreads);
      }
      case IMPORT -> {
        stopAll();
        if (importGigabytes > 0) {
          measureImport(root);
        }
      }
    }
  }

  /** One site is filled, and the other one is its copy that switches to this module. */
  private void prepare(Path root) throws Exception {
    GerritSite h2 = GerritSite.init(root.resolve("h2"));
    h2.edit(config -> config.setString("container", null, "heapLimit", HEAP));
    say("pushing %d changes", changes);
    GerritDaemon daemon = GerritDaemon.start(h2);
    try {
      Gerrit gerrit = new Gerrit(h2);
      gerrit.createProject(PROJECT);
      work = new Workload(gerrit, PROJECT);
      work.push(changes);
      var unused = work.readAll(gerrit.rest());
      // As it is the morning after.
      var unusedOutput = gerrit.ssh().run("gerrit gc " + PROJECT);
      if (!Files.exists(h2.repository(PROJECT).resolve(Constants.PACKED_REFS))) {
        throw new IllegalStateException("gerrit gc has packed no refs of " + PROJECT);
      }
    } finally {
      daemon.stop();
    }
    GerritSite ours = h2.copyTo(root.resolve("ours"));
    ours.installModule(BuildFolder.moduleJar());
    sites.put(Kind.H2, h2);
    sites.put(Kind.OURS, ours);
    restartAll();
    for (Kind kind : Kind.values()) {
      GerritSite site = sites.get(kind);
      readers.put(kind, new Readers(work, users, site.url(), new Gerrit(site).signIn()));
    }
  }

  private static void setSmallMemory(GerritSite site) {
    try {
      site.edit(
          config ->
              CACHES.forEach(
                  cache -> config.setString("cache", cache, "memoryLimit", SMALL_MEMORY)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void distrust(GerritSite site) throws IOException {
    Path config = projectConfig(site);
    Files.writeString(config, Files.readString(config) + NEVER);
  }

  private static void trust(GerritSite site) throws IOException {
    Path config = projectConfig(site);
    Files.writeString(config, Files.readString(config).replace(NEVER, ""));
  }

  private static Path projectConfig(GerritSite site) {
    return site.repository(PROJECT).resolve(Constants.CONFIG);
  }

  private void restartAll() throws Exception {
    for (Kind kind : Kind.values()) {
      restart(kind);
    }
  }

  private void restart(Kind kind) throws Exception {
    GerritDaemon running = daemons.remove(kind);
    if (running != null) {
      running.stop();
    }
    GerritDaemon daemon = GerritDaemon.start(sites.get(kind));
    daemons.put(kind, daemon);
    ready.computeIfAbsent(kind, k -> new ArrayList<>()).add(daemon.readyAfter().toMillis());
  }

  private void stopAll() throws IOException {
    for (GerritDaemon daemon : daemons.values()) {
      daemon.stop();
    }
    daemons.clear();
  }

  /**
   * A server gets faster for minutes, as its code is compiled: by turns until neither takes less of
   * the processors than before.
   */
  private void warmUp(long seed) throws IOException {
    Map<Kind, Double> best = new EnumMap<>(Kind.class);
    for (int i = 0; i < warmUpSlices; i++) {
      boolean steady = true;
      for (Kind kind : Kind.values()) {
        double cpu =
            ask(kind, Request.MIXED, Spread.UNIFORM, seed + i, WARM_UP_SLICE, Integer.MAX_VALUE)
                .cpuMillis();
        Double before = best.get(kind);
        steady &= before != null && cpu >= STEADY * before;
        best.merge(kind, cpu, Math::min);
      }
      if (steady) {
        return;
      }
    }
    say("a server still got faster after %d s", WARM_UP_SLICE.toSeconds() * warmUpSlices);
  }

  private RequestFigures ask(
      Kind kind, Request request, Spread spread, long seed, Duration period, int most)
      throws IOException {
    return readers.get(kind).ask(daemons.get(kind), request, spread, seed, period, most);
  }

  /** In new processes each time: each compiles its code a little otherwise. By turns. */
  private void measureAll(Part part, List<Request> requests, List<Spread> spreads)
      throws Exception {
    List<Kind> order = new ArrayList<>(List.of(Kind.values()));
    for (int round = 0; round < rounds; round++) {
      restartAll();
      warmUp(1000L * round);
      for (Spread spread : spreads) {
        for (Request request : requests) {
          for (Kind kind : order) {
            results.merge(
                new Line(what(request, spread, part), kind),
                ask(kind, request, spread, round, time.dividedBy(rounds), Integer.MAX_VALUE),
                RequestFigures::plus);
          }
        }
      }
      Collections.reverse(order);
    }
    for (Spread spread : spreads) {
      for (Request request : requests) {
        tell(what(request, spread, part));
      }
    }
  }

  /** The first requests once the caches are empty, in servers that are warm otherwise. */
  private void cold(Path root) throws Exception {
    warmUp(0);
    List<Request> requests = List.of(Request.DIFF, Request.DETAIL);
    List<Kind> order = new ArrayList<>(List.of(Kind.values()));
    Map<Line, BlockedThreads.Figures> blocked = new LinkedHashMap<>();
    for (int round = 0; round < rounds; round++) {
      for (Request request : requests) {
        for (Kind kind : order) {
          Gerrit gerrit = new Gerrit(sites.get(kind));
          for (String cache : COLD_CACHES) {
            var unused = gerrit.ssh().run("gerrit flush-caches --cache " + cache);
          }
          Line line = new Line(coldTitle(request), kind);
          BlockedThreads threads = BlockedThreads.begin(daemons.get(kind), root);
          results.merge(
              line,
              ask(kind, request, Spread.UNIFORM, round, Duration.ofMinutes(10), FIRST_REQUESTS),
              RequestFigures::plus);
          blocked.merge(line, threads.end(), BlockedThreads.Figures::plus);
        }
      }
      Collections.reverse(order);
    }
    for (Request request : requests) {
      tell(coldTitle(request));
      for (Kind kind : Kind.values()) {
        say(
            "%s: %s: %s",
            coldTitle(request), kind.title, blocked.get(new Line(coldTitle(request), kind)));
      }
    }
  }

  private static String coldTitle(Request request) {
    return String.format(
        Locale.ROOT, "first %d of %s, %s", FIRST_REQUESTS, request.title, Part.COLD.title);
  }

  private static String what(Request request, Spread spread, Part part) {
    return String.format(Locale.ROOT, "%s, %s, %s", request.title, spread.title, part.title);
  }

  /** One after the other, the other one stopped: both would start at the same time otherwise. */
  private void afterRestart(Path root) throws Exception {
    stopAll();
    String first = String.format(Locale.ROOT, "first %d requests after a restart", FIRST_REQUESTS);
    String minute =
        String.format(Locale.ROOT, "first %d s after a restart", afterRestart.toSeconds());
    for (int i = 0; i < rounds; i++) {
      for (Kind kind : Kind.values()) {
        restart(kind);
        Deadline clock = Deadline.in(afterRestart);
        RequestFigures begin =
            ask(kind, Request.MIXED, Spread.ZIPF, i, afterRestart, FIRST_REQUESTS);
        Duration left = afterRestart.minus(clock.elapsed());
        RequestFigures rest =
            ask(kind, Request.MIXED, Spread.ZIPF, i + 100, left, Integer.MAX_VALUE);
        results.merge(new Line(first, kind), begin, RequestFigures::plus);
        results.merge(new Line(minute, kind), begin.plus(rest), RequestFigures::plus);
        stopAll();
      }
    }
    tell(first);
    tell(minute);
    restart(Kind.OURS);
    DiskReadShare share = DiskReadShare.begin(daemons.get(Kind.OURS), root);
    var unused = ask(Kind.OURS, Request.MIXED, Spread.ZIPF, 0, afterRestart, FIRST_REQUESTS);
    say(
        "%s: %.1f %% of the samples read from disk and deserialise: a warm heap saves no more",
        first, 100 * share.end());
    stopAll();
  }

  private void tell(String what) {
    for (Kind kind : Kind.values()) {
      RequestFigures figures = results.get(new Line(what, kind));
      say(
          "%s: %s: %.0f a second, p50 %.1f ms, p99 %.1f ms, CPU %.2f ms",
          what,
          kind.title,
          figures.perSecond(),
          figures.percentile(50),
          figures.percentile(99),
          figures.cpuMillis());
    }
  }

  private void tellFootprint() throws Exception {
    for (Kind kind : Kind.values()) {
      GerritSite site = sites.get(kind);
      DiskReadShare.jcmd(daemons.get(kind), "GC.run");
      JsonObject memory =
          new Gerrit(site)
              .rest()
              .get("/config/server/summary?jvm")
              .json()
              .getAsJsonObject()
              .getAsJsonObject("mem_summary");
      long bytes = 0;
      for (Path file :
          Folders.files(
              kind == Kind.H2
                  ? site.cacheFolder()
                  : site.cacheFolder().resolve("cache-chroniclemap"),
              f -> true)) {
        bytes += Files.size(file);
      }
      say(
          "%s: heap after a collection %s, caches on disk %d MB, ready after %.1f s (mean of %d)",
          kind.title,
          memory.get("used").getAsString(),
          bytes >> 20,
          ready.get(kind).stream().mapToLong(millis -> millis).average().orElseThrow() / 1000,
          ready.get(kind).size());
    }
  }

  /** The same load from the first second on, while H2's caches are taken over and without that. */
  private void measureImport(Path root) throws Exception {
    GerritSite site = sites.get(Kind.H2).copyTo(root.resolve("importing"));
    int entries =
        Math.toIntExact(
            importGigabytes * GIGABYTE / BulkFill.VALUE_BYTES / BulkFill.values().length);
    say("filling %d GB into H2's caches", importGigabytes);
    long limit = 4 * GIGABYTE;
    for (BulkFill cache : BulkFill.values()) {
      site.edit(config -> config.setLong("cache", cache.cacheName(), "diskLimit", limit));
      cache.fill(CachePeer.H2, site.path(), entries, limit);
    }
    site.installModule(BuildFolder.moduleJar());
    RequestFigures during = null;
    RequestFigures without = null;
    List<Double> seconds = new ArrayList<>();
    for (int i = 0; i < rounds; i++) {
      Folders.delete(site.cacheFolder().resolve("cache-chroniclemap"));
      for (Path file : Folders.files(site.cacheFolder().resolve("taken-over"), f -> true)) {
        Files.move(file, site.cacheFolder().resolve(file.getFileName()));
      }
      RequestFigures with = load(site, figures -> entriesOf(site) >= 2L * entries);
      seconds.add(with.seconds());
      during = during == null ? with : during.plus(with);
      RequestFigures then = load(site, figures -> figures.seconds() >= with.seconds());
      without = without == null ? then : without.plus(then);
    }
    say(
        "import of %d GB took %s s; %.0f requests a second meanwhile and %.0f without: %.1f %%;"
            + " p99 %.1f and %.1f ms; CPU %.2f and %.2f ms a request",
        importGigabytes,
        seconds.stream().map(Math::round).toList(),
        during.perSecond(),
        without.perSecond(),
        100 * during.perSecond() / without.perSecond(),
        during.percentile(99),
        without.percentile(99),
        during.cpuMillis(),
        without.cpuMillis());
  }

  private interface Enough {
    boolean isEnough(RequestFigures figures) throws IOException;
  }

  /** Starts a server and asks it from the first second on, until it is enough. */
  private RequestFigures load(GerritSite site, Enough enough) throws Exception {
    GerritDaemon daemon = GerritDaemon.start(site);
    try {
      Readers load = new Readers(work, users, site.url(), new Gerrit(site).signIn());
      Deadline clock = Deadline.in(Duration.ofMinutes(10));
      RequestFigures figures = slice(load, daemon);
      while (!enough.isEnough(figures)) {
        if (clock.elapsed().compareTo(Duration.ofMinutes(10)) > 0) {
          throw new IllegalStateException("the import does not end");
        }
        figures = figures.plus(slice(load, daemon));
      }
      return figures;
    } finally {
      daemon.stop();
    }
  }

  private RequestFigures slice(Readers load, GerritDaemon daemon) throws IOException {
    return load.ask(
        daemon, Request.MIXED, Spread.ZIPF, 1, Duration.ofSeconds(5), Integer.MAX_VALUE);
  }

  private static long entriesOf(GerritSite site) throws IOException {
    Map<String, CacheFigures> figures = CacheFigures.of(new Gerrit(site).ssh());
    long entries = 0;
    for (BulkFill cache : BulkFill.values()) {
      entries += figures.get(cache.cacheName()).entries();
    }
    return entries;
  }

  private void printTable() {
    say("");
    say("| request | requests a second, H2 | ours | times | p50 ms | p95 ms | p99 ms | CPU ms |");
    say("|---|---|---|---|---|---|---|---|");
    for (Line line : results.keySet()) {
      if (line.kind != Kind.OURS) {
        continue;
      }
      RequestFigures ours = results.get(line);
      RequestFigures h2 = results.get(new Line(line.what, Kind.H2));
      say(
          "| %s | %.0f | %.0f | %.2f | %s | %s | %s | %s |",
          line.what,
          h2.perSecond(),
          ours.perSecond(),
          ours.perSecond() / h2.perSecond(),
          both(h2.percentile(50), ours.percentile(50)),
          both(h2.percentile(95), ours.percentile(95)),
          both(h2.percentile(99), ours.percentile(99)),
          both(h2.cpuMillis(), ours.cpuMillis()));
      run.addMoreIsBetter(
          line.what + ", rate, vs H2", "requests/s", ours.perSecond(), h2.perSecond());
      addMillis(line.what + ", p50", ours.percentile(50), h2.percentile(50));
      addMillis(line.what + ", p99", ours.percentile(99), h2.percentile(99));
      addMillis(line.what + ", CPU", ours.cpuMillis(), h2.cpuMillis());
    }
  }

  private void addMillis(String name, double ours, double h2) {
    run.addLessIsBetter(name + ", vs H2", "ms", ours, h2);
  }

  private static String both(double h2, double ours) {
    return String.format(Locale.ROOT, "%.2f; %.2f", h2, ours);
  }
}
