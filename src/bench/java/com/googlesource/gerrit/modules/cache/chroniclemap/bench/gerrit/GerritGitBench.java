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

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsBench;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtExit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RefsServer;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Reftables;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RequestFigures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * {@code bin/bench gerrit-git}: how long native git takes to push to a real Gerrit and to fetch
 * from it, plain and with this module by turns, in projects with many refs and in small ones.
 */
final class GerritGitBench {
  private static final int SMALL_REFS = 1000;
  private static final int WARM_UP = 1;
  private static final String ROW = "  %-14s %-6s %5s %8s %9s %9s %9s %9s %9s %8s %8s%n";

  private enum Side {
    PLAIN("plain Gerrit"),
    OURS("this module"),
    NATIVE("native server");

    final String title;

    Side(String title) {
      this.title = title;
    }
  }

  /** Who works where, all of it in one part of the table. */
  private record Part(GitContents.Kind kind, int clients, boolean ssh, String account) {
    String title() {
      return String.format(
          Locale.ROOT,
          "%s, %s, %s, %s",
          kind == GitContents.Kind.CHANGES ? "refs of changes" : "tags",
          ssh ? "SSH" : "HTTP",
          account.equals(GitServer.ADMIN) ? "administrator" : "ordinary user",
          counted(clients, "client"));
    }
  }

  /** A line of the results. */
  private record Line(Part part, GitOperation operation, boolean large, Side side) {
    Line of(boolean size, Side other) {
      return new Line(part, operation, size, other);
    }
  }

  /** What was measured for a line. */
  private static final class Figures {
    final List<Double> millis = new ArrayList<>();
    final List<Double> serverMillis = new ArrayList<>();
    final List<Double> cpuMillis = new ArrayList<>();
    final List<Double> megabytes = new ArrayList<>();
    int refused;

    static double percentile(List<Double> figures, double percent) {
      List<Double> sorted = new ArrayList<>(figures);
      Collections.sort(sorted);
      return new RequestFigures(sorted, 0, 0, 0, "").percentile(percent);
    }

    double median() {
      return percentile(millis, 50);
    }
  }

  private final BenchRun run;
  private final int refs;
  private final int real;
  private final int runs;
  private final List<Part> parts = new ArrayList<>();
  private final Map<String, List<GitWorker>> workers = new HashMap<>();
  private final Map<Side, GitServer> servers = new EnumMap<>(Side.class);
  private final Map<Line, Figures> results = new LinkedHashMap<>();

  private GerritGitBench(BenchRun run) {
    this.run = run;
    refs = run.number("--refs", 500_000);
    real = run.number("--changes", 2000);
    runs = run.number("--runs", run.isQuick() ? 3 : 7);
    String kinds = run.value("--kind").orElse("both");
    for (GitContents.Kind kind : GitContents.Kind.values()) {
      if (kinds.equals("both") || kinds.equals(kind.name().toLowerCase(Locale.ROOT))) {
        for (int count : run.numbers("--clients", "1")) {
          for (boolean ssh : run.has("--ssh") ? new boolean[] {false, true} : new boolean[1]) {
            parts.add(new Part(kind, count, ssh, GitServer.ADMIN));
            parts.add(new Part(kind, count, ssh, GitServer.READER));
          }
        }
      }
    }
  }

  public static void main(String[] args) throws Exception {
    new GerritGitBench(new BenchRun(args)).run();
  }

  private void run() throws Exception {
    run.printHead(
        String.format(
            Locale.ROOT,
            "%d and %d refs%s",
            refs,
            SMALL_REFS,
            run.has("--reftable") ? " in a reftable" : ""),
        "Client    " + RefsBench.gitVersion());
    Path root = Files.createTempDirectory("cache-chroniclemap-git-");
    AtExit.add(() -> Folders.delete(root));
    try {
      say("filling the repositories");
      GerritSite plain = GerritSite.init(root.resolve("plain"));
      List<GitServer.Project> projects = projects();
      GitServer.prepare(plain, projects, oldBranches());
      GerritSite ours = plain.copyTo(root.resolve("ours"));
      ours.installModule(BuildFolder.moduleJar());
      ours.installRefsModule();
      Path folders = root.resolve("native");
      for (GitServer.Project project : projects) {
        Folders.copy(plain.repository(project.name()), folders.resolve(project.name() + ".git"));
      }
      if (run.has("--reftable")) {
        Reftables.enableInPlain(plain);
        for (GitServer.Project project : projects) {
          Reftables.convert(plain.repository(project.name()));
          Reftables.convert(ours.repository(project.name()));
        }
      }
      servers.put(Side.PLAIN, GitServer.start(plain, root.resolve("plain-clients")));
      servers.put(Side.OURS, GitServer.start(ours, root.resolve("ours-clients")));
      servers.put(Side.NATIVE, GitServer.ofFolders(folders));
      for (GitServer.Project project : projects) {
        sayWhatIsSeen(project.name());
      }
      warmUp();
      for (Part part : parts) {
        measure(part);
      }
      printTable();
      writeJson();
    } finally {
      for (GitServer server : servers.values()) {
        server.close();
      }
      Folders.delete(root);
    }
  }

