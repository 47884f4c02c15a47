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

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshKeys;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshUser;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Parsed ref lists and caches of this module in one Gerrit, while others change refs. */
class PackedRefsIT extends RefsFixture {
  private JsonObject figures(String project) throws IOException {
    return gerrit
        .ssh()
        .json("refs " + project)
        .getAsJsonObject("projects")
        .getAsJsonObject(project);
  }

  /** What is wrong with one ref is that ref's alone. */
  @Test
  void badFilesAreTheirOwnRefsAlone() throws Exception {
    gerrit.createProject("bad");
    gerrit.grantToAdministratorsOnly("bad", "refs/heads/*", "push");
    Workload team = new Workload(gerrit, "bad");
    team.push(2);
    gerrit.createBranch("bad", "packed");
    gerrit.createBranch("bad", "ok");
    git("bad", "pack-refs", "--all");
    Map<String, String> before = refsOfGerrit("bad");
    Path ini = folder("bad").resolve("refs/heads/desktop.ini");
    Path change = folder("bad").resolve("refs/changes/99/99/1");
    Path user = folder("All-Users").resolve("refs/users/77/1000077");
    for (Path file : List.of(ini, change, user)) {
      Files.createDirectories(file.getParent());
      Files.writeString(file, file.equals(ini) ? "[.ShellClassInfo]\r\n" : "");
    }
    assertThat(refsOfGerrit("bad")).isEqualTo(before);
    NativeGit mirror = gerrit.git();
    mirror.run("fetch", "-q", "--update-head-ok", mirror.http("bad"), "+refs/*:refs/*");
    assertThat(NativeGit.refsIn(mirror.run("for-each-ref", "--format=%(objectname) %(refname)")))
        .isEqualTo(before);
    String next = mirror.commit("Beside bad files", "refs/heads/ok");
    mirror.run("push", "-q", mirror.http("bad"), next + ":refs/heads/ok");
    assertThat(mirror.fetch("bad", "refs/heads/ok")).isEqualTo(next);
    team.push(2);
    team.approve(team.changes().subList(0, 1));
    team.submit(team.changes().subList(0, 1));
    assertThat(gerrit.branches("bad")).contains("refs/heads/ok");
    gerrit.createUserWithPassword("beside-bad-files");
    assertThat(gerrit.rest().get("/accounts/?q=is:active").body()).contains("_account_id");
    assertThat(refsOfGerrit("All-Users")).isNotEmpty();
    String shown = gerrit.ssh().run("cache-chroniclemap refs --json");
    assertThat(shown).contains("refs/heads/desktop.ini: no ref, ");
    assertThat(shown).contains("refs/changes/99/99/1: broken ref");
    assertThat(shown).contains("refs/users/77/1000077: broken ref");
    assertThat(gerrit.ssh().run("gerrit gc --show-progress bad")).contains("done");

    // The older value of a ref that lost its newer one is not served, and its objects stay.
    Path packed = folder("bad").resolve("refs/heads/packed");
    Files.createDirectories(packed.getParent());
    Files.writeString(packed, "");
    assertThat(gerrit.branches("bad")).doesNotContain("refs/heads/packed");
    assertThat(gerrit.ssh().tryRun("gerrit gc --show-progress bad").out()).doesNotContain("done");
    Path head = folder("bad").resolve("HEAD");
    Files.writeString(head, "");
    assertThat(gerrit.branches("bad")).contains("refs/heads/ok");
    assertThat(refsOfGerrit("bad")).isNotEmpty();
    gerrit.createBranch("bad", "beside-a-broken-head");
    Files.writeString(head, "ref:refs/heads/master\n");
    for (Path file : List.of(ini, change, user, packed)) {
      Files.delete(file);
    }
    assertThat(gerrit.branches("bad")).containsAtLeast("HEAD", "refs/heads/packed");
    assertSameRefs("bad");
  }

  @Test
  void reftablesAreReadFromTheirTables() throws Exception {
    gerrit.createProject("table");
    gerrit.createBranch("table", "a");
    git("table", "pack-refs", "--all");
    Map<String, String> before = refsOfGerrit("table");
    gerrit.ssh().run("gerrit convert-ref-storage --project table --format reftable");
    assertThat(Files.isDirectory(folder("table").resolve("reftable"))).isTrue();
    assertThat(refsOfGerrit("table")).isEqualTo(before);
    gerrit.createBranch("table", "b");
    assertThat(gerrit.branches("table")).containsAtLeast("refs/heads/a", "refs/heads/b");
    JsonObject totals = gerrit.ssh().json("refs").getAsJsonObject("totals");
    assertThat(totals.get("reftables").getAsLong()).isGreaterThan(0);
    assertThat(totals.get("table_lookups").getAsLong()).isGreaterThan(0);
    assertThat(totals.get("failures").getAsLong()).isEqualTo(0);
    assertSameRefs("table");
    Map<String, String> with = refsOfGerrit("table");
    gerrit.ssh().run("gerrit convert-ref-storage --project table --format refdir --backup false");
    assertThat(refsOfGerrit("table")).isEqualTo(with);
    gerrit.deleteBranch("table", "a");
    git("table", "pack-refs", "--all");
    assertSameRefs("table");
  }

