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
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Samples;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.RefsUser.Request;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * {@code bin/bench gerrit-refs}: what requests that change refs cost in a real Gerrit, plain and
 * with {@code PackedRefsModule} by turns, in a project with many packed refs and in a small one.
 */
final class GerritRefsBench extends GerritsBench<GerritRefsBench.Changing> {
  private static final int SMALL_REFS = 1000;

  /** Of each project, to be deleted. */
  private static final int OLD_BRANCHES = 6000;

  /** What users ask for at once, in a project with so many refs. */
  record Changing(Request request, int users, int refs) implements Case {
    @Override
    public String title() {
      return request.title;
    }

    @Override
    public String nameOf(String quantity) {
      return String.join(", ", quantity, Bench.refs(refs), Bench.counted(users, "user"));
    }

    /** How many times as fast; of many users, how many times as many in a second. */
    @Override
    public double times(Samples ours, Samples theirs) {
      return users == 1
          ? Case.super.times(ours, theirs)
          : ours.opsPerSecond() / theirs.opsPerSecond();
    }

    @Override
    public List<Figure> figures(Comparison<?> result) {
      return result.inMillis(title(), /* withRate= */ true);
    }

    @Override
    public String toString() {
      return nameOf(title());
    }
  }

  /** Users of one project of one server. */
  private record Team(GerritPeer peer, int refs, List<RefsUser> users) {}

  private final int refs;
  private final List<Integer> users;
  private final int rounds;

  /** Of a round. */
  private final Duration time;

  private final List<Team> teams = new ArrayList<>();

  private GerritRefsBench(Session session) {
    super(session);
    refs = session.number("--refs", 500_000);
    users = session.numbers("--users", "1,8");
    rounds = session.quick() ? 1 : 2;
    time =
        Duration.ofSeconds(session.number("--seconds", session.quick() ? 2 : 10)).dividedBy(rounds);
  }

  public static void main(String[] args) {
    Session.run(args, session -> new GerritRefsBench(session).run());
  }

  @Override
  protected List<Changing> cases() {
    List<Changing> all = new ArrayList<>();
    for (int count : users) {
      for (Request request : Request.values()) {
        all.add(new Changing(request, count, refs));
        all.add(new Changing(request, count, SMALL_REFS));
      }
    }
    return all;
  }

  @Override
  protected Optional<Changing> small(Changing scenario) {
    return Optional.of(new Changing(scenario.request, scenario.users, SMALL_REFS))
        .filter(small -> !small.equals(scenario));
  }

  @Override
  protected int rounds(Changing scenario) {
    return rounds;
  }

  @Override
  protected void prepare() throws IOException, InterruptedException {
    List<GitServer.Project> projects =
        List.of(project("large", refs, 1), project("small", SMALL_REFS, refs));
    makeSites(site -> GitServer.prepare(site, projects, OLD_BRANCHES));
    sites.get(GerritPeer.OURS).installRefsModule();
    for (GerritPeer peer : GerritPeer.GERRITS) {
      Gerrit gerrit = restart(peer).gerrit();
      List<Integer> accounts = new ArrayList<>();
      for (int i = 0; i < Collections.max(users); i++) {
        accounts.add(gerrit.createAdministrator("user" + i));
      }
      for (GitServer.Project project : projects) {
        AtomicInteger nextOld = new AtomicInteger();
        List<RefsUser> all = new ArrayList<>();
        for (int i = 0; i < accounts.size(); i++) {
          all.add(
              new RefsUser(
                  sites.get(peer),
                  "user" + i,
                  accounts.get(i),
                  project.name(),
                  () -> nextOld.get() < OLD_BRANCHES,
                  nextOld::getAndIncrement));
        }
        teams.add(new Team(peer, project.refs(), all));
      }
    }
    System.out.println("warming up");
    for (Team team : teams) {
      // Until the code is compiled, and the lists are known.
      boolean small = team.refs == SMALL_REFS;
      for (Request request : Request.values()) {
        Changing warmUp = new Changing(request, small ? users.getLast() : 1, team.refs);
        ask(team, warmUp, new Samples(), small ? time.dividedBy(2) : Duration.ZERO);
      }
    }
  }

  private static GitServer.Project project(String name, int refs, int firstChange) {
    return new GitServer.Project(name, GitContents.Kind.CHANGES, refs, /* real= */ 0, firstChange);
  }

  @Override
  protected void measure(Changing scenario, GerritPeer peer, Samples samples, int round)
      throws IOException {
    for (Team team : teams) {
      if (team.peer == peer && team.refs == scenario.refs) {
        ask(team, scenario, samples, time);
      }
    }
  }

  private void ask(Team team, Changing scenario, Samples samples, Duration period)
      throws IOException {
    Deadline clock = Deadline.in(period);
    List<Callable<List<Long>>> tasks = new ArrayList<>();
    for (RefsUser user : team.users.subList(0, scenario.users)) {
      tasks.add(() -> askUntil(user, scenario.request, samples, clock, period));
    }
    samples.add(running.get(team.peer).turn(tasks));
  }

  /** Once in any case. */
  private static List<Long> askUntil(
      RefsUser user, Request request, Samples samples, Deadline clock, Duration period) {
    List<Long> calls = new ArrayList<>();
    while (user.can(request)) {
      long begun = System.nanoTime();
      try {
        user.ask(request);
        calls.add(System.nanoTime() - begun);
      } catch (IOException e) {
        samples.refuse(e.toString());
      }
      if (clock.elapsed().compareTo(period) > 0) {
        break;
      }
    }
    return calls;
  }

  @Override
  protected void close() throws IOException {
    teams.forEach(team -> team.users.forEach(RefsUser::close));
    super.close();
  }
}
