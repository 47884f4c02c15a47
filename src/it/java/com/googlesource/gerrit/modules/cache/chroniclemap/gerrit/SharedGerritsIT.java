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

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.collect.ImmutableList;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.AtOnce;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jgit.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real Gerrits that share computed values through a real Redis server. */
class SharedGerritsIT {
  /** Caches on the way of the requests of the workload, whose values are shared. */
  private static final ImmutableList<String> SHARED =
      ImmutableList.of(
          "accounts", "change_kind", "change_notes", "gerrit_file_diff", "modified_files");

  @TempDir Path temp;
  private RedisServer redis;
  private final List<GerritDaemon> servers = new ArrayList<>();

  private static long figure(GerritDaemon server, String name) throws IOException {
    return server.gerrit().ssh().json("shared").get(name).getAsLong();
  }

  /** Starts a Gerrit with the repositories of the first one. */
  private GerritDaemon start(String name) throws Exception {
    GerritSite site = SiteTemplate.plainSite(temp.resolve(name));
    site.installModule(BuildFolder.moduleJar());
    site.shareValues(redis.port());
    if (!servers.isEmpty()) {
      Path repositories = servers.get(0).site().path().resolve("git");
      site.edit(config -> config.setString("gerrit", null, "basePath", repositories.toString()));
    }
    GerritDaemon server = GerritDaemon.start(site);
    servers.add(server);
    return server;
  }

  @AfterEach
  void stop() throws Exception {
    if (redis != null) {
      redis.close();
    }
    GerritDaemon.end(servers, "SharedGerritsIT");
  }

  /** Waits until a server has read all that another one has published. */
  private static void awaitAllRead(GerritDaemon by, GerritDaemon from, long before) {
    Deadline deadline = Deadline.in(Duration.ofMinutes(1));
    deadline.await(
        () ->
            figure(from, "queued") == 0
                && figure(by, "received") - before >= figure(from, "published"),
        "all is read");
  }

  /** Reads all and asserts that nothing had to be computed that is shared. */
  private static void assertComputesNothing(
      GerritDaemon server, Workload team, @Nullable Map<String, String> expected)
      throws IOException {
    Map<String, CacheFigures> before = CacheFigures.of(server.gerrit().ssh());
    Map<String, String> read = team.readAll(server.gerrit().rest());
    if (expected != null) {
      assertThat(read).isEqualTo(expected);
    }
    Map<String, CacheFigures> now = CacheFigures.of(server.gerrit().ssh());
    for (String cache : SHARED) {
      assertWithMessage("misses of %s", cache)
          .that(now.get(cache).since(before).diskMisses())
          .isEqualTo(0);
    }
  }

  @Test
  void whatOneComputesTheOthersHaveOnDisk() throws Exception {
    redis = RedisServer.start(temp.resolve("redis"));
    GerritDaemon a = start("a");
    GerritDaemon b = start("b");
    JsonObject check = b.gerrit().ssh().json("shared --check");
    assertWithMessage("%s", check).that(check.get("good").getAsBoolean()).isTrue();

    Workload team = Workload.inNewProject(a.gerrit(), "work", 6);
    team.comment(team.changes());
    Map<String, String> expected = team.readAll(a.gerrit().rest());
    awaitAllRead(b, a, 0);
    assertComputesNothing(b, team, expected);
    assertThat(figure(b, "taken_in")).isAtLeast(20);
    assertThat(b.gerrit().rest().get("/config/server/cache-chroniclemap~overview").body())
        .containsMatch("(?s)\"shared\":.*taken_in");
    assertThat(Files.readString(b.site().path().resolve("logs/error_log")))
        .contains("Connected to the server of shared values");

    GerritDaemon late = start("late");
    awaitAllRead(late, a, 0);
    assertComputesNothing(late, team, expected);

    // What was flushed does not come back from the log, even into a file without a note.
    late.gerrit().ssh().run("gerrit flush-caches --cache gerrit_file_diff");
    late.stop();
    GerritDaemon again = GerritDaemon.start(late.site());
    servers.set(servers.indexOf(late), again);
    awaitAllRead(again, a, 0);
    Map<String, CacheFigures> before = CacheFigures.of(again.gerrit().ssh());
    assertThat(team.readAll(again.gerrit().rest())).isEqualTo(expected);
    Map<String, CacheFigures> now = CacheFigures.of(again.gerrit().ssh());
    assertThat(now.get("gerrit_file_diff").since(before).diskMisses()).isGreaterThan(0);
    assertThat(now.get("change_notes").since(before).diskMisses()).isEqualTo(0);

    // Whatever befalls the server, each of them goes on alone. Calls of a frozen one end
    // after five seconds, with an error.
    String log = redis.cli("keys", "*:v1").trim();
    assertAnswersMeanwhile(a, b, team, redis::freeze);
    redis.thaw();
    assertAnswersMeanwhile(a, b, team, () -> redis.cli("config", "set", "maxmemory", "1"));
    assertAnswersMeanwhile(a, b, team, () -> redis.cli("flushall"));
    redis.cli("config", "set", "maxmemory", "0");
    assertAnswersMeanwhile(a, b, team, () -> redis.cli("xtrim", log, "maxlen", "0"));
    assertAnswersMeanwhile(a, b, team, () -> redis.cli("set", log, "no stream"));
    redis.cli("del", log);
    assertAnswersMeanwhile(a, b, team, redis::kill);
    Deadline.awaitInAMinute(() -> figure(b, "unreachable") == 1, "the server is missed");
    redis.start();
    Deadline.awaitInAMinute(() -> figure(b, "unreachable") == 0, "the server is found");
    for (GerritDaemon server : servers) {
      assertThat(ErrorLog.of(server.site()).errors()).isEmpty();
    }
  }

  private interface Fault {
    void bring() throws Exception;
  }

  /** Two servers answer alike, and without an error, during a fault and load. */
  private static void assertAnswersMeanwhile(
      GerritDaemon a, GerritDaemon b, Workload team, Fault fault) throws Exception {
    AtomicBoolean isOver = new AtomicBoolean();
    AtOnce.run(
        List.of(
            () -> {
              try {
                fault.bring();
                team.push(2);
                Map<String, String> read = team.readAll(a.gerrit().rest());
                assertThat(team.readAll(b.gerrit().rest())).isEqualTo(read);
                return null;
              } finally {
                isOver.set(true);
              }
            },
            () -> {
              while (!isOver.get()) {
                var unused = team.readAll(b.gerrit().rest());
              }
              return null;
            }));
  }
}
