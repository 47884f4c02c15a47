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

import com.google.common.collect.HashBasedTable;
import com.google.common.collect.Table;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Bench;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Case;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Comparison;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Figure;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsBench;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Samples;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Turn;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.GitWorker.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.GitWorker.Operation;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ManyRefs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.eclipse.jgit.lib.Constants;

/**
 * {@code bin/bench gerrit-git}: how long native git takes to push to a real Gerrit and to fetch
 * from it, and requests by REST, plain and with this module by turns, in projects with many refs
 * and in small ones.
 */
final class GerritGitBench extends GerritsBench<GerritGitBench.Work> {
  private static final int SMALL_REFS = 1000;

  /** Who works where. */
  private record Part(GitContents.Kind kind, int clients, boolean ssh, String account) {
    String title() {
      return String.join(
          ", ",
          kind == GitContents.Kind.CHANGES ? "refs of changes" : "tags",
          ssh ? "SSH" : "HTTP",
          account.equals(GitServer.ADMIN) ? "administrator" : "ordinary user",
          Bench.counted(clients, "client"));
    }
  }

  /** What git does in a project with so many refs. */
  record Work(Part part, Operation operation, int refs) implements Case {
    @Override
    public String title() {
      return operation.title;
    }

    @Override
    public String nameOf(String quantity) {
      return String.join(", ", quantity, part.title(), Bench.refs(refs));
    }

    /** How many times as fast; where many push, how many times as many in a second. */
    @Override
    public double times(Samples ours, Samples theirs) {
      return operation == Operation.PUSHES
          ? ours.opsPerSecond() / theirs.opsPerSecond()
          : Case.super.times(ours, theirs);
    }

    @Override
    public List<Figure> figures(Comparison<?> result) {
      return result.inMillis(title(), part.clients > 1);
    }

    String project() {
      return part.kind.name().toLowerCase(Locale.ROOT) + "-" + refs;
    }

    Work with(Operation other) {
      return new Work(part, other, refs);
    }

    Work inSmall() {
      return new Work(part, operation, SMALL_REFS);
    }
  }

  private final int refs;
  private final int real;
  private final int runs;

  /** For which clients push again and again, in all rounds together. */
  private final Duration time;

  private final List<GerritPeer> gerrits;
  private final List<Part> parts = new ArrayList<>();
  private final Map<List<Object>, List<GitWorker>> workers = new HashMap<>();
  private final Map<GerritPeer, GitServer> servers = new EnumMap<>(GerritPeer.class);

  /** What parts of the last {@code git review} took. */
  private final Table<Work, GerritPeer, Turn> partsOfReview = HashBasedTable.create();

  private GerritGitBench(Session session) {
    super(session);
    refs = session.number("--refs", 500_000);
    real = session.number("--changes", 2000);
    runs = session.number("--runs", session.quick() ? 3 : 7);
    time = Duration.ofSeconds(session.number("--seconds", session.quick() ? 10 : 60));
    gerrits = session.has("--alone") ? List.of(GerritPeer.OURS) : GerritPeer.GERRITS;
    String kinds = session.value("--kind").orElse("both");
    for (GitContents.Kind kind : GitContents.Kind.values()) {
      if (kinds.equals("both") || kinds.equals(kind.name().toLowerCase(Locale.ROOT))) {
        for (int count : session.numbers("--clients", "1")) {
          for (boolean ssh : session.has("--ssh") ? new boolean[] {false, true} : new boolean[1]) {
            parts.add(new Part(kind, count, ssh, GitServer.ADMIN));
            parts.add(new Part(kind, count, ssh, GitServer.READER));
          }
        }
      }
    }
  }

  public static void main(String[] args) {
    Session.run(args, session -> new GerritGitBench(session).run());
  }

  @Override
  protected String versions() throws IOException {
    return super.versions() + ", " + RefsBench.gitVersion();
  }

  @Override
  protected List<Work> cases() {
    List<Work> all = new ArrayList<>();
    for (Part part : parts) {
      for (Operation operation : Operation.values()) {
        boolean isFor =
            operation.isByRest()
                ? !part.ssh && part.account.equals(GitServer.ADMIN)
                : part.clients > 1 || !operation.isSteady();
        if (isFor) {
          all.add(new Work(part, operation, refs));
          all.add(new Work(part, operation, SMALL_REFS));
        }
      }
    }
    return all;
  }

