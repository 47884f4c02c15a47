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
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toMap;

import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
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
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;

/**
 * {@code bin/bench shared}: what shared values are worth. A second server whose users ask for what
 * the first one computed a second ago; and the first requests of a server that is new. At several
 * distances of the log's server, beside a server that has the values on its own disk and one that
 * has to compute them.
 */
final class SharedBench {
  /** Half a round trip, microseconds. */
  private static final List<Integer> DELAYS = List.of(100, 2500, 10_000);

  /** What a dashboard shows. */
  private static final int SHOWN = 25;

  /** How often the code that is to be compared is run before. */
  private static final int WARM_ROUNDS = 3;

  private static final int ROUNDS = 4;
  private static final int TURNS = 2;

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
  private Path repositories;
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
      prepare(root);
      for (int delay : DELAYS) {
        if (run.isWanted("second server")) {
          secondServer(root, delay);
        }
      }
      if (run.isWanted("fresh server")) {
        freshServer(root);
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
    repositories = base.path().resolve("git");
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
    copy.edit(
        config -> {
          config.setString("gerrit", null, "basePath", repositories.toString());
          config.unset("cache-chroniclemap", null, "sharedUrl");
        });
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

    void flush() {
      try {
        String caches = CACHES.stream().map(each -> " --cache " + each).collect(joining());
        var unused = gerrit.ssh().run("gerrit flush-caches" + caches);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
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
    Times details = new Times();
    Times files = new Times();
    Times dashboards = new Times();
    Server first = null;
    Server second = null;
    try (DelayedLink ofA = new DelayedLink(redis.port(), Duration.ofNanos(delay * 1000L));
        DelayedLink ofB = new DelayedLink(redis.port(), Duration.ofNanos(delay * 1000L))) {
      for (GerritSite site : List.of(a, b)) {
        site.shareValues((site == a ? ofA : ofB).port());
        site.edit(
            config ->
                CACHES.forEach(cache -> config.setString("cache", cache, "memoryLimit", "0")));
      }
      first = Server.start(a);
      second = Server.start(b);
      warmUp(first);
      warmUp(second);
      // Half of the others for details and files, half for dashboards.
      List<Integer> single = changes.subList(warm, (count + warm) / 2);
      List<Integer> together = changes.subList((count + warm) / 2, count);
      List<String> lists = new ArrayList<>();
      for (int from = 0; from + SHOWN <= together.size(); from += SHOWN) {
        lists.add(LivedInProject.dashboard(together.subList(from, from + SHOWN)));
      }
      for (int round = 0; round < ROUNDS; round++) {
        Halves ofDetails = new Halves(details, round, paths(single, LivedInProject::detail));
        Halves ofFiles = new Halves(files, round, paths(single, LivedInProject::files));
        Halves ofDashboards = new Halves(dashboards, round, lists);
        first.flush();
        second.flush();
        for (Halves each : List.of(ofDetails, ofFiles, ofDashboards)) {
          each.compute(second);
        }
        // So that it has nothing of these changes in memory.
        second.daemon.stop();
        second = Server.start(b);
        warmUp(second);
        for (Halves each : List.of(ofDetails, ofFiles, ofDashboards)) {
          each.compare(first, second);
        }
      }
      report("change detail", delay, details);
      report("files", delay, files);
      report("dashboard", delay, dashboards);
    } finally {
      for (Server server : Arrays.asList(first, second)) {
        if (server != null) {
          server.daemon.stop();
        }
      }
      Folders.delete(folder);
    }
  }

  /** Has a server compile the code of these requests. */
  private void warmUp(Server server) throws IOException {
    for (int round = 0; round < WARM_ROUNDS; round++) {
      for (String path : everything(changes.subList(0, warm))) {
        var unused = server.millis(path);
      }
    }
  }

  private static List<String> paths(List<Integer> changes, IntFunction<String> path) {
    return changes.stream().map(path::apply).toList();
  }

  private static List<String> everything(List<Integer> changes) {
    List<String> all = new ArrayList<>(paths(changes, LivedInProject::detail));
    all.addAll(paths(changes, LivedInProject::files));
    all.add(LivedInProject.dashboard(changes.subList(0, Math.min(SHOWN, changes.size()))));
    return all;
  }

  /** Milliseconds that requests of the second server took, by where their values were. */
  private static final class Times {
    final List<Double> computed = new ArrayList<>();
    final List<Double> followed = new ArrayList<>();
    final List<Double> own = new ArrayList<>();

    /** The processor time of the requests that were computed. */
    Duration computing = Duration.ZERO;
  }

  /** Requests whose values the first server computes, and as many for the second one. */
  private static final class Halves {
    final Times times;
    final List<String> ofFirst = new ArrayList<>();
    final List<String> ofSecond = new ArrayList<>();

    /**
     * Divides requests.
     *
     * @param round swaps the halves if it is odd
     */
    Halves(Times times, int round, List<String> paths) {
      this.times = times;
      for (int i = 0; i + 1 < paths.size(); i += 2) {
        ofFirst.add(paths.get(i + round % 2));
        ofSecond.add(paths.get(i + 1 - round % 2));
      }
    }

    void compute(Server second) throws IOException {
      Duration before = second.daemon.cpu();
      for (String path : ofSecond) {
        times.computed.add(second.millis(path));
      }
      times.computing = times.computing.plus(second.daemon.cpu()).minus(before);
    }

    /**
     * Has the first server compute its half. A second after each request, the second server is
     * asked the same, and something of its own half. So both kinds come from the disk of the same
     * process at the same time.
     */
    void compare(Server first, Server second) throws IOException {
      List<Long> known = new ArrayList<>();
      for (int asked = 0; asked < ofFirst.size(); ) {
        if (asked < known.size() && System.nanoTime() - known.get(asked) >= 0) {
          // By turns, as the first one comes after the other server has worked.
          for (boolean isOwn : List.of(asked % 2 == 0, asked % 2 != 0)) {
            (isOwn ? times.own : times.followed)
                .add(second.millis((isOwn ? ofSecond : ofFirst).get(asked)));
          }
          asked++;
        } else if (known.size() == ofFirst.size()) {
          LockSupport.parkNanos(known.get(asked) - System.nanoTime());
        } else {
          var unused = first.millis(ofFirst.get(known.size()));
          known.add(System.nanoTime() + HEAD_START.toNanos());
        }
      }
    }
  }

  private void report(String what, int delay, Times times) {
    String distance = distance(delay);
    say(
        "%-14s %-20s p50 computed %.1f, followed %.1f, own disk %.1f ms; p95 %.1f, %.1f, %.1f ms;"
            + " computing took %.1f ms of CPU",
        what,
        distance,
        percentile(times.computed, 50),
        percentile(times.followed, 50),
        percentile(times.own, 50),
        percentile(times.computed, 95),
        percentile(times.followed, 95),
        percentile(times.own, 95),
        times.computing.toMillis() / (double) times.computed.size());
    for (int percent : new int[] {50, 95}) {
      String name =
          String.format(Locale.ROOT, "second server, %s p%d, %s", what, percent, distance);
      double followed = percentile(times.followed, percent);
      run.addLessIsBetter(name + ", vs own disk", "ms", followed, percentile(times.own, percent));
      run.addLessIsBetter(
          name + ", vs computing", "ms", followed, percentile(times.computed, percent));
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
    try {
      for (String path : firstRequests()) {
        var unusedMillis = server.millis(path);
      }
      Deadline.in(Duration.ofMinutes(1))
          .await(() -> server.figure("queued") == 0, "all is published");
      say(
          "the log has %d values of %d bytes",
          server.figure("published"), server.figure("log_bytes"));
    } finally {
      server.daemon.stop();
    }
    base = source;

    // By turns, and the faster of two, as other work of the machine only adds to the time.
    First empty = null;
    First copied = null;
    Map<Integer, First> followed = new TreeMap<>();
    for (int turn = 0; turn < TURNS; turn++) {
      Path of = folder.resolve("turn" + turn);
      empty = faster(empty, first(copy(of.resolve("empty"), false), "empty caches"));
      copied = faster(copied, first(copy(of.resolve("copied"), true), "copied files"));
      for (int delay : DELAYS) {
        try (DelayedLink link = new DelayedLink(redis.port(), Duration.ofNanos(delay * 1000L))) {
          GerritSite site = copy(of.resolve("log" + delay), false);
          site.shareValues(link.port());
          First now = first(site, "log, " + distance(delay));
          followed.put(delay, faster(followed.get(delay), now));
        }
      }
    }
    for (Map.Entry<Integer, First> one : followed.entrySet()) {
      First log = one.getValue();
      String name =
          "fresh server, first " + FIRST_REQUESTS + " requests, " + distance(one.getKey());
      run.addLessIsBetter(name + ", vs copied files", "s", log.seconds, copied.seconds);
      run.addLessIsBetter(name + ", vs empty caches", "s", log.seconds, empty.seconds);
      run.addLessIsBetter(name + ", CPU, vs copied files", "ms", log.cpuMillis, copied.cpuMillis);
    }
  }

  private static First faster(@Nullable First one, First other) {
    return one != null && one.seconds < other.seconds ? one : other;
  }

  private static String distance(int delay) {
    return String.format(Locale.ROOT, "%.1f ms of network", 2 * delay / 1000.0);
  }

  private List<String> firstRequests() {
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
    return paths;
  }

  private First first(GerritSite site, String what) throws Exception {
    Server server = Server.start(site);
    try {
      List<String> paths = firstRequests();
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
      Map<String, Long> computed =
          CacheFigures.of(server.gerrit.ssh()).values().stream()
              .filter(cache -> cache.diskMisses() > 0)
              .collect(toMap(CacheFigures::name, CacheFigures::diskMisses));
      say("%-28s computed %s", "", new TreeMap<>(computed));
      return new First(seconds, cpuMillis);
    } finally {
      server.daemon.stop();
      site.close();
    }
  }
}
