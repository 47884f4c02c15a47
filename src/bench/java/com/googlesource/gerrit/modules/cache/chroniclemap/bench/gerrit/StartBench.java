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

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Case;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Comparison;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Figure;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.PageCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Samples;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Turn;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * {@code bin/bench start}: how long a real Gerrit takes from the start of its process until it is
 * ready and until it has answered, after a clean stop and after a SIGKILL.
 */
final class StartBench extends GerritsBench<StartBench.Start> {
  private static final String PROJECT = "start";
  private static final String CHANGE = "/changes/" + PROJECT + "~1";

  /** What is waited for, one after the other. */
  private enum Moment {
    READY("ready"),
    DETAIL("first change detail"),
    DIFF("then a file diff");

    final String title;

    Moment(String title) {
      this.title = title;
    }
  }

  /** A moment of a start. */
  record Start(Moment moment, boolean killed) implements Case {
    @Override
    public String title() {
      return moment.title;
    }

    @Override
    public String nameOf(String quantity) {
      return quantity + (killed ? ", after a SIGKILL" : ", after a clean stop");
    }

    @Override
    public List<Figure> figures(Comparison<?> result) {
      return result.inMillis(title(), /* withRate= */ false);
    }

    @Override
    public String toString() {
      return nameOf(title());
    }
  }

  private final int changes;
  private final boolean cold;

  /** What came of the last start, by moment. */
  private final Map<GerritPeer, Map<Moment, Turn>> last = new EnumMap<>(GerritPeer.class);

  private StartBench(Session session) {
    super(session);
    changes = session.number("--changes", 20);
    cold = session.has("--cold");
  }

  public static void main(String[] args) {
    Session.run(args, session -> new StartBench(session).run());
  }

  @Override
  protected List<Start> cases() {
    List<Start> all = new ArrayList<>();
    for (boolean killed : new boolean[] {false, true}) {
      for (Moment moment : Moment.values()) {
        all.add(new Start(moment, killed));
      }
    }
    return all;
  }

  @Override
  protected int rounds(Start scenario) {
    return session.number("--runs", 7);
  }

  /** A start that is killed ends what one after a clean stop has begun. */
  @Override
  protected Object group(Start scenario) {
    return this;
  }

  @Override
  protected void prepare() throws IOException, InterruptedException {
    if (cold && !PageCache.canBeEmptied()) {
      throw new IOException("--cold needs root");
    }
    makeSites(this::fill);
    // It has all values on disk then, as the other one.
    try (RunningGerrit ours = RunningGerrit.start(sites.get(GerritPeer.OURS))) {
      for (int change = 1; change <= changes; change++) {
        var unused = ours.gerrit().rest().get("/changes/" + PROJECT + "~" + change + "/detail");
      }
    }
  }

  private void fill(GerritSite site) throws IOException {
    try (RunningGerrit plain = RunningGerrit.start(site)) {
      plain.gerrit().createProject(PROJECT);
      Workload work = new Workload(plain.gerrit(), PROJECT);
      work.push(changes);
      var unused = work.readAll(plain.gerrit().rest());
    }
  }

  @Override
  protected void measure(Start scenario, GerritPeer peer, Samples samples, int round)
      throws IOException {
    if (scenario.moment == Moment.READY) {
      last.put(peer, start(peer, scenario.killed));
    }
    samples.add(last.get(peer).get(scenario.moment));
  }

  private Map<Moment, Turn> start(GerritPeer peer, boolean killed) throws IOException {
    if (cold) {
      PageCache.empty();
    }
    Map<Moment, Turn> moments = new EnumMap<>(Moment.class);
    GerritDaemon daemon = GerritDaemon.start(sites.get(peer));
    try (daemon) {
      moments.put(Moment.READY, turn(daemon.readyAfter(), daemon.readyCpu()));
      RestClient rest = new Gerrit(daemon.site()).rest();
      var unused = rest.get(CHANGE + "/detail");
      moments.put(Moment.DETAIL, turn(daemon.sinceStart(), daemon.cpu()));
      unused = rest.get(CHANGE + "/revisions/current/files/src%2Fc0%2FFile0.txt/diff");
      moments.put(Moment.DIFF, turn(daemon.sinceStart(), daemon.cpu()));
      if (!killed) {
        // For the start after a SIGKILL, which comes next.
        daemon.kill();
      }
    }
    return moments;
  }

  private static Turn turn(Duration time, Duration cpu) {
    return new Turn(
        time.toNanos(), cpu.toNanos(), OptionalLong.empty(), new long[] {time.toNanos()});
  }
}