  @Override
  protected List<GerritPeer> peers(Work scenario) {
    List<GerritPeer> peers = new ArrayList<>(gerrits);
    if (scenario.operation.isMeasuredNative()
        && !scenario.part.ssh
        && scenario.part.account.equals(GitServer.ADMIN)) {
      peers.add(GerritPeer.NATIVE);
    }
    return peers;
  }

  @Override
  protected Optional<Work> small(Work scenario) {
    return Optional.of(scenario.inSmall()).filter(small -> !small.equals(scenario));
  }

  @Override
  protected int rounds(Work scenario) {
    return scenario.operation.isSteady() ? Math.min(runs, 2) : runs;
  }

  @Override
  protected Object group(Work scenario) {
    return Operation.OF_REVIEW.contains(scenario.operation)
        ? scenario.with(Operation.REVIEW)
        : scenario;
  }

  @Override
  protected void prepare() throws IOException, InterruptedException {
    List<GitServer.Project> projects = projects();
    makeSites(site -> GitServer.prepare(site, projects, oldBranches()));
    sites.get(GerritPeer.OURS).installRefsModule();
    Path folders = session.folder().resolve("native");
    for (GitServer.Project project : projects) {
      Folders.copy(
          sites.get(GerritPeer.PLAIN).repository(project.name()),
          folders.resolve(project.name() + ".git"));
      // Of the refs of changes, which Gerrit does not tell to who pushes, it takes no note either.
      Files.writeString(
          folders.resolve(project.name() + ".git").resolve(Constants.CONFIG),
          """
          [receive]
          hideRefs = refs/changes
          [core]
          alternateRefsPrefixes = refs/heads
          """,
          StandardOpenOption.APPEND);
    }
    session.say("starting");
    for (GerritPeer peer : gerrits) {
      servers.put(peer, GitServer.of(restart(peer), session.folder().resolve(peer + "-clients")));
    }
    servers.put(GerritPeer.NATIVE, GitServer.ofFolders(folders));
    for (GitServer.Project project : projects) {
      sayWhatIsSeen(project.name());
    }
    warmUp();
  }

  private List<GitServer.Project> projects() {
    Map<String, GitServer.Project> projects = new LinkedHashMap<>();
    for (Work work : session.chosen(cases(), Case::name)) {
      for (Work each : List.of(work, work.inSmall())) {
        projects.put(
            each.project(),
            new GitServer.Project(
                each.project(),
                each.part.kind,
                each.refs,
                real,
                each.refs == SMALL_REFS ? ManyRefs.FIRST_CHANGE - SMALL_REFS : 1));
      }
    }
    return List.copyOf(projects.values());
  }

  /** What all cases and the warm-up delete together in one project at most. */
  private int oldBranches() {
    return session.chosen(cases(), Case::name).stream()
        .filter(work -> work.operation.isDeletion())
        .mapToInt(work -> work.part.clients * (1 + runs) + warmUpRounds())
        .sum();
  }

  private int warmUpRounds() {
    return session.quick() ? 3 : 8;
  }

  /** Fails if it is not the same on both servers. */
  private void sayWhatIsSeen(String project) throws IOException {
    for (String account : List.of(GitServer.ADMIN, GitServer.READER)) {
      Set<Long> counts = new TreeSet<>();
      for (GerritPeer peer : gerrits) {
        counts.add(servers.get(peer).refsSeen(project, account));
      }
      session.say(project + ": refs that " + account + " sees: " + counts);
      if (counts.size() > 1) {
        throw new IOException("more than with the other Gerrit");
      }
    }
  }

  /** Until the code is compiled. */
  private void warmUp() throws IOException {
    session.say("warming up");
    Set<Work> works = new LinkedHashSet<>();
    for (Work work : session.chosen(cases(), Case::name)) {
      Part part = new Part(work.part.kind, 1, work.part.ssh, work.part.account);
      works.add(new Work(part, work.operation, SMALL_REFS));
    }
    for (int i = 0; i < warmUpRounds(); i++) {
      for (Work work : works) {
        for (GerritPeer peer : gerrits) {
          measureOnce(work, peer, new Samples(), time.dividedBy(16));
        }
      }
    }
  }

