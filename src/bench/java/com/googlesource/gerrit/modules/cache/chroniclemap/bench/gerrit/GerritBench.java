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
import com.google.gerrit.common.Nullable;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Case;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Comparison;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Figure;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Samples;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Session;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Turn;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.Readers.Request;
import com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.Readers.Spread;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileParts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.lib.Constants;

/**
 * {@code bin/bench gerrit}: what users' requests cost in a real Gerrit with H2 caches and in one
 * with this module, by turns, on the same changes; and how long either takes from the start of its
 * process until it is ready, has answered, and is as fast as it gets.
 */
final class GerritBench extends GerritsBench<GerritBench.Reading> {
  private static final String PROJECT = "work";
  private static final double MEGABYTE = 1 << 20;

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

  /** At full speed, this part is answered of what is answered a second in the end. */
  private static final double FULL_SPEED = 0.95;

  /** How both servers are set, and in what state they are. */
  private enum Part {
    DEFAULT_MEMORY("default memoryLimit"),
    RESTART("after a clean stop"),
    KILLED("after a SIGKILL"),
    TRUST_NEVER("trustStat never, with PackedRefsModule"),
    SMALL_MEMORY("small memoryLimit"),
    /** Comes last, as it deletes the caches. */
    NEW_NODE("on a new node");

    final String title;

    Part(String title) {
      this.title = title;
    }
  }

  /** What is waited for from the start of a process. */
  enum Moment {
    READY("ready"),
    FIRST("first change detail"),
    THOUSAND("1,000 change details"),
    FULL_SPEED("95 % of full speed");

    final String title;

    Moment(String title) {
      this.title = title;
    }
  }

  /**
   * What users ask for.
   *
   * @param period in all rounds together; of a start, in each
   * @param moment what is waited for; null to measure the requests of servers that are warm
   */
  record Reading(
      Part part, Request request, Spread spread, Duration period, @Nullable Moment moment)
      implements Case {
    @Override
    public String title() {
      return moment == null ? request.title : "from start to " + moment.title;
    }

    @Override
    public String nameOf(String quantity) {
      return String.join(", ", quantity, spread.title, part.title);
    }

    /** How many times as many requests were answered in a second, or how many times as soon. */
    @Override
    public double times(Samples ours, Samples theirs) {
      return moment == null
          ? ours.opsPerSecond() / theirs.opsPerSecond()
          : Case.super.times(ours, theirs);
    }

    @Override
    public List<Figure> figures(Comparison<?> result) {
      return result.inMillis(title(), /* withRate= */ moment == null);
    }
  }

  private final int changes;
  private final int users;
  private final int rounds;
  private final int warmUpSlices;
  private final Duration time;
  private final Map<GerritPeer, Readers> readers = new EnumMap<>(GerritPeer.class);

