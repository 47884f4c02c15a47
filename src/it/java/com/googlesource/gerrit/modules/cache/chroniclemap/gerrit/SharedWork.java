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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import static com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess.await;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.BenchRun.say;

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProcess;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.shared.RedisProxy;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.Readers.Request;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.Readers.Spread;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import redis.clients.jedis.RedisClient;

/**
 * {@code bin/bench shared}: what the first requests cost on a fresh Gerrit: with empty caches, with
 * those of another node copied, and with a server that another node has filled, at some distances;
 * and what it costs the node that fills it. By turns, on the same changes.
 */
final class SharedWork {
  private static final String PROJECT = "work";
  private static final Duration LIMIT = Duration.ofMinutes(30);
  private static final int PATCH_SETS = 5;
  private static final int REVIEWS = 20;
  private static final int FIRST = 1000;
  private static final int ALL = 10_000;

  /** A network file system in the same building. */
  private static final Duration GIT_AWAY = Duration.ofNanos(300_000);

  /** How a node starts. Each turn takes them in this order, as the later ones need the second. */
  private enum Start {
    COLD("cold", null),
    FILLS("cold, and fills the shared server", Duration.ofNanos(200_000)),
    COPIED("with copied files", null),
    NEAR("shared server, 0.2 ms", Duration.ofNanos(200_000)),
    FAR("shared server, 1 ms", Duration.ofMillis(1)),
    FARTHEST("shared server, 5 ms", Duration.ofMillis(5));

    final String title;
    final Duration roundTrip;

    Start(String title, Duration roundTrip) {
      this.title = title;
      this.roundTrip = roundTrip;
    }
  }

  /** The first requests, and all. */
  private record Figures(RequestFigures first, RequestFigures all) {
    Figures plus(Figures other) {
      return new Figures(first.plus(other.first), all.plus(other.all));
    }
  }

  private final BenchRun run;
  private final boolean areSmall;
  private final boolean isRemote;
  private final int changes;
  private final int users;
  private final int rounds;
  private final Map<Start, Figures> results = new EnumMap<>(Start.class);
  private Workload work;

  private SharedWork(BenchRun run) {
    this.run = run;
    areSmall = run.has("--small");
    isRemote = run.has("--remote-git");
    changes = run.number("--changes", run.isQuick() ? 100 : 1000);
    // No more than the processors bear: this is about how long somebody waits, too.
    users = run.number("--users", 2);
    rounds = run.number("--rounds", run.isQuick() ? 1 : 3);
  }

  public static void main(String[] args) throws Exception {
    new SharedWork(new BenchRun(args)).run();
  }

  private void run() throws Exception {
    run.printHead(
        "%d %s changes, %d users, %d rounds%s"
            .formatted(
                changes,
                areSmall ? "small" : "reviewed",
                users,
                rounds,
                isRemote ? ", repositories on a network file system" : ""));
    Path root = Files.createTempDirectory("cache-chroniclemap-shared-");
    try (RedisProcess redis = RedisProcess.start(root)) {
      GerritSite site = prepare(root);
      Path filled = root.resolve("filled");
      for (int round = 0; round < rounds; round++) {
        try (RedisClient client = redis.client()) {
          var unused = client.flushAll();
        }
        for (Start start : Start.values()) {
          Figures figures = measure(start, site, redis, filled, round);
          results.merge(start, figures, Figures::plus);
        }
      }
      printTable();
      run.writeJson();
    } finally {
      Folders.delete(root);
    }
  }

  private GerritSite prepare(Path root) throws Exception {
    GerritSite site = GerritSite.init(root.resolve("gerrit"));
    site.installModule(BuildFolder.moduleJar());
    site.edit(config -> config.setString("container", null, "heapLimit", "2g"));
    // As it is the morning after: in one pack.
    Files.writeString(site.path().resolve("etc/jgit.config"), "[gc]\n\tprunePackExpire = now\n");
    say("pushing %d changes", changes);
    GerritDaemon daemon = GerritDaemon.start(site);
    try {
      Gerrit gerrit = new Gerrit(site);
      gerrit.createProject(PROJECT);
      work = new Workload(gerrit, PROJECT);
      if (areSmall) {
        work.push(changes);
        work.comment(work.changes());
        work.approve(work.changes());
      } else {
        work.pushEdits(changes, PATCH_SETS, REVIEWS);
      }
      var unused = gerrit.ssh().run("gerrit gc " + PROJECT);
    } finally {
      daemon.stop();
    }
    return site;
  }