  @Override
  protected void measure(Work scenario, GerritPeer peer, Samples samples, int round)
      throws IOException {
    Turn part = partsOfReview.remove(scenario, peer);
    if (part != null) {
      samples.add(part);
      return;
    }
    if (round == 0) {
      measureOnce(scenario, peer, new Samples(), Duration.ZERO);
    }
    measureOnce(scenario, peer, samples, time.dividedBy(rounds(scenario)));
  }

  private void measureOnce(Work scenario, GerritPeer peer, Samples samples, Duration period)
      throws IOException {
    try {
      samples.add(
          switch (scenario.operation) {
            case REVIEW -> review(scenario, peer);
            case PUSHES, PUSHES_MEANWHILE -> pushes(scenario, peer, samples, period);
            default -> once(scenario, peer);
          });
    } catch (IOException e) {
      samples.refuse(scenario.name() + ", " + peer.title() + ": " + e.getMessage());
    }
  }

  private Turn review(Work scenario, GerritPeer peer) throws IOException {
    partsOfReview.column(peer).clear();
    List<Turn> turns = new ArrayList<>();
    for (Operation operation : Operation.OF_REVIEW) {
      Work part = scenario.with(operation);
      turns.add(once(part, peer));
      partsOfReview.put(part, peer, turns.getLast());
    }
    return turns.stream().reduce(Turn::then).orElseThrow();
  }

  private Turn once(Work scenario, GerritPeer peer) throws IOException {
    List<Callable<List<Long>>> tasks = new ArrayList<>();
    for (GitWorker worker : workers(scenario, scenario.part.clients, peer)) {
      Call call = worker.prepare(scenario.operation);
      tasks.add(() -> List.of(nanos(call)));
    }
    return peer == GerritPeer.NATIVE ? RunningGerrit.callsOf(tasks) : running.get(peer).turn(tasks);
  }

  /**
   * All clients push for a while. Or they do so to be in the way of a sixteenth as many others, who
   * push to the small project.
   */
  private Turn pushes(Work scenario, GerritPeer peer, Samples samples, Duration period)
      throws IOException {
    int clients = scenario.part.clients;
    List<GitWorker> load = workers(scenario, clients, peer);
    List<Callable<List<Long>>> tasks = new ArrayList<>();
    if (scenario.operation == Operation.PUSHES_MEANWHILE) {
      for (GitWorker worker : load) {
        tasks.add(
            () -> {
              var unused = push(worker, samples, period);
              return List.of();
            });
      }
      int all = clients + (clients + 15) / 16;
      workers(scenario.inSmall(), all, peer)
          .subList(clients, all)
          .forEach(worker -> tasks.add(() -> push(worker, samples, period)));
      // What the daemon takes for all of them is not that of these.
      return RunningGerrit.callsOf(tasks);
    }
    for (GitWorker worker : load) {
      tasks.add(() -> push(worker, samples, period));
    }
    return running.get(peer).turn(tasks);
  }

  /** Once in any case. */
  private static List<Long> push(GitWorker worker, Samples samples, Duration period) {
    List<Long> calls = new ArrayList<>();
    Deadline clock = Deadline.in(period);
    do {
      try {
        calls.add(nanos(worker.prepare(Operation.PUSHES)));
      } catch (IOException e) {
        samples.refuse(e.toString());
      }
    } while (clock.elapsed().compareTo(period) < 0);
    return calls;
  }

  private static long nanos(Call call) throws IOException {
    long begun = System.nanoTime();
    call.run();
    return System.nanoTime() - begun;
  }

  private List<GitWorker> workers(Work scenario, int count, GerritPeer peer) throws IOException {
    Part part = scenario.part;
    boolean clone = scenario.operation.needsClone();
    List<GitWorker> all =
        workers.computeIfAbsent(
            Arrays.asList(peer, scenario.project(), part.account, part.ssh, clone),
            unused -> new ArrayList<>());
    while (all.size() < count) {
      all.add(
          servers.get(peer).worker(scenario.project(), part.account, part.ssh, clone, all.size()));
    }
    return all.subList(0, count);
  }
}
