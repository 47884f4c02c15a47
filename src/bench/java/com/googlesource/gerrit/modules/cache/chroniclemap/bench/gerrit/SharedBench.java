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

import static com.googlesource.gerrit.modules.cache.chroniclemap.bench.gerrit.BenchRun.say;

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * {@code bin/bench shared}: what shared values are worth, and what they cost. A second server whose
 * users ask for what the first one computed a second ago; and the first requests of a server that
 * is new. At several distances of the log's server, beside a server that has the values on its own
 * disk and one that has to compute them.
 */
final class SharedBench {
  /** Half a round trip, microseconds. */
  private static final List<Integer> DELAYS = List.of(100, 2500, 10_000);

  /** What a dashboard shows. */
  private static final int SHOWN = 25;

  private static final int USERS = 4;
  private static final int FIRST_REQUESTS = 1000;

  /** How long a value may be on its way before the second server's users ask for it. */
  private static final Duration HEAD_START = Duration.ofSeconds(1);

  /** Read from disk each time, so that a server's own values can be read from there again. */
  private static final List<String> CACHES =
      List.of(
          "change_notes",
          "change_kind",
          "gerrit_file_diff",
          "git_file_diff",
          "modified_files",
          "git_modified_files",
          "diff_summary",
          "diff_intraline");

  private final BenchRun run;
  private final int count;
  private final int warm;
  private RedisServer redis;
  private GerritSite base;
  private List<Integer> changes;

  private SharedBench(BenchRun run) {
    this.run = run;
    this.count = run.number("--changes", run.isQuick() ? 120 : 400);
    this.warm = count / 4;
  }

  public static void main(String[] args) throws Exception {
    new SharedBench(new BenchRun(args)).run();
  }

  private void run() throws Exception {
    run.printHead(String.format(Locale.ROOT, "%d changes: %s", count, LivedInProject.describe()));
    Path root = Files.createTempDirectory("cache-chroniclemap-shared-");
    try {
      redis = RedisServer.start(root.resolve("redis"));
      if (run.isWanted("second server") || run.isWanted("fresh server")) {
        prepare(root);
      }
      for (int delay : DELAYS) {
        if (run.isWanted("second server")) {
          secondServer(root, delay);
        }
      }
      if (run.isWanted("fresh server")) {
        freshServer(root);
      }
      if (run.isWanted("cost")) {
        new SharedCost(redis, root).measure();
      }
      run.writeJson();
    } finally {
      if (redis != null) {
        redis.close();
      }
      Folders.delete(root);
    }
  }

  private void prepare(Path root) throws Exception {
    base = GerritSite.init(root.resolve("base"));
    base.installModule(BuildFolder.moduleJar());
    base.edit(config -> config.setString("container", null, "heapLimit", "1g"));
    say("pushing %d changes", count);
    GerritDaemon daemon = GerritDaemon.start(base);
    try {
      LivedInProject project = new LivedInProject(new Gerrit(base));
      project.fill(count);
      changes = project.changes();
    } finally {
      daemon.stop();
    }
  }

  /** A copy of the site with the repositories of the first one. */
  private GerritSite copy(Path folder, boolean withCaches) throws IOException {
    GerritSite copy = base.copyTo(folder);
    Path repositories = base.path().resolve("git");
    copy.edit(config -> config.setString("gerrit", null, "basePath", repositories.toString()));
    Folders.delete(copy.path().resolve("git"));
    if (!withCaches) {
      Folders.delete(copy.path().resolve("cache"));
    }
    return copy;
  }

  /** A running server with one signed-in user. */
  private record Server(GerritDaemon daemon, RestClient user, Gerrit gerrit) {
    static Server start(GerritSite site) throws IOException {
      GerritDaemon daemon = GerritDaemon.start(site);
      Gerrit gerrit = new Gerrit(site);
      return new Server(daemon, RestClient.withCookie(site.url(), gerrit.signIn()), gerrit);
    }

    double millis(String path) throws IOException {
      long begun = System.nanoTime();
      var unused = user.get(path);
      return (System.nanoTime() - begun) / 1e6;
    }