  /** And a repository for which an administrator switches it off is left to JGit from then on. */
  @Test
  void nothingIsParsedAgainAfterARestart() throws Exception {
    gerrit.createProject("off");
    git("off", "config", "cache-chroniclemap.packedRefs", "false");
    gerrit.createProject("again");
    for (int i = 0; i < 20; i++) {
      gerrit.createBranch("again", "b" + i);
    }
    git("again", "pack-refs", "--all");
    Set<String> before = gerrit.branches("again");
    assertThat(before).hasSize(23);
    awaitMetric("parses", parses -> parses > 0);
    restart();
    assertThat(gerrit.branches("again")).isEqualTo(before);
    assertSameRefs("again");
    awaitMetric("loads", loads -> loads > 0);
    awaitMetric("lookups", lookups -> lookups > 0);
    awaitMetric("parses", parses -> parses == 0);
    assertThat(figures("again").get("parses").getAsInt()).isEqualTo(0);
    assertThat(figures("again").get("found").getAsLong()).isEqualTo(1);

    git("off", "pack-refs", "--all");
    gerrit.createBranch("off", "a");
    assertThat(gerrit.branches("off")).contains("refs/heads/a");
    assertSameRefs("off");
    assertThat(projectsShown()).doesNotContain("off");
  }

  @Test
  void offlineProgramsWork() throws Exception {
    gerrit.createProject("offline");
    gerrit.createBranch("offline", "a");
    git("offline", "pack-refs", "--all");
    assertSameRefs("offline");
    daemon.stop();
    // So an admin can tell whether a Gerrit that was killed has left something.
    assertThat(Folders.files(folder("offline").resolve("cache-chroniclemap"), file -> true))
        .isEmpty();
    // H2, which has the caches here, now and then fails to open one in time with Gerrit 3.12.
    assertThat(site.runProgram("reindex", "--index", "changes"))
        .doesNotContain("\tat com.googlesource.gerrit.modules");
    assertThat(
            site.runProgram(
                "init", "--batch", "--no-auto-start", "--skip-all-downloads", "--skip-plugins"))
        .doesNotContain("Exception");
    daemon = GerritDaemon.start(site);
    assertSameRefs("offline");
    awaitMetric("memory_only", flag -> flag == 0);
    awaitMetric("parses", parses -> parses == 0);
  }

  @Test
  void theCommandTellsOfAProject() throws Exception {
    gerrit.createProject("seen");
    for (int i = 0; i < 10; i++) {
      gerrit.createBranch("seen", "b" + i);
    }
    git("seen", "pack-refs", "--all");
    assertSameRefs("seen");
    JsonObject seen = figures("seen");
    assertThat(seen.get("name").getAsString()).isEqualTo("seen");
    assertThat(seen.get("in_memory").getAsBoolean()).isTrue();
    assertThat(seen.get("refs").getAsInt()).isEqualTo(refsOfGit("seen").size());
    assertThat(seen.get("lookups").getAsLong()).isGreaterThan(0);
    assertThat(seen.get("parses").getAsLong()).isGreaterThan(0);
    assertThat(seen.get("last_parse").getAsString()).startsWith("20");
    // No list left unread.
    long lookups = seen.get("lookups").getAsLong();
    assertThat(gerrit.branches("seen")).contains("refs/heads/b3");
    assertThat(figures("seen").get("lookups").getAsLong()).isGreaterThan(lookups);
  }

  @Test
  void projectsThatAUserMayNotSeeAreNotShown() throws Exception {
    for (String project : new String[] {"shown", "hidden"}) {
      gerrit.createProject(project);
      git(project, "pack-refs", "--all");
      assertSameRefs(project);
    }
    gerrit
        .rest()
        .post(
            "/projects/hidden/access",
            """
            {"add": {"refs/*": {"permissions": {"read":
              {"rules": {"global:Anonymous-Users": {"action": "BLOCK"}}}}}}}
            """);
    KeyPair key = SshKeys.generate();
    gerrit.createUser("watcher", key);
    gerrit.grant("watcher", "viewCaches");
    SshUser watcher = new SshUser(site.sshPort(), "watcher", key);
    assertThat(gerrit.ssh().run("cache-chroniclemap refs --json")).contains("\"hidden\"");
    assertThat(watcher.run("gerrit ls-projects")).doesNotContain("hidden");
    String seen = watcher.run("cache-chroniclemap refs --json");
    assertThat(seen).contains("\"shown\"");
    assertThat(seen).doesNotContain("hidden");
    SshUser.Result asked = watcher.tryRun("cache-chroniclemap refs hidden");
    assertThat(asked.status()).isEqualTo(1);
    assertThat(asked.err()).contains("no parsed refs of");
  }
}