  /** Fails if it is not the same on both servers. */
  private void sayWhatIsSeen(String project) throws IOException {
    Map<String, Long> seen = new LinkedHashMap<>();
    for (String account : List.of(GitServer.ADMIN, GitServer.READER)) {
      for (Side side : List.of(Side.PLAIN, Side.OURS)) {
        long count = servers.get(side).refsSeen(project, account);
        Long other = seen.put(account, count);
        if (other != null && other != count) {
          throw new IOException(
              String.format(
                  Locale.ROOT,
                  "%s: %s sees %d refs, and with this module %d",
                  project,
                  account,
                  other,
                  count));
        }
      }
    }
    say("%s: refs that are seen: %s", project, seen);
  }

  private List<GitServer.Project> projects() {
    List<GitServer.Project> projects = new ArrayList<>();
    for (GitContents.Kind kind : parts.stream().map(Part::kind).distinct().toList()) {
      for (boolean large : new boolean[] {true, false}) {
        int count = large ? refs : SMALL_REFS;
        projects.add(
            new GitServer.Project(
                project(kind, large),
                kind,
                count,
                (int) Math.min(real, count * 95L / 200),
                large ? 1 : RefsServer.FIRST_CHANGE - SMALL_REFS));
      }
    }
    return projects;
  }

  private static String project(GitContents.Kind kind, boolean large) {
    return (large ? "large-" : "small-") + kind.name().toLowerCase(Locale.ROOT);
  }

  /** What all parts and the warm-up delete together in one project at most. */
  private int oldBranches() {
    int each = WARM_UP + runs;
    return warmUpRounds() * 2 + parts.stream().mapToInt(part -> part.clients * each).sum();
  }

  private int warmUpRounds() {
    return run.isQuick() ? 3 : 8;
  }

  private boolean isWanted(Part part, GitOperation operation) {
    return run.isWanted(operation.title() + ", " + part.title())
        && !(part.ssh && operation == GitOperation.LONG_WANTS);
  }

  private static boolean has(Side side, Line line) {
    return side != Side.NATIVE
        || (line.operation.isMeasuredNative()
            && !line.part.ssh
            && line.part.account.equals(GitServer.ADMIN));
  }

  /** Until the code is compiled. */
  private void warmUp() throws IOException {
    say("warming up");
    for (int i = 0; i < warmUpRounds(); i++) {
      for (String account : List.of(GitServer.ADMIN, GitServer.READER)) {
        Part part = new Part(parts.getFirst().kind, 1, false, account);
        for (GitOperation operation : GitOperation.values()) {
          for (Side side : List.of(Side.PLAIN, Side.OURS)) {
            if (isWanted(part, operation)) {
              measure(new Line(part, operation, false, side), new Figures());
            }
          }
        }
      }
    }
  }

  private void measure(Part part) throws IOException {
    for (GitOperation operation : GitOperation.values()) {
      for (boolean large : new boolean[] {true, false}) {
        if (isWanted(part, operation)) {
          measure(part, operation, large);
        }
      }
    }
  }

  private void measure(Part part, GitOperation operation, boolean large) throws IOException {
    List<Side> order = new ArrayList<>(List.of(Side.values()));
    for (int run = -WARM_UP; run < runs; run++) {
      Collections.reverse(order);
      for (Side side : order) {
        Line line = new Line(part, operation, large, side);
        if (has(side, line)) {
          Figures figures =
              run < 0 ? new Figures() : results.computeIfAbsent(line, unused -> new Figures());
          measure(line, figures);
        }
      }
    }
    StringBuilder said = new StringBuilder();
    for (Side side : Side.values()) {
      Figures figures = results.get(new Line(part, operation, large, side));
      if (figures != null) {
        said.append(
            String.format(Locale.ROOT, " %s %s ms", side.title, decimals(figures.median())));
      }
    }
    say("%s, %s, %s:%s", operation.title(), large ? "large" : "small", part.title(), said);
  }

