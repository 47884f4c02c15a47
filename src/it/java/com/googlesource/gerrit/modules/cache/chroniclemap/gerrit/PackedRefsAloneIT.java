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
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Parsed ref lists in a Gerrit whose caches are H2's. */
class PackedRefsAloneIT extends RefsFixture {
  @Override
  void prepare(Path tmp) throws IOException {
    site.installRefsModule();
    site.edit(config -> config.unset("gerrit", null, "installModule"));
  }

  @Test
  void changesArePushed() throws Exception {
    Workload team = Workload.inNewProject(gerrit, "work", 3);
    git("work", "pack-refs", "--all");
    team.approve(team.changes());
    assertSameRefs("work");
    awaitMetric("lookups", lookups -> lookups > 0);
  }

  /** One start for both: neither has to do with the other. */
  @Test
  void theCommandTakesOneMoreLineAndWithoutTheFlagsListsAreInMemoryOnly() throws Exception {
    assertThat(gerrit.ssh().tryRun("cache-chroniclemap refs").isOk()).isFalse();
    site.edit(
        config ->
            config.setString(
                "gerrit",
                null,
                "installModule",
                "com.googlesource.gerrit.modules.cache.chroniclemap.PackedRefsCommandsModule"));
    site.editJavaOptions(options -> options.removeAll(GerritSite.MODULE_FLAGS));
    restart();
    assertThat(gerrit.ssh().run("cache-chroniclemap refs")).contains("All-Projects");
    JsonObject overview = gerrit.rest().object("/config/server/cache-chroniclemap~overview");
    assertThat(overview.getAsJsonObject("refs").getAsJsonObject("projects").size())
        .isGreaterThan(0);
    assertThat(overview.getAsJsonObject("caches").size()).isEqualTo(0);
    assertThat(overview.has("directory") || overview.has("memory_only_reason")).isFalse();
    assertThat(gerrit.ssh().tryRun("cache-chroniclemap show").isOk()).isFalse();
    assertThat(gerrit.ssh().run("gerrit show-caches -w 120")).contains("D accounts");
    gerrit.createProject("flags");
    git("flags", "pack-refs", "--all");
    assertSameRefs("flags");
    awaitMetric("memory_only", flag -> flag == 1);
    awaitMetric("failures", failures -> failures == 0);
    assertThat(Files.readString(site.path().resolve("logs/error_log")))
        .contains("Parsed ref lists are kept in memory only");
    Files.writeString(site.path().resolve("logs/error_log"), "");
    site.installModule(BuildFolder.moduleJar());
    site.edit(config -> config.unset("gerrit", null, "installModule"));
    restart();
  }
}