    long figure(String name) {
      try {
        return gerrit.ssh().json("shared").get(name).getAsLong();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static double percentile(List<Double> millis, double percent) {
    List<Double> sorted = new ArrayList<>(millis);
    Collections.sort(sorted);
    return sorted.get(
        (int) Math.min(sorted.size() - 1L, Math.round(sorted.size() * percent / 100)));
  }

  // ---- a second server

  private void secondServer(Path root, int delay) throws Exception {
    redis.kill();
    var unused = redis.start();
    Path folder = Files.createTempDirectory(root, "second-");
    GerritSite a = copy(folder.resolve("a"), /* withCaches= */ false);
    GerritSite b = copy(folder.resolve("b"), /* withCaches= */ false);
    List<Server> servers = new ArrayList<>();
    try (DelayedLink ofA = new DelayedLink(redis.port(), Duration.ofNanos(delay * 1000L));
        DelayedLink ofB = new DelayedLink(redis.port(), Duration.ofNanos(delay * 1000L))) {
      for (GerritSite site : List.of(a, b)) {
        site.shareValues((site == a ? ofA : ofB).port());
        site.edit(
            config ->
                CACHES.forEach(cache -> config.setString("cache", cache, "memoryLimit", "0")));
        servers.add(Server.start(site));
      }
      Server first = servers.get(0);
      Server second = servers.get(1);
      for (int change : changes.subList(0, warm)) {
        for (Server server : servers) {
          for (String path : List.of(LivedInProject.detail(change), LivedInProject.files(change))) {
            var unusedMillis = server.millis(path);
          }
        }
      }
      compare("change detail", delay, first, second, each(LivedInProject::detail));
      compare("files", delay, first, second, each(LivedInProject::files));
      say("         %d taken in, %d dropped", second.figure("taken_in"), first.figure("dropped"));
    } finally {
      for (Server server : servers) {
        server.daemon.stop();
      }
      Folders.delete(folder);
    }
  }

  private List<String> each(java.util.function.IntFunction<String> path) {
    return changes.subList(warm, count).stream().map(path::apply).toList();
  }

  private void compare(String what, int delay, Server first, Server second, List<String> paths)
      throws IOException {
    List<Double> computed = new ArrayList<>();
    List<Double> followed = new ArrayList<>();
    List<Double> own = new ArrayList<>();
    List<Long> begun = new ArrayList<>();
    int asked = 0;
    for (String path : paths) {
      computed.add(first.millis(path));
      begun.add(System.nanoTime());
      for (;
          asked < begun.size() && System.nanoTime() - begun.get(asked) >= HEAD_START.toNanos();
          asked++) {
        followed.add(second.millis(paths.get(asked)));
      }
    }
    for (; asked < paths.size(); asked++) {
      LockSupport.parkNanos(begun.get(asked) + HEAD_START.toNanos() - System.nanoTime());
      followed.add(second.millis(paths.get(asked)));
    }
    for (String path : paths) {
      own.add(first.millis(path));
    }
    String distance = String.format(Locale.ROOT, "%.1f ms of network", 2 * delay / 1000.0);
    say(
        "%-14s %-20s p50 computed %.1f, followed %.1f, own disk %.1f ms; p95 %.1f, %.1f, %.1f ms",
        what,
        distance,
        percentile(computed, 50),
        percentile(followed, 50),
        percentile(own, 50),
        percentile(computed, 95),
        percentile(followed, 95),
        percentile(own, 95));
    for (int percent : new int[] {50, 95}) {
      String name =
          String.format(Locale.ROOT, "second server, %s p%d, %s", what, percent, distance);
      run.addLessIsBetter(
          name + ", vs own disk", "ms", percentile(followed, percent), percentile(own, percent));
      run.addLessIsBetter(
          name + ", vs computing",
          "ms",
          percentile(followed, percent),
          percentile(computed, percent));
    }
  }

  // ---- a fresh server

  private record First(double seconds, double cpuMillis) {}

  private void freshServer(Path root) throws Exception {
    redis.kill();
    var unused = redis.start();
    Path folder = Files.createTempDirectory(root, "fresh-");
    GerritSite source = copy(folder.resolve("source"), /* withCaches= */ false);
    source.shareValues(redis.port());
    Server server = Server.start(source);
    for (int change : changes) {
      var unusedDetail = server.millis(LivedInProject.detail(change));
      var unusedFiles = server.millis(LivedInProject.files(change));
    }
    Deadline.in(Duration.ofMinutes(1))
        .await(() -> server.figure("queued") == 0, "all is published");
    say("the log has %d values, %d bytes", server.figure("published"), server.figure("log_bytes"));
    server.daemon.stop();
    base = source;

    First empty = first(copy(folder.resolve("empty"), false), "empty caches");
    First copied = first(copy(folder.resolve("copied"), true), "copied files");
    for (int delay : DELAYS) {
      try (DelayedLink link = new DelayedLink(redis.port(), Duration.ofNanos(delay * 1000L))) {
        GerritSite site = copy(folder.resolve("log" + delay), false);
        site.shareValues(link.port());
        String distance = String.format(Locale.ROOT, "%.1f ms of network", 2 * delay / 1000.0);
        First followed = first(site, "log, " + distance);
        String name = "fresh server, first " + FIRST_REQUESTS + " requests, " + distance;
        run.addLessIsBetter(name + ", vs copied files", "s", followed.seconds, copied.seconds);
        run.addLessIsBetter(name + ", vs empty caches", "s", followed.seconds, empty.seconds);
        run.addLessIsBetter(
            name + ", CPU, vs copied files", "ms", followed.cpuMillis, copied.cpuMillis);
      }
    }
  }

  private First first(GerritSite site, String what) throws Exception {
    Server server = Server.start(site);
    try {
      List<String> paths = new ArrayList<>();
      for (int i = 0; paths.size() < FIRST_REQUESTS; i++) {
        int change = changes.get(i % count);
        paths.add(LivedInProject.detail(change));
        paths.add(LivedInProject.files(change));
        if (i % 10 == 9) {
          int from = i % count - i % 10;
          paths.add(LivedInProject.dashboard(changes.subList(from, Math.min(count, from + SHOWN))));
        }
      }
      AtomicInteger next = new AtomicInteger();
      List<Callable<Void>> users = new ArrayList<>();
      Duration cpu = server.daemon.cpu();
      long begun = System.nanoTime();
      for (int user = 0; user < USERS; user++) {
        users.add(
            () -> {
              for (int i = next.getAndIncrement(); i < paths.size(); i = next.getAndIncrement()) {
                var unused = server.user.get(paths.get(i));
              }
              return null;
            });
      }
      var unused = AtOnce.run(users);
      double seconds = (System.nanoTime() - begun) / 1e9;
      double cpuMillis = server.daemon.cpu().minus(cpu).toMillis() / (double) paths.size();
      say(
          "%-28s first %d requests in %.1f s, %.1f ms of CPU each; ready after %d ms",
          what, paths.size(), seconds, cpuMillis, server.daemon.readyAfter().toMillis());
      return new First(seconds, cpuMillis);
    } finally {
      server.daemon.stop();
      site.close();
    }
  }
}
