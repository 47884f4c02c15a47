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

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.ImmutableList;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Case;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Comparison;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Figure;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Samples;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Turn;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.Readers.Request;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.Readers.Spread;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.eclipse.jgit.lib.Constants;

/**
 * {@code bin/bench gerrit}: what users' requests cost in a real Gerrit with H2 caches and in one
 * with this module, by turns, on the same changes; after a restart too.
 */
final class GerritBench extends GerritsBench<GerritBench.Reading> {
  private static final String PROJECT = "work";

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

  private static final String SMALL_MEMORY = "256k";
  private static final String NEVER = "[core]\n\ttrustStat = never\n";

  /** A Gerrit is warm when this long a time takes it no less of the processors than the best. */
  private static final Duration WARM_UP_SLICE = Duration.ofSeconds(10);

  private static final double STEADY = 0.97;
  private static final int WARM_UP_SLICES = 12;

  /** How both servers are set, and in what state they are. */
  private enum Part {
    DEFAULT_MEMORY("default memoryLimit"),
    RESTART("after a restart"),
    TRUST_NEVER("trustStat never, with PackedRefsModule"),
    SMALL_MEMORY("small memoryLimit");

    final String title;

    Part(String title) {
      this.title = title;
    }
  }

  /**
   * What users ask for.
   *
   * @param period in all rounds together
   * @param most so many requests are made at most
   */
  record Reading(Part part, Request request, Spread spread, Duration period, int most)
      implements Case {
    @Override
    public String title() {
      if (part != Part.RESTART) {
        return request.title;
      }
      return most < Integer.MAX_VALUE
          ? "first " + most + " requests"
          : "first " + period.toSeconds() + " s";
    }

    @Override
    public String nameOf(String quantity) {
      return String.join(", ", quantity, spread.title, part.title);
    }

    /** How many times as many requests were answered in a second. */
    @Override
    public double times(Samples ours, Samples theirs) {
      return ours.opsPerSecond() / theirs.opsPerSecond();
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

  private final int changes;
  private final int users;
  private final int rounds;
  private final int warmUpSlices;
  private final Duration time;
  private final Map<GerritPeer, Readers> readers = new EnumMap<>(GerritPeer.class);
  private Workload work;

  private GerritBench(Session session) {
    super(session);
    boolean quick = session.quick();
    changes = session.number("--changes", quick ? 300 : 3000);
    users = session.number("--users", 10);
    time = Duration.ofSeconds(session.number("--seconds", quick ? 3 : 15));
    rounds = quick ? 1 : session.number("--rounds", 3);
    warmUpSlices = quick ? 2 : WARM_UP_SLICES;
  }

  public static void main(String[] args) {
    Session.run(args, session -> new GerritBench(session).run());
  }

  @Override
  protected List<Reading> cases() {
    List<Reading> all = new ArrayList<>();
    for (Part part : Part.values()) {
      switch (part) {
        case DEFAULT_MEMORY, SMALL_MEMORY -> {
          for (Spread spread : Spread.values()) {
            for (Request request : List.of(Request.DETAIL, Request.QUERY, Request.DIFF)) {
              all.add(new Reading(part, request, spread, time, Integer.MAX_VALUE));
            }
          }
        }
        case TRUST_NEVER -> {
          for (Request request : List.of(Request.DETAIL, Request.DIFF)) {
            all.add(new Reading(part, request, Spread.ZIPF, time, Integer.MAX_VALUE));
          }
        }
        case RESTART -> {
          Duration period = Duration.ofSeconds(session.quick() ? 10 : 60);
          for (int most : new int[] {1000, Integer.MAX_VALUE}) {
            all.add(new Reading(part, Request.MIXED, Spread.ZIPF, period, most));
          }
        }
      }
    }
    return all;
  }

  @Override
  protected int rounds(Reading scenario) {
    return rounds;
  }

  @Override
  protected Object group(Reading scenario) {
    return scenario.part;
  }

  @Override
  protected void prepare() throws IOException, InterruptedException {
    makeSites(this::fill);
    for (GerritPeer peer : GerritPeer.GERRITS) {
      Gerrit gerrit = restart(peer).gerrit();
      readers.put(peer, new Readers(work, users, sites.get(peer).url(), gerrit.signIn()));
    }
    // So that it has all values on disk, as the plain one; that one tells which files there are.
    var unused = work.readAll(running.get(GerritPeer.OURS).gerrit().rest());
  }

  private void fill(GerritSite site) throws IOException {
    site.edit(config -> config.setString("container", null, "heapLimit", "2g"));
    try (GerritDaemon daemon = GerritDaemon.start(site)) {
      Gerrit gerrit = new Gerrit(daemon.site());
      gerrit.createProject(PROJECT);
      work = new Workload(gerrit, PROJECT);
      work.push(changes);
      var unused = work.readAll(gerrit.rest());
      // As it is the morning after.
      var unusedOutput = gerrit.ssh().run("gerrit gc " + PROJECT);
      if (!Files.exists(site.repository(PROJECT).resolve(Constants.PACKED_REFS))) {
        throw new IllegalStateException("gerrit gc has packed no refs of " + PROJECT);
      }
    }
  }

  /** In new processes each time: each compiles its code a little otherwise. */
  @Override
  protected void begin(Reading first, int round) throws IOException {
    close();
    if (round == 0) {
      set(first.part);
    }
    if (first.part != Part.RESTART) {
      for (GerritPeer peer : GerritPeer.GERRITS) {
        var unused = restart(peer);
      }
      warmUp(1000L * round);
    }
  }

  private void set(Part part) throws IOException {
    for (GerritSite site : sites.values()) {
      for (String cache : CACHES) {
        site.edit(
            config -> {
              if (part == Part.SMALL_MEMORY) {
                config.setString("cache", cache, "memoryLimit", SMALL_MEMORY);
              } else {
                config.unset("cache", cache, "memoryLimit");
              }
            });
      }
      Path config = site.repository(PROJECT).resolve(Constants.CONFIG);
      String trusting = Files.readString(config).replace(NEVER, "");
      Files.writeString(config, part == Part.TRUST_NEVER ? trusting + NEVER : trusting);
    }
    GerritSite ours = sites.get(GerritPeer.OURS);
    if (part == Part.TRUST_NEVER) {
      ours.installRefsModule();
    } else {
      ours.edit(config -> config.unset("gerrit", null, "installDbModule"));
    }
  }

  /**
   * A server gets faster for minutes, as its code is compiled: by turns until neither takes less of
   * the processors than before.
   */
  private void warmUp(long seed) throws IOException {
    Map<GerritPeer, Double> best = new EnumMap<>(GerritPeer.class);
    boolean steady = false;
    for (int i = 0; i < warmUpSlices && !steady; i++) {
      steady = true;
      for (GerritPeer peer : GerritPeer.GERRITS) {
        Turn turn =
            readers
                .get(peer)
                .ask(
                    running.get(peer),
                    Request.MIXED,
                    Spread.UNIFORM,
                    seed + i,
                    WARM_UP_SLICE,
                    Integer.MAX_VALUE);
        double cpu = turn.cpuMillisOfACall();
        Double before = best.get(peer);
        steady &= before != null && cpu >= STEADY * before;
        best.merge(peer, cpu, Math::min);
      }
    }
    if (!steady) {
      System.out.printf(
          Locale.ROOT,
          "a server still got faster after %d s%n",
          WARM_UP_SLICE.toSeconds() * warmUpSlices);
    }
  }

  @Override
  protected void measure(Reading scenario, GerritPeer peer, Samples samples, int round)
      throws IOException {
    boolean restarted = scenario.part == Part.RESTART;
    RunningGerrit gerrit = restarted ? restart(peer) : running.get(peer);
    samples.add(
        readers
            .get(peer)
            .ask(
                gerrit,
                scenario.request,
                scenario.spread,
                round,
                restarted ? scenario.period : scenario.period.dividedBy(rounds),
                scenario.most));
    if (restarted) {
      // The other one would be disturbed when it starts.
      stop(peer);
    }
  }

  @Override
  protected void end(Reading first) throws IOException, InterruptedException {
    if (first.part == Part.DEFAULT_MEMORY && !running.isEmpty()) {
      for (GerritPeer peer : GerritPeer.GERRITS) {
        tellFootprint(peer);
      }
    }
  }

  private void tellFootprint(GerritPeer peer) throws IOException, InterruptedException {
    running.get(peer).meter().collectGarbage();
    JsonObject memory =
        running
            .get(peer)
            .gerrit()
            .rest()
            .get("/config/server/summary?jvm")
            .json()
            .getAsJsonObject()
            .getAsJsonObject("mem_summary");
    Path caches = sites.get(peer).cacheFolder();
    // Files of this module have the length of their limit, but take less of the disk.
    Process du =
        new ProcessBuilder(
                "du",
                "-sm",
                (peer == GerritPeer.OURS ? caches.resolve("cache-chroniclemap") : caches)
                    .toString())
            .start();
    String megabytes = new String(du.getInputStream().readAllBytes(), UTF_8);
    System.out.printf(
        Locale.ROOT,
        "%s: heap after a collection %s, caches on disk %s MB%n",
        peer.title(),
        memory.get("used").getAsString(),
        megabytes.substring(0, megabytes.indexOf('\t')));
  }
}
