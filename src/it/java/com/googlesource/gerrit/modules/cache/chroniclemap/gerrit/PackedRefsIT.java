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
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshKeys;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshUser;
import java.io.IOException;
import java.security.KeyPair;
import org.junit.jupiter.api.Test;

/** Parsed ref lists and caches of this module in one Gerrit. */
class PackedRefsIT extends PackedRefsScenario {
  @Override
  void install(GerritSite plain) throws IOException {
    plain.installModule(BuildFolder.moduleJar());
    plain.installRefsModule();
  }

  private JsonObject figures(String project) throws IOException {
    return gerrit.ssh().json("refs " + project).getAsJsonArray("projects").get(0).getAsJsonObject();
  }

  @Test
  void theCommandTellsOfAProject() throws Exception {
    gerrit.createProject("seen");
    for (int i = 0; i < 10; i++) {
      createBranch("seen", "b" + i);
    }
    git("seen", "pack-refs", "--all");
    assertSameRefs("seen");
    JsonObject seen = figures("seen");
    assertThat(seen.get("name").getAsString()).isEqualTo("seen");
    assertThat(seen.get("in_memory").getAsBoolean()).isTrue();
    assertThat(seen.get("refs").getAsInt()).isEqualTo(refsOfGit("seen").size());
    assertThat(seen.get("lookups").getAsLong()).isGreaterThan(0);
    assertThat(seen.get("parses").getAsLong()).isGreaterThan(0);
    assertThat(seen.get("last_parse").getAsLong()).isGreaterThan(0);
    // No list left unread.
    long lookups = seen.get("lookups").getAsLong();
    assertThat(gerrit.branches("seen")).contains("refs/heads/b3");
    assertThat(figures("seen").get("lookups").getAsLong()).isGreaterThan(lookups);

    restart();
    assertSameRefs("seen");
    JsonObject after = figures("seen");
    assertThat(after.get("parses").getAsLong()).isEqualTo(0);
    assertThat(after.get("found").getAsLong()).isEqualTo(1);
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

  @Test
  void theTableFitsTheScreen() throws Exception {
    gerrit.createProject("table-of-refs-with-a-name-that-is-much-too-long-for-its-column");
    String table = gerrit.ssh().run("cache-chroniclemap refs");
    assertThat(table).contains("All-Projects");
    assertThat(table).contains("Lookups");
    assertThat(table.lines().filter(line -> line.length() > 100).toList()).isEmpty();
  }

  @Test
  void theCommandRefusesWhatItDoesNotKnow() throws Exception {
    SshUser.Result result = gerrit.ssh().tryRun("cache-chroniclemap refs nonsense");
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err()).contains("nonsense");
    assertThat(result.out()).isEmpty();
  }
}