  private void measure(Line line, Figures figures) throws IOException {
    GitServer server = servers.get(line.side);
    List<Callable<Double>> tasks = new ArrayList<>();
    List<GitWorker> all = workers(line);
    try {
      for (GitWorker worker : all) {
        List<String> command = worker.prepare(line.operation);
        tasks.add(() -> worker.work(command).toNanos() / 1e6);
      }
      long log = server.httpLogSize();
      double cpu = server.cpuMillis();
      double megabytes = server.allocatedMegabytes();
      List<Double> millis = AtOnce.run(tasks);
      figures.cpuMillis.add((server.cpuMillis() - cpu) / millis.size());
      figures.megabytes.add((server.allocatedMegabytes() - megabytes) / millis.size());
      figures.millis.addAll(millis);
      var unused = server.httpLogSize();
      figures.serverMillis.add(server.httpMillis(log) / millis.size());
    } catch (IOException e) {
      if (figures.refused++ == 0) {
        say("refused, %s, %s: %s", line.side.title, line.part.title(), e.getMessage());
      }
    }
    for (GitWorker worker : all) {
      worker.tidy();
    }
  }

  private List<GitWorker> workers(Line line) throws IOException {
    String project = project(line.part.kind, line.large);
    List<GitWorker> all =
        workers.computeIfAbsent(
            String.format(
                Locale.ROOT, "%s %s %s %s", line.side, project, line.part.account, line.part.ssh),
            unused -> new ArrayList<>());
    while (all.size() < line.part.clients) {
      all.add(servers.get(line.side).worker(project, line.part.account, line.part.ssh, all.size()));
    }
    return all.subList(0, line.part.clients);
  }

  private void printTable() {
    for (Part part : parts) {
      say("");
      say("%s; milliseconds", part.title());
      System.out.printf(
          Locale.ROOT,
          ROW,
          "",
          "refs",
          "done",
          "refused",
          "p50",
          "p95",
          "server",
          "CPU",
          "garbage",
          "x plain",
          "x small");
      for (GitOperation operation : GitOperation.values()) {
        if (isWanted(part, operation)) {
          say("%s", operation.title());
          for (boolean large : new boolean[] {true, false}) {
            for (Side side : Side.values()) {
              printLine(new Line(part, operation, large, side));
            }
          }
        }
      }
    }
    say("");
    say(
        "server: how long the daemon worked for the requests, of its httpd_log. CPU and garbage (MB)");
    say("are the daemon's. All three are medians for one client.");
  }

  private void printLine(Line line) {
    Figures figures = results.get(line);
    if (figures == null) {
      return;
    }
    boolean daemon = line.side != Side.NATIVE;
    System.out.printf(
        Locale.ROOT,
        ROW,
        line.side.title,
        line.large ? "large" : "small",
        figures.millis.size(),
        figures.refused,
        decimals(figures.median()),
        decimals(Figures.percentile(figures.millis, 95)),
        daemon && !line.part.ssh ? median(figures.serverMillis) : "",
        daemon ? median(figures.cpuMillis) : "",
        daemon ? median(figures.megabytes) : "",
        line.side == Side.PLAIN ? "" : times(line, line.of(line.large, Side.PLAIN)),
        line.large ? times(line, line.of(false, line.side)) : "");
  }

  private static String median(List<Double> figures) {
    return decimals(Figures.percentile(figures, 50));
  }

  private String times(Line line, Line other) {
    return decimals(results.get(line).median() / results.get(other).median());
  }

  private void writeJson() throws IOException {
    for (Line line : results.keySet()) {
      if (line.side == Side.OURS) {
        add(line, line.of(line.large, Side.PLAIN), "vs plain Gerrit");
        if (line.large) {
          add(line, line.of(false, Side.OURS), "vs small repository");
        }
        if (results.containsKey(line.of(line.large, Side.NATIVE))) {
          add(line, line.of(line.large, Side.NATIVE), "vs native server");
        }
      }
    }
    run.writeJson();
  }

  private void add(Line line, Line peer, String versus) {
    Figures ours = results.get(line);
    Figures theirs = results.get(peer);
    String where =
        String.format(
            Locale.ROOT,
            ", %s, %s, %s",
            line.large ? refsName(refs) : "small repository",
            line.part.title(),
            versus);
    for (int percent : new int[] {50, 95}) {
      add(line, " p" + percent + where, "ms", ours.millis, theirs.millis, percent);
    }
    if (peer.side != Side.NATIVE) {
      if (!line.part.ssh) {
        add(line, " server" + where, "ms", ours.serverMillis, theirs.serverMillis, 50);
      }
      add(line, " CPU" + where, "ms", ours.cpuMillis, theirs.cpuMillis, 50);
      add(line, " garbage" + where, "MB", ours.megabytes, theirs.megabytes, 50);
    }
  }

  private void add(
      Line line, String what, String unit, List<Double> ours, List<Double> theirs, int percent) {
    run.addLessIsBetter(
        line.operation.title() + what,
        unit,
        Figures.percentile(ours, percent),
        Figures.percentile(theirs, percent));
  }
}