  private Figures measure(Start start, GerritSite site, RedisProcess redis, Path filled, int round)
      throws Exception {
    Folders.delete(site.cacheFolder());
    if (start == Start.COPIED) {
      Folders.copy(filled, site.cacheFolder());
    }
    boolean isShared = start.roundTrip != null;
    Path git = site.path().resolve("git");
    try (RedisProxy proxy = isShared ? new RedisProxy(redis.port(), start.roundTrip) : null;
        RemoteFolder remote =
            isRemote ? new RemoteFolder(git, git.resolveSibling("remote"), GIT_AWAY) : null) {
      if (isRemote) {
        site.edit(config -> config.setString("gerrit", null, "basePath", remote.path().toString()));
      }
      if (isShared) {
        site.share(proxy.url());
      } else {
        site.edit(config -> config.unset("cache-chroniclemap", null, "sharedUrl"));
      }
      GerritDaemon daemon = GerritDaemon.start(site);
      try {
        Gerrit gerrit = new Gerrit(site);
        Readers readers = new Readers(work, users, site.url(), gerrit.signIn());
        RequestFigures first = ask(readers, daemon, 2L * round, FIRST);
        RequestFigures all = first.plus(ask(readers, daemon, 2L * round + 1, ALL - FIRST));
        say(
            "%s: first %d %.0f a second, all %d %.0f",
            start.title, FIRST, first.perSecond(), ALL, all.perSecond());
        if (isShared) {
          tell(gerrit);
        }
        return new Figures(first, all);
      } finally {
        daemon.stop();
        if (start == Start.FILLS) {
          Folders.delete(filled);
          Folders.copy(site.cacheFolder(), filled);
        }
      }
    }
  }

  /** Half of them details and half diffs. */
  private RequestFigures ask(Readers readers, GerritDaemon daemon, long seed, int count)
      throws IOException {
    return readers
        .ask(daemon, Request.DETAIL, Spread.UNIFORM, seed, LIMIT, count / 2)
        .plus(readers.ask(daemon, Request.DIFF, Spread.UNIFORM, seed, LIMIT, count / 2));
  }

  /** Waits until all was sent, and says what the server did. */
  private static void tell(Gerrit gerrit) throws IOException {
    await(() -> gerrit.shared("queued_bytes") == 0);
    JsonObject figures = gerrit.shared();
    figures.remove("caches");
    say("  %s", figures);
    say("%s", gerrit.ssh().run("cache-chroniclemap shared"));
  }

  private void printTable() {
    for (boolean onlyFirst : new boolean[] {true, false}) {
      int count = onlyFirst ? FIRST : ALL;
      say("");
      say(
          "| first %d requests | a second | times cold | p50 ms | p99 ms | CPU ms | times cold |",
          count);
      say("|---|---|---|---|---|---|---|");
      RequestFigures cold = figures(Start.COLD, onlyFirst);
      for (Start start : Start.values()) {
        RequestFigures figures = figures(start, onlyFirst);
        say(
            "| %s | %.0f | %.2f | %.1f | %.1f | %.2f | %.2f |",
            start.title,
            figures.perSecond(),
            figures.perSecond() / cold.perSecond(),
            figures.percentile(50),
            figures.percentile(99),
            figures.cpuMillis(),
            figures.cpuMillis() / cold.cpuMillis());
        if (start != Start.COLD) {
          String name = "first %d, %s".formatted(count, start.title);
          run.addMoreIsBetter(
              name + ", rate, vs cold", "requests/s", figures.perSecond(), cold.perSecond());
          run.addLessIsBetter(name + ", CPU, vs cold", "ms", figures.cpuMillis(), cold.cpuMillis());
        }
      }
    }
  }

  private RequestFigures figures(Start start, boolean onlyFirst) {
    return onlyFirst ? results.get(start).first : results.get(start).all;
  }
}