  /** What came of the starts of this round. */
  private final Map<GerritPeer, Map<Moment, Duration>> starts = new EnumMap<>(GerritPeer.class);

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
              all.add(new Reading(part, request, spread, time, null));
            }
          }
        }
        case TRUST_NEVER -> {
          for (Request request : List.of(Request.DETAIL, Request.DIFF)) {
            all.add(new Reading(part, request, Spread.ZIPF, time, null));
          }
        }
        case RESTART, KILLED, NEW_NODE -> {
          // One that was killed gets as fast as one that was stopped.
          boolean isShort = part == Part.KILLED || session.quick();
          Duration period = isShort ? Duration.ofSeconds(30) : time.multipliedBy(8);
          for (Moment moment : Moment.values()) {
            if (part != Part.KILLED || moment != Moment.FULL_SPEED) {
              all.add(new Reading(part, Request.DETAIL, Spread.ZIPF, period, moment));
            }
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
      var unused = restart(peer);
      signIn(peer);
    }
    // So that it has all values on disk, as the plain one; that one tells which files there are.
    var unused = work.readAll(running.get(GerritPeer.OURS).gerrit().rest());
  }

  private void signIn(GerritPeer peer) throws IOException {
    GerritSite site = sites.get(peer);
    readers.put(peer, new Readers(work, users, site.url(), new Gerrit(site).signIn()));
  }

  private void fill(GerritSite site) throws IOException {
    site.edit(config -> config.setString("container", null, "heapLimit", "2g"));
    try (GerritDaemon daemon = GerritDaemon.start(site)) {
      Gerrit gerrit = daemon.gerrit();
      work = Workload.inNewProject(gerrit, PROJECT, changes);
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
    starts.clear();
    if (round == 0) {
      set(first.part);
    }
    if (first.moment == null) {
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
        Turn turn = ask(peer, Request.MIXED, Spread.UNIFORM, seed + i, WARM_UP_SLICE);
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
    if (scenario.moment == null) {
      Duration period = scenario.period.dividedBy(rounds);
      samples.add(ask(peer, scenario.request, scenario.spread, round, period));
      return;
    }
    if (!starts.containsKey(peer)) {
      starts.put(peer, start(scenario, peer, round));
    }
    long nanos = starts.get(peer).get(scenario.moment).toNanos();
    samples.add(new Turn(nanos, /* cpuNanos= */ 0, OptionalLong.empty(), new long[] {nanos}));
  }

  private Turn ask(GerritPeer peer, Request request, Spread spread, long seed, Duration period)
      throws IOException {
    return running.get(peer).turn(readers.get(peer).clients(request, spread, seed, period));
  }

  /** Starts one, and has its users ask from the moment in which it is ready. */
  private Map<Moment, Duration> start(Reading scenario, GerritPeer peer, int round)
      throws IOException {
    GerritSite site = sites.get(peer);
    if (scenario.part == Part.NEW_NODE) {
      Folders.delete(site.cacheFolder());
    } else if (scenario.part == Part.KILLED) {
      try (GerritDaemon killed = GerritDaemon.start(site)) {
        var unused = killed.gerrit().rest().get(work.path(work.changes().get(0)) + "/detail");
        killed.kill();
      }
    }
    try (GerritDaemon daemon = GerritDaemon.start(site)) {
      if (scenario.part == Part.NEW_NODE) {
        signIn(peer);
      }
      Readers asking = readers.get(peer);
      Duration begun = daemon.sinceStart();
      var unused =
          RunningGerrit.callsOf(
              asking.clients(scenario.request, scenario.spread, round, scenario.period));
      Map<Moment, Duration> moments = new EnumMap<>(Moment.class);
      long[] answers = asking.answers.stream().mapToLong(Long::longValue).sorted().toArray();
      if (answers.length < 1000) {
        throw new IOException("only " + answers.length + " answers in " + scenario.period);
      }
      moments.put(Moment.READY, daemon.readyAfter());
      moments.put(Moment.FIRST, begun.plusNanos(answers[0]));
      moments.put(Moment.THOUSAND, begun.plusNanos(answers[999]));
      moments.put(Moment.FULL_SPEED, begun.plusSeconds(fullSpeed(answers, scenario.period)));
      System.out.printf(
          Locale.ROOT,
          "%s %s: %s, then %.0f answers a second%n",
          peer.title(),
          scenario.part.title,
          moments,
          steady(answers, scenario.period));
      return moments;
    }
  }

  /** The first second from which three seconds are at full speed. */
  private static long fullSpeed(long[] answers, Duration period) {
    double enough = FULL_SPEED * steady(answers, period);
    long second = 0;
    while (second < period.toSeconds() && rate(answers, second, second + 3) < enough) {
      second++;
    }
    return second;
  }

  /** How many are answered a second in the last quarter of the time. */
  private static double steady(long[] answers, Duration period) {
    long end = period.toSeconds();
    return rate(answers, end - end / 4, end);
  }

  /** How many were answered a second in some seconds. */
  private static double rate(long[] answers, long from, long to) {
    return (double)
            Arrays.stream(answers)
                .map(TimeUnit.NANOSECONDS::toSeconds)
                .filter(second -> second >= from && second < to)
                .count()
        / (to - from);
  }

  @Override
  protected void end(Reading first) throws IOException, InterruptedException {
    if (first.part == Part.DEFAULT_MEMORY && !running.isEmpty()) {
      Path caches = cachesOf(GerritPeer.OURS);
      Map<FileParts.Part, Long> parts = FileParts.of(caches, diskOf(caches));
      for (GerritPeer peer : GerritPeer.GERRITS) {
        // Both have the same values.
        tellFootprint(peer, parts.get(FileParts.Part.VALUES));
      }
      parts.forEach(
          (part, bytes) ->
              System.out.printf(Locale.ROOT, "%9.2f MB %s%n", bytes / MEGABYTE, part.title));
    }
  }

  private void tellFootprint(GerritPeer peer, long valueBytes)
      throws IOException, InterruptedException {
    running.get(peer).meter().collectGarbage();
    JsonObject memory =
        running
            .get(peer)
            .gerrit()
            .rest()
            .object("/config/server/summary?jvm")
            .getAsJsonObject("mem_summary");
    long disk = diskOf(cachesOf(peer));
    System.out.printf(
        Locale.ROOT,
        "%s: heap after a collection %s, caches on disk %.1f MB, %.2f times their values%n",
        peer.title(),
        memory.get("used").getAsString(),
        disk / MEGABYTE,
        (double) disk / valueBytes);
  }

  private Path cachesOf(GerritPeer peer) {
    Path caches = sites.get(peer).cacheFolder();
    return peer == GerritPeer.OURS ? caches.resolve("cache-chroniclemap") : caches;
  }

  /** Files of this module have the length of their limit, but take less of the disk. */
  private static long diskOf(Path folder) throws IOException {
    Process du = new ProcessBuilder("du", "-sB1", folder.toString()).start();
    String said = new String(du.getInputStream().readAllBytes(), UTF_8);
    return Long.parseLong(said.substring(0, said.indexOf('\t')));
  }
}
