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

import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire.RECEIVE;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire.bytes;
import static com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire.packet;

import com.google.common.io.BaseEncoding;
import com.google.common.primitives.Bytes;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.DaemonMeter;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GitWire;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshKeys;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;

/**
 * What clients may cost who ask for much: each kind of request at two sizes, one ten times the
 * other, by somebody who may not read all refs. Counted are runs of Gerrit's filter of refs,
 * lookups, calls of the system to read files, and megabytes that the server allocates, which also
 * grow with each scan of loose refs. The larger request costs no more runs of the filter, and not
 * more reads and memory than in a plain Gerrit; lookups grow with the request at most.
 */
@TestInstance(Lifecycle.PER_CLASS)
class HostileClientsIT {
  private static final String PROJECT = "cost";
  private static final String PATCH_SETS = "cost-patch-sets";
  private static final String FETCH = "git-upload-pack";
  private static final int SMALL = 20;
  private static final int LARGE = 10 * SMALL;
  private static final int TAGS_OF_A_COMMIT = 5;
  private static final int LOOSE = 300;

  private static final String MAY_PUSH =
      """
      {"add": {"refs/*": {"permissions": {"push":
        {"rules": {"global:Registered-Users": {"action": "ALLOW"}}}, "create":
        {"rules": {"global:Registered-Users": {"action": "ALLOW"}}}, "forgeCommitter":
        {"rules": {"global:Registered-Users": {"action": "ALLOW"}}}}},
      "^refs/n[0-9]+/x": {"permissions": {"read":
        {"rules": {"global:Registered-Users": {"action": "ALLOW"}}}}}}}
      """;

  /** Bytes of the names. */
  private static final int LONG = 60_000;

  /** Runs of the filter that a request may cost beside those of its small variant: a constant. */
  private static final int SPARE_RUNS = 70;

  /** For what else the server reads meanwhile. */
  private static final long SPARE_READS = 2000;

  /** For the bytes of a request, which plain Gerrit may refuse at once, and what else goes on. */
  private static final double SPARE_MEGABYTES = 30;

  /** A pack without objects, with its checksum. */
  private static final byte[] EMPTY_PACK =
      BaseEncoding.base16()
          .decode("5041434B0000000200000000029D08823BD8A8EAB510AD6AC75C823CFD3ED31E");

  private final KeyPair readerKey = SshKeys.generate();
  private final List<String> commits = new ArrayList<>();
  private final AtomicInteger branches = new AtomicInteger();
  private final AtomicInteger count = new AtomicInteger();
  private Path tmp;
  private Server ours;
  private Server plain;

  /** A Gerrit of the comparison. */
  private record Server(GerritDaemon daemon, DaemonMeter meter, boolean isOurs) {
    static Server start(GerritSite site, boolean isOurs) throws IOException {
      GerritDaemon daemon = GerritDaemon.start(site);
      return new Server(daemon, new DaemonMeter(daemon), isOurs);
    }

    GerritSite site() {
      return daemon.site();
    }

    Cost cost() throws IOException {
      long runs = daemon.gerrit().runsOfRefFilter();
      return new Cost(runs, 0, reads(), meter.allocatedMegabytes());
    }

    /**
     * How often refs were looked up in parsed lists, also for this question; 0 in a plain Gerrit.
     */
    long lookups() throws IOException {
      return isOurs ? daemon.refs().get("lookups").getAsLong() : 0;
    }

    /** How often the process has called the system to read from a file or connection. */
    private long reads() throws IOException {
      return Files.readAllLines(Path.of("/proc/" + daemon.pid() + "/io")).stream()
          .filter(line -> line.startsWith("syscr: "))
          .mapToLong(line -> Long.parseLong(line.substring("syscr: ".length())))
          .sum();
    }
  }

