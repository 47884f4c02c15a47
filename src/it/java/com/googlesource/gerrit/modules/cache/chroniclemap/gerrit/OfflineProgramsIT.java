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

import com.google.common.collect.ImmutableSortedMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritWar;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.H2Files;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code gerrit.installBatchModule}: what reindex loads is there for the daemon. */
class OfflineProgramsIT {
  private GerritSite site;
  private GerritDaemon daemon;

  @AfterEach
  void stop() throws Exception {
    GerritDaemon.end(daemon, site, "OfflineProgramsIT");
  }

  @Test
  void reindexWarmsTheCachesOfTheDaemon(@TempDir Path tmp) throws Exception {
    site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"));
    site.edit(config -> config.setString("gerrit", null, "installBatchModule", GerritSite.MODULE));
    H2Files h2 = H2Files.of(site);
    daemon = GerritDaemon.start(site);
    Gerrit gerrit = daemon.gerrit();
    Workload team = Workload.inNewProject(gerrit, "work", 3);
    String cookie = gerrit.signIn();

    daemon.stop();

    Path stores = site.cacheFolder().resolve("cache-chroniclemap");
    // As a daemon would; beside a real one Lucene does not let reindex run at all.
    try (StoreDirectory taken = StoreDirectory.open(stores)) {
      String beside = site.runProgram("reindex", "--list");
      assertThat(beside).contains("All caches are kept in memory only");
      assertThat(beside).contains(taken.path.toString());
      assertThat(beside).doesNotContain("\tat ");
    }

    for (Path file :
        Folders.files(stores, f -> f.getFileName().toString().startsWith("change_notes-"))) {
      Files.delete(file);
    }
    if (!GerritWar.version().startsWith("3.12.")) {
      // Gerrit has it since 3.13.
      String readOnly = site.runProgram("reindex", "--index", "changes", "--read-only-disk-caches");
      assertThat(readOnly).doesNotContain("Exception");
      daemon = GerritDaemon.start(site);
      assertThat(CacheFigures.of(gerrit.ssh()).get("change_notes").entries()).isEqualTo(0);
      daemon.stop();
    }

    String said = site.runProgram("reindex", "--index", "changes");
    assertThat(said).doesNotContain("Exception");
    assertThat(said).doesNotContain("memory only");
    // As after an upgrade: init runs in the daemon's process, stops none of its modules, and lets
    // a reindex that stops its own make the index anew.
    Folders.delete(site.path().resolve("index"));
    site.installRefsModule();
    site.edit(config -> config.setString("container", null, "daemonOpt", "--init"));
    daemon = GerritDaemon.start(site);
    assertThat(gerrit.ssh().run("cache-chroniclemap refs --json"))
        .doesNotContain("memory_only_reason");
    assertThat(CacheFigures.of(gerrit.ssh()).get("change_notes").entries()).isAtLeast(3);
    var unused = team.readAll(RestClient.withCookie(site.url(), cookie));
    ImmutableSortedMap<String, CacheFigures> figures = CacheFigures.of(gerrit.ssh());
    assertThat(figures.get("change_notes").diskMisses()).isEqualTo(0);
    assertThat(figures.get("change_notes").diskHits()).isGreaterThan(0);
    assertThat(h2.writtenSince()).isEmpty();
    assertThat(ErrorLog.of(site).errors()).isEmpty();
  }

  @Test
  void withoutItsFlagsAProgramGoesOnInMemory(@TempDir Path tmp) throws Exception {
    site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"));
    site.edit(
        config -> {
          config.setString("gerrit", null, "installBatchModule", GerritSite.MODULE);
          config.unset("container", null, "javaOptions");
        });
    String said = site.runProgram("reindex", "--list");
    assertThat(said).contains("--add-exports");
    assertThat(said).contains("All caches are kept in memory only");
    assertThat(said).doesNotContain("Exception");
  }
}
