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

import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.counted;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.decimals;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.refsName;
import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.say;

import com.google.common.collect.ImmutableMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RefsRequest;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RefsServer;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Reftables;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RequestFigures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * {@code bin/bench gerrit-refs}: what requests that change refs cost in a real Gerrit, plain and
 * with {@code PackedRefsModule} by turns, in a project with many packed refs and in a small one.
 */
final class GerritRefsBench {
  private static final String LARGE = "large";
  private static final String SMALL = "small";
  private static final int SMALL_REFS = 1000;
  private static final int DEFAULT_REFS = 500_000;

  /** More than in a small repository it shall not take. */
  private static final double MAX_TIMES_SMALL = 1.2;

  private static final String ROW = "  %-16s %-6s %6s %8s %9s %9s %9s %9s %8s%n";

  private enum Kind {
    PLAIN("plain Gerrit"),
    OURS("this module");

    final String title;

    Kind(String title) {
      this.title = title;
    }
  }

  /** A line of the results. */
  private record Line(RefsRequest request, int users, String project, Kind kind) {}

  private final BenchRun run;
  private final int refs;
  private final List<Integer> users;
  private final Duration time;
  private final Map<Line, RequestFigures> results = new LinkedHashMap<>();
  private final Map<Kind, RefsServer> servers = new LinkedHashMap<>();

  private GerritRefsBench(BenchRun run) {
    this.run = run;
    refs = run.number("--refs", DEFAULT_REFS);
    users = run.numbers("--users", "1,8");
    time = Duration.ofSeconds(run.number("--seconds", run.isQuick() ? 2 : 10));
  }

  public static void main(String[] args) throws Exception {
    new GerritRefsBench(new BenchRun(args)).run();
  }

  private void run() throws Exception {
    run.printHead(
        String.format(
            Locale.ROOT,
            "%d and %d %s",
            refs,
            SMALL_REFS,
            run.has("--reftable") ? "refs in a reftable" : "packed refs"));
    Path root = Files.createTempDirectory("cache-chroniclemap-refs-");
    try {
      GerritSite plain = GerritSite.init(root.resolve("plain"));
      GerritSite ours = plain.copyTo(root.resolve("ours"));
      if (run.has("--reftable")) {
        Reftables.enableInPlain(plain);
      }
      ours.installModule(BuildFolder.moduleJar());
      ours.installRefsModule();
      for (Kind kind : Kind.values()) {
        say("starting %s", kind.title);
        servers.put(
            kind,
            RefsServer.start(
                kind == Kind.PLAIN ? plain : ours,
                ImmutableMap.of(LARGE, refs, SMALL, SMALL_REFS),
                run.has("--reftable"),
                Collections.max(users)));
      }
      warmUp();
      for (int count : users) {
        measure(count);
      }
      printTable();
      check();
      writeJson();
    } finally {
      for (RefsServer server : servers.values()) {
        server.close();
      }
      Folders.delete(root);
    }
  }

  /** Until the code is compiled and the lists are known. */
  private void warmUp() throws IOException {
    say("warming up");
    for (RefsServer server : servers.values()) {
      for (String project : List.of(SMALL, LARGE)) {
        for (RefsRequest request : RefsRequest.values()) {
          Duration some = project.equals(SMALL) ? time.dividedBy(2) : Duration.ZERO;
          var unused =
              server.measure(project, request, project.equals(SMALL) ? users.getLast() : 1, some);
        }
      }
    }
  }

  private void measure(int count) throws IOException {
    boolean plainFirst = false;
    for (RefsRequest request : RefsRequest.values()) {
      plainFirst = !plainFirst;
      for (String project : List.of(LARGE, SMALL)) {
        List<Kind> order = new ArrayList<>(List.of(Kind.values()));
        if (!plainFirst) {
          Collections.reverse(order);
        }
        for (Kind kind : order) {
          RequestFigures figures = measure(servers.get(kind), project, request, count);
          results.put(new Line(request, count, project, kind), figures);
          say(
              "%s, %s project, %d users, %s: %.2f a second%s",
              request.title(),
              project,
              count,
              kind.title,
              figures.perSecond(),
              figures.refused() == 0
                  ? ""
                  : String.format(
                      Locale.ROOT, ", %d refused: %s", figures.refused(), figures.lastRefusal()));
        }
      }
    }
  }