  /**
   * What a server has done so far, or for a request.
   *
   * @param runs of the filter
   * @param lookups of refs in parsed lists; none in a plain Gerrit
   * @param reads calls of the system
   */
  private record Cost(long runs, long lookups, long reads, double megabytes) {
    Cost since(Cost before) {
      return new Cost(runs - before.runs, 0, reads - before.reads, megabytes - before.megabytes);
    }
  }

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    tmp = folder;
    GerritSite site = SiteTemplate.plainSite(tmp.resolve("plain"));
    try (GerritDaemon daemon = GerritDaemon.start(site)) {
      Gerrit gerrit = daemon.gerrit();
      gerrit.createUser("reader", readerKey);
      for (String project :
          List.of(PROJECT, PATCH_SETS, PROJECT + "-" + SMALL, PROJECT + "-" + LARGE)) {
        gerrit.createProject(project);
        gerrit.grantToAdministratorsOnly(project, "refs/heads/hidden", "read");
        gerrit.rest().post("/projects/" + project + "/access", MAY_PUSH);
      }
      daemon.stop();
    }
    fill(site);
    GerritSite copy = site.copyTo(tmp.resolve("ours"));
    copy.installModule(BuildFolder.moduleJar());
    copy.installRefsModule();
    AtOnce.run(
        List.of(
            () -> {
              plain = Server.start(site, false);
              return null;
            },
            () -> {
              ours = Server.start(copy, true);
              return null;
            }));
    // The module reads its whole jar some seconds after the start, which is no cost of a request.
    Deadline.awaitInAMinute(
        () -> ErrorLog.of(copy).has("cache-chroniclemap.jar are loaded"), "the classes are loaded");
  }

  @AfterAll
  void stop() throws Exception {
    for (Server server : new Server[] {plain, ours}) {
      if (server != null) {
        server.meter.close();
        GerritDaemon.end(List.of(server.daemon), "HostileClientsIT");
      }
    }
  }

  /** Makes commits in a row with tags each, and branches at the first of them. */
  private void fill(GerritSite site) throws IOException {
    NativeGit work = new NativeGit(site, "admin", site.adminKey(), folder("fill"));
    share(work, site);
    String root = site.git(PROJECT, "rev-parse", "refs/heads/master").strip();
    StringBuilder input = new StringBuilder("reset refs/heads/c\nfrom " + root + "\n\n");
    for (int i = 0; i <= LARGE; i++) {
      input.append("commit refs/heads/c\nmark :" + (i + 1) + "\n");
      input.append("committer a <a@b.c> " + i + " +0000\n");
      input.append("data 2\nc\n\n");
    }
    for (int i = 0; i <= LARGE; i++) {
      input.append("get-mark :" + (i + 1) + "\n");
    }
    commits.addAll(work.runWith(input.toString(), "fast-import", "--quiet").lines().toList());
    String server = site.repository(PROJECT).toString();
    List<String> push = new ArrayList<>(List.of("push", "-q", server));
    push.add(commits.getLast() + ":refs/heads/history");
    push.add(commits.getLast() + ":refs/heads/hidden");
    for (int i = 0; i < 40; i++) {
      push.add(commits.getFirst() + ":refs/heads/forward/" + i);
    }
    work.run(push.toArray(String[]::new));
    for (int size : new int[] {SMALL, LARGE}) {
      List<String> names = new ArrayList<>(List.of("push", "-q"));
      names.add(site.repository(PROJECT + "-" + size).toString());
      names.add(commits.getFirst() + ":refs/heads/hidden");
      for (int i = 0; i < size; i++) {
        names.add(commits.getFirst() + ":refs/n" + i + "/x");
      }
      work.run(names.toArray(String[]::new));
    }
    List<String> tags = new ArrayList<>(List.of("push", "-q", server));
    for (int i = 0; i < commits.size(); i++) {
      for (int j = 0; j < TAGS_OF_A_COMMIT; j++) {
        tags.add(commits.get(i) + ":refs/tags/t" + i + "." + j);
      }
    }
    work.run(tags.toArray(String[]::new));
    var unused = site.git(PROJECT, "pack-refs", "--all");
    List<String> loose = new ArrayList<>(List.of("push", "-q", server));
    for (int i = 0; i < LOOSE; i++) {
      loose.add(commits.getFirst() + ":refs/heads/loose/" + i);
    }
    work.run(loose.toArray(String[]::new));
  }

  private Path folder(String name) throws IOException {
    return Files.createDirectories(tmp.resolve(name + "-" + count.incrementAndGet()));
  }

  /** Gives a client the objects of a server. */
  private static void share(NativeGit client, GerritSite site) throws IOException {
    Files.writeString(
        client.gitFolder().resolve("objects/info/alternates"),
        site.repository(PROJECT).resolve("objects") + "\n");
  }

  /** A request of a client, by its size. */
  private interface Request {
    void send(Server server, int size) throws Exception;
  }

  private void assertBounded(String what, Request request) throws Exception {
    List<List<Cost>> costs = new ArrayList<>();
    for (Server server : List.of(plain, ours)) {
      request.send(server, SMALL); // what is read and compiled once
      costs.add(List.of(cost(server, request, SMALL), cost(server, request, LARGE)));
    }
    String all = what + ": " + costs;
    System.out.println(all);
    Cost plains = costs.get(0).get(1);
    Cost small = costs.get(1).get(0);
    Cost large = costs.get(1).get(1);
    assertWithMessage(all)
        .that(large.runs)
        .isAtMost(Math.max(plains.runs, small.runs + SPARE_RUNS));
    assertWithMessage(all)
        .that(large.lookups)
        .isAtMost(LARGE / SMALL * (small.lookups + SPARE_RUNS));
    assertWithMessage(all).that(large.reads).isAtMost(2 * plains.reads + SPARE_READS);
    assertWithMessage(all).that(large.megabytes).isAtMost(1.5 * plains.megabytes + SPARE_MEGABYTES);
  }

  private static Cost cost(Server server, Request request, int size) throws Exception {
    long lookups = server.lookups();
    Cost before = server.cost();
    request.send(server, size);
    Cost done = server.cost().since(before);
    return new Cost(done.runs, server.lookups() - lookups, done.reads, done.megabytes);
  }

  /** A name of many short parts, none of which exists. */
  private static String longName(int number) {
    return longName(number, LONG);
  }

  private static String longName(int number, int bytes) {
    return "refs/heads/" + "a/".repeat(bytes / 2) + number;
  }

  // ---- fetches

  /** Sends a line with a long name so many times, as nobody and as somebody. */
  private void fetch(Server server, String command, String line, int count) throws IOException {
    StringBuilder request = new StringBuilder(packet("command=" + command + "\n") + "0001");
    if (line.startsWith("deepen")) {
      request.append(packet("want " + commits.getLast() + "\n"));
    }
    for (int i = 0; i < count; i++) {
      request.append(packet(line + " " + longName(i) + "\n"));
    }
    request.append(command.equals("fetch") ? packet("done\n") : "").append("0000");
    byte[] body = bytes(request.toString());
    String url = server.site().url() + PROJECT + "/" + FETCH;
    var toNobody = GitWire.exchange(url, FETCH, body, "Git-Protocol", "version=2");
    var toReader = GitWire.exchange(server.site(), PROJECT, "reader", FETCH, "version=2", body);
    assertWithMessage(command).that(toNobody.statusCode()).isAnyOf(200, 400);
    assertWithMessage(command).that(toReader.statusCode()).isAnyOf(200, 400);
  }

  @Test
  void wantsByLongNames() throws Exception {
    assertBounded("want-ref", (server, size) -> fetch(server, "fetch", "want-ref", size / 7));
  }

  @Test
  void longPrefixes() throws Exception {
    assertBounded("ref-prefix", (server, size) -> fetch(server, "ls-refs", "ref-prefix", size / 7));
  }

  @Test
  void longNamesNotToDeepenTo() throws Exception {
    assertBounded("deepen-not", (server, size) -> fetch(server, "fetch", "deepen-not", size / 7));
  }

  @Test
  void prefixesOverSsh() throws Exception {
    assertBounded(
        "ref-prefix over SSH",
        (server, size) -> {
          StringBuilder request = new StringBuilder(packet("command=ls-refs\n") + "0001");
          for (int i = 0; i < size; i++) {
            request.append(packet("ref-prefix " + longName(i, LONG / 10) + "\n"));
          }
          NativeGit git = new NativeGit(server.site(), "reader", readerKey, folder("ssh"));
          var unused = git.uploadPack(PROJECT, request + "0000" + "0000");
        });
  }

  // ---- pushes

  private void forward(Server server, String project, int size, boolean ssh) throws IOException {
    String branch = "refs/heads/forward/" + branches.getAndIncrement();
    NativeGit git = new NativeGit(server.site(), "reader", readerKey, folder("push"));
    share(git, server.site());
    git.run("push", ssh ? git.ssh(project) : git.http(project), commits.get(size) + ":" + branch);
  }

  @Test
  void taggedFastForwards() throws Exception {
    for (boolean ssh : new boolean[] {false, true}) {
      assertBounded(
          "fast-forward over tags" + (ssh ? ", SSH" : ""),
          (server, size) -> forward(server, PROJECT, size, ssh));
    }
  }

  /** The changes have no meta ref, so nobody may see them. */
  @Test
  void fastForwardsOverPatchSets() throws Exception {
    for (Server server : List.of(plain, ours)) {
      List<String> push = new ArrayList<>(List.of("push", "-q"));
      push.add(server.site().repository(PATCH_SETS).toString());
      push.add(commits.getFirst() + ":refs/heads/hidden");
      for (int i = 0; i < 40; i++) {
        push.add(commits.getFirst() + ":refs/heads/forward/" + i);
      }
      for (int i = 0; i < commits.size(); i++) {
        push.add(commits.get(i) + ":" + Gerrit.changeRef(900_000 + i, 1));
      }
      NativeGit git =
          new NativeGit(server.site(), "admin", server.site().adminKey(), folder("fill"));
      share(git, server.site());
      git.run(push.toArray(String[]::new));
    }
    assertBounded(
        "fast-forward over patch sets", (server, size) -> forward(server, PATCH_SETS, size, false));
  }

  /** They are refused. The cost of a plain Gerrit grows with their square. */
  @Test
  void longNamesInCommands() throws Exception {
    assertBounded(
        "commands",
        (server, size) -> {
          StringBuilder request = new StringBuilder();
          for (int i = 0; i < size / 7; i++) {
            String command =
                "0".repeat(40) + " " + commits.getFirst() + " " + longName(i, LONG / 10);
            request.append(packet(command + (i == 0 ? "\0 report-status" : "")));
          }
          byte[] body = Bytes.concat(bytes(request + "0000"), EMPTY_PACK);
          var reply =
              GitWire.exchange(server.site(), PROJECT, "reader", "git-receive-pack", "", body);
          assertWithMessage(new String(reply.body(), StandardCharsets.UTF_8))
              .that(reply.statusCode())
              .isEqualTo(200);
        });
  }

  @Test
  void manyNamespaces() throws Exception {
    assertBounded(
        "list of many namespaces",
        (server, size) -> {
          var reply =
              GitWire.exchange(server.site(), PROJECT + "-" + size, "reader", RECEIVE, "", null);
          assertWithMessage("%s namespaces", size)
              .that(new String(reply.body(), StandardCharsets.UTF_8))
              .contains("refs/n" + (size - 1) + "/x");
        });
  }
}
