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

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Bench;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Case;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Comparison;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Figure;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.RefsBench;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Samples;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.GitWorker.Operation;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ManyRefs;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;

/**
 * {@code bin/bench gerrit-git}: how long native git takes to push to a real Gerrit and to fetch
 * from it, plain and with this module by turns, in projects with many refs and in small ones.
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
      return operation.title();
    }

    @Override
    public String nameOf(String quantity) {
      return String.join(", ", quantity, part.title(), Bench.refs(refs));
    }

    @Override
    public List<Figure> figures(Comparison<?> result) {
      return result.inMillis(title(), part.clients > 1);
    }

    String project() {
      return part.kind.name().toLowerCase(Locale.ROOT) + "-" + refs;
    }

    @Override
    public String toString() {
      return nameOf(title());
    }
  }

  private final int refs;
  private final int real;
  private final int runs;
  private final List<Part> parts = new ArrayList<>();
  private final Map<String, List<GitWorker>> workers = new HashMap<>();
  private final Map<GerritPeer, GitServer> servers = new EnumMap<>(GerritPeer.class);

  private GerritGitBench(Session session) {
    super(session);
    refs = session.number("--refs", 500_000);
    real = session.number("--changes", 2000);
    runs = session.number("--runs", session.quick() ? 3 : 7);
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
        all.add(new Work(part, operation, refs));
        all.add(new Work(part, operation, SMALL_REFS));
      }
    }
    return all;
  }

  @Override
  protected List<GerritPeer> peers(Work scenario) {
    return scenario.operation.isMeasuredNative()
            && !scenario.part.ssh
            && scenario.part.account.equals(GitServer.ADMIN)
        ? List.of(GerritPeer.values())
        : GerritPeer.GERRITS;
  }

  @Override
  protected Optional<Work> small(Work scenario) {
    return Optional.of(new Work(scenario.part, scenario.operation, SMALL_REFS))
        .filter(small -> !small.equals(scenario));
  }

  @Override
  protected int rounds(Work scenario) {
    return runs;
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
    }
    for (GerritPeer peer : GerritPeer.GERRITS) {
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
    for (Work work : cases()) {
      projects.put(
          work.project(),
          new GitServer.Project(
              work.project(),
              work.part.kind,
              work.refs,
              (int) Math.min(real, work.refs * 95L / 200),
              work.refs == SMALL_REFS ? ManyRefs.FIRST_CHANGE - SMALL_REFS : 1));
    }
    return List.copyOf(projects.values());
  }

  /** What all parts and the warm-up delete together in one project at most. */
  private int oldBranches() {
    return warmUpRounds() * 2 + parts.stream().mapToInt(part -> part.clients * (1 + runs)).sum();
  }

  private int warmUpRounds() {
    return session.quick() ? 3 : 8;
  }

  /** Fails if it is not the same on both servers. */
  private void sayWhatIsSeen(String project) throws IOException {
    for (String account : List.of(GitServer.ADMIN, GitServer.READER)) {
      long plain = servers.get(GerritPeer.PLAIN).refsSeen(project, account);
      long ours = servers.get(GerritPeer.OURS).refsSeen(project, account);
      String seen =
          String.format(
              Locale.ROOT,
              "%s: %s sees %d refs, and with this module %d",
              project,
              account,
              plain,
              ours);
      System.out.println(seen);
      if (plain != ours) {
        throw new IOException(seen);
      }
    }
  }

  /** Until the code is compiled. */
  private void warmUp() throws IOException {
    System.out.println("warming up");
    Set<Operation> operations = new TreeSet<>();
    session.chosen(cases()).forEach(work -> operations.add(work.operation));
    for (int i = 0; i < warmUpRounds(); i++) {
      for (String account : List.of(GitServer.ADMIN, GitServer.READER)) {
        Part part = new Part(parts.getFirst().kind, 1, /* ssh= */ false, account);
        for (Operation operation : operations) {
          for (GerritPeer peer : GerritPeer.GERRITS) {
            measureOnce(new Work(part, operation, SMALL_REFS), peer, new Samples());
          }
        }
      }
    }
  }

  @Override
  protected void measure(Work scenario, GerritPeer peer, Samples samples, int round)
      throws IOException {
    if (round == 0) {
      measureOnce(scenario, peer, new Samples());
    }
    measureOnce(scenario, peer, samples);
  }

  private void measureOnce(Work scenario, GerritPeer peer, Samples samples) throws IOException {
    List<GitWorker> all = workers(scenario, peer);
    List<Callable<List<Long>>> tasks = new ArrayList<>();
    try {
      for (GitWorker worker : all) {
        List<String> command = worker.prepare(scenario.operation);
        tasks.add(() -> List.of(worker.work(command).toNanos()));
      }
      samples.add(
          peer == GerritPeer.NATIVE ? RunningGerrit.callsOf(tasks) : running.get(peer).turn(tasks));
    } catch (IOException e) {
      samples.refuse(scenario + ", " + peer.title() + ": " + e.getMessage());
    }
    for (GitWorker worker : all) {
      worker.tidy();
    }
  }

  private List<GitWorker> workers(Work scenario, GerritPeer peer) throws IOException {
    Part part = scenario.part;
    List<GitWorker> all =
        workers.computeIfAbsent(
            String.join(
                " ", peer.name(), scenario.project(), part.account, Boolean.toString(part.ssh)),
            unused -> new ArrayList<>());
    while (all.size() < part.clients) {
      all.add(servers.get(peer).worker(scenario.project(), part.account, part.ssh, all.size()));
    }
    return all.subList(0, part.clients);
  }
}
