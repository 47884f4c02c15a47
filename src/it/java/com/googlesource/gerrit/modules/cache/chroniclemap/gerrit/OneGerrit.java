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

import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.RedisServer;
import java.io.IOException;
import java.nio.file.Path;
import org.eclipse.jgit.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;

/** A real Gerrit for all tests of a class. */
@TestInstance(Lifecycle.PER_CLASS)
abstract class OneGerrit {
  GerritSite site;
  GerritDaemon daemon;
  Gerrit gerrit;
  @Nullable private RedisServer redis;

  /** Prepares the site, which has the jar and its caches, for the first start. */
  void prepare(Path tmp) throws Exception {
    site.installRefsModule();
  }

  /** Has the site share values through a server of its own. */
  final void shareValues(Path tmp) throws IOException {
    redis = RedisServer.start(tmp.resolve("redis"));
    site.shareValues(redis.port());
  }

  @BeforeAll
  void start(@TempDir Path tmp) throws Exception {
    site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"));
    prepare(tmp);
    daemon = GerritDaemon.start(site);
    gerrit = daemon.gerrit();
  }

  @AfterAll
  void stop() throws Exception {
    GerritDaemon.end(daemon, site, getClass().getSimpleName());
    if (redis != null) {
      redis.close();
    }
  }

  void restart() throws IOException {
    daemon.stop();
    daemon = GerritDaemon.start(site);
  }

  /**
   * Damages a value of a new project in the file of {@code persisted_projects}.
   *
   * @return the project's description
   */
  String damage(String project) throws IOException {
    String description = "a text that is nowhere else";
    gerrit.createProject(project);
    gerrit
        .rest()
        .put("/projects/" + project + "/description", "{\"description\": \"" + description + "\"}");
    assertThat(gerrit.rest().get("/projects/" + project).body()).contains(description);
    // From the files, or it is in the memory tier alone.
    String cache = "/config/server/cache-chroniclemap~caches/persisted_projects";
    Deadline.awaitInAMinute(
        () -> gerrit.rest().object(cache).get("queued").getAsLong() == 0,
        "the project's values in the file");
    site.spoil("persisted_projects", description);
    return description;
  }

  /** By a SIGKILL. */
  void crash() throws IOException {
    daemon.kill();
    daemon = GerritDaemon.start(site);
  }
}