  private RequestFigures measure(RefsServer server, String project, RefsRequest request, int count)
      throws IOException {
    if (!run.has("--neighbour") || project.equals(SMALL)) {
      return server.measure(project, request, count, time);
    }
    RefsNeighbour neighbour = new RefsNeighbour(server.project(project));
    try (neighbour) {
      return server.measure(project, request, count, time);
    } finally {
      say("  %s", neighbour);
    }
  }

  /** As often as the small project takes; of more users, as seldom as it does so many. */
  private double timesSmall(Line line) {
    RequestFigures here = results.get(line);
    RequestFigures small = results.get(new Line(line.request, line.users, SMALL, line.kind));
    return line.users == 1
        ? here.percentile(50) / small.percentile(50)
        : small.perSecond() / here.perSecond();
  }

  private void printTable() {
    say("");
    for (int count : users) {
      say(
          "%s, %d s for each kind; milliseconds a request",
          counted(count, "user"), time.toSeconds());
      System.out.printf(
          Locale.ROOT,
          ROW,
          "",
          "refs",
          "done",
          "refused",
          "a second",
          "p50",
          "p95",
          "CPU ms",
          "x small");
      for (RefsRequest request : RefsRequest.values()) {
        say("%s", request.title());
        for (String project : List.of(LARGE, SMALL)) {
          for (Kind kind : Kind.values()) {
            Line line = new Line(request, count, project, kind);
            RequestFigures figures = results.get(line);
            System.out.printf(
                Locale.ROOT,
                ROW,
                kind.title,
                project,
                figures.millis().size(),
                figures.refused(),
                decimals(figures.perSecond()),
                decimals(figures.percentile(50)),
                decimals(figures.percentile(95)),
                decimals(figures.cpuMillis()),
                project.equals(SMALL) ? "" : decimals(timesSmall(line)));
          }
        }
      }
      say("");
    }
    long missed = 0;
    for (Line line : results.keySet()) {
      if (line.kind == Kind.OURS && line.project.equals(LARGE)) {
        double times = timesSmall(line);
        if (!(times <= MAX_TIMES_SMALL)) {
          missed++;
          say("  not in %s, %d users: %s times", line.request.title(), line.users, decimals(times));
        }
      }
    }
    int all = users.size() * RefsRequest.values().length;
    say(
        "Aim, no more than %s times what the small repository takes: reached in %d of %d",
        MAX_TIMES_SMALL, all - missed, all);
  }

  private void check() throws IOException {
    for (Map.Entry<Kind, RefsServer> server : servers.entrySet()) {
      for (String project : List.of(LARGE, SMALL)) {
        say(
            "git fsck is content, and all that was acknowledged is there, %s, %s project: %s",
            server.getKey().title, project, server.getValue().project(project).check());
      }
    }
  }

  private void writeJson() throws IOException {
    results.forEach(
        (line, ours) -> {
          if (line.kind == Kind.OURS) {
            String where = line.project.equals(LARGE) ? refsName(refs) : "small repository";
            where = String.format(Locale.ROOT, ", %s, %s", where, counted(line.users, "user"));
            RefsRequest request = line.request;
            Line plain = new Line(request, line.users, line.project, Kind.PLAIN);
            add(request.title(), where + ", vs plain Gerrit", ours, results.get(plain));
            if (line.project.equals(LARGE)) {
              Line small = new Line(request, line.users, SMALL, Kind.OURS);
              add(request.title(), where + ", vs small repository", ours, results.get(small));
            }
          }
        });
    run.writeJson();
  }

  private void add(String title, String where, RequestFigures ours, RequestFigures theirs) {
    run.addMoreIsBetter(
        title + " per second" + where, "requests/s", ours.perSecond(), theirs.perSecond());
    for (int percent : new int[] {50, 95}) {
      run.addLessIsBetter(
          title + " p" + percent + where,
          "ms",
          ours.percentile(percent),
          theirs.percentile(percent));
    }
    run.addLessIsBetter(title + " CPU" + where, "ms", ours.cpuMillis(), theirs.cpuMillis());
  }
}
