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
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Turn;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.DaemonMeter;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritWar;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;

/** A family of cases in a real Gerrit with this module and in a plain one. */
abstract class GerritsBench<C extends Case> extends Bench<C, GerritsBench.GerritPeer> {
  /** Who answers users' requests. */
  enum GerritPeer implements Peer {
    OURS("this module"),
    /** Its caches are H2's, and JGit reads its refs. */
    PLAIN("plain Gerrit"),
    /** The server of native git, for folders that no Gerrit uses. */
    NATIVE("native server");

    static final List<GerritPeer> GERRITS = List.of(OURS, PLAIN);

    private final String title;

    GerritPeer(String title) {
      this.title = title;
    }

    @Override
    public String title() {
      return title;
    }
  }

  /** A daemon that is asked, and what it takes for that. */
  record RunningGerrit(GerritDaemon daemon, DaemonMeter meter) implements AutoCloseable {
    static RunningGerrit start(GerritSite site) throws IOException {
      GerritDaemon daemon = GerritDaemon.start(site);
      return new RunningGerrit(daemon, new DaemonMeter(daemon));
    }

    Gerrit gerrit() {
      return daemon.gerrit();
    }

    /**
     * Has some clients call at once.
     *
     * @param clients each returns how long each of its calls took, nanoseconds
     */
    Turn turn(List<Callable<List<Long>>> clients) throws IOException {
      double cpu = meter.cpuMillis();
      double megabytes = meter.allocatedMegabytes();
      Turn calls = callsOf(clients);
      return new Turn(
          calls.wallNanos(),
          (long) ((meter.cpuMillis() - cpu) * 1e6),
          OptionalLong.of((long) ((meter.allocatedMegabytes() - megabytes) * 1e6)),
          calls.latencies());
    }

    /** The same of clients of another server, of which nothing is known. */
    static Turn callsOf(List<Callable<List<Long>>> clients) throws IOException {
      long begun = System.nanoTime();
      List<List<Long>> calls = AtOnce.run(clients);
      return new Turn(
          System.nanoTime() - begun,
          /* cpuNanos= */ 0,
          OptionalLong.empty(),
          calls.stream().flatMap(List::stream).mapToLong(Long::longValue).toArray());
    }

    @Override
    public void close() throws IOException {
      meter.close();
      daemon.stop();
    }
  }

  final Map<GerritPeer, GerritSite> sites = new EnumMap<>(GerritPeer.class);
  final Map<GerritPeer, RunningGerrit> running = new EnumMap<>(GerritPeer.class);

  GerritsBench(Session session) {
    super(session);
  }

  /** Fills a site in which no daemon runs. */
  interface Filling {
    void fill(GerritSite site) throws IOException, InterruptedException;
  }

  /** Makes and fills a plain site, and copies it to one with this module. */
  final void makeSites(Filling filling) throws IOException, InterruptedException {
    session.say("filling the site");
    GerritSite plain = GerritSite.init(session.folder().resolve("plain"));
    filling.fill(plain);
    session.say("copying the site");
    GerritSite ours = plain.copyTo(session.folder().resolve("ours"));
    ours.installModule(BuildFolder.moduleJar());
    sites.put(GerritPeer.OURS, ours);
    sites.put(GerritPeer.PLAIN, plain);
  }

  final void stop(GerritPeer peer) throws IOException {
    RunningGerrit stopped = running.remove(peer);
    if (stopped != null) {
      stopped.close();
    }
  }

  /** Starts one anew; it is stopped before if it runs. */
  final RunningGerrit restart(GerritPeer peer) throws IOException {
    stop(peer);
    RunningGerrit started = RunningGerrit.start(sites.get(peer));
    running.put(peer, started);
    return started;
  }

  @Override
  protected String versions() throws IOException {
    return "Gerrit " + GerritWar.version();
  }

  @Override
  protected List<GerritPeer> peers(C scenario) {
    return GerritPeer.GERRITS;
  }

  @Override
  protected void close() throws IOException {
    for (GerritPeer peer : GerritPeer.GERRITS) {
      stop(peer);
    }
  }
}
