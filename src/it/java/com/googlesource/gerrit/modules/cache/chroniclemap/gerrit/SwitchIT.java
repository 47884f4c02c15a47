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
import com.google.common.collect.ImmutableSortedMap;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.H2Files;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real Gerrit with H2 caches switches to this module, back, and once more. */
class SwitchIT {
  /** What reading all of the workload asks on disk, and H2 keeps there. */
  private static final ImmutableList<String> READ =
      ImmutableList.of("gerrit_file_diff", "git_file_diff", "accounts", "persisted_projects");

  private static final int MAX_ATTEMPTS = 5;

  private GerritSite site;
  private GerritDaemon daemon;
  private Gerrit gerrit;

  @AfterEach
  void stop() throws Exception {
    GerritDaemon.end(daemon, site, "SwitchIT");
  }

  /** Waits until all that was imported is in use. */
  private void awaitCaches() {
    Deadline.awaitInAMinute(this::areAllOpen, "all caches are open");
  }

  private boolean areAllOpen() throws IOException {
    for (JsonElement cache : gerrit.ssh().json("show").getAsJsonObject("caches").asMap().values()) {
      JsonObject start = cache.getAsJsonObject().getAsJsonObject("last_start");
      if (start.get("kind").getAsString().equals("pending")) {
        return false;
      }
    }
    return true;
  }

  /** The caches whose values of H2 the log says were imported. */
  private String imported() throws IOException {
    return String.join("\n", ErrorLog.of(site).lines(line -> line.contains("values from H2")));
  }

  /**
   * Signs in with H2 and stops, until H2's file has the session: a Gerrit 3.12 that stops
   * interrupts what H2 is writing.
   *
   * @param sessions that the file then has
   */
  private String signInWithH2(int sessions, Path tmp) throws Exception {
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      String cookie = gerrit.signIn();
      daemon.stop();
      if (sessionsInH2(Files.createTempDirectory(tmp, "h2")) == sessions) {
        return cookie;
      }
      daemon = GerritDaemon.start(site);
    }
    throw new AssertionError("H2 keeps no session");
  }

  private int sessionsInH2(Path copies) throws IOException, SQLException {
    Path copy = copies.resolve("web_sessions");
    Files.copy(site.path().resolve("cache/web_sessions-v2.mv.db"), Path.of(copy + ".mv.db"));
    try (Connection h2 = DriverManager.getConnection("jdbc:h2:file:" + copy);
        Statement statement = h2.createStatement();
        ResultSet count = statement.executeQuery("SELECT COUNT(*) FROM data")) {
      return count.next() ? count.getInt(1) : 0;
    }
  }

  @Test
  void nobodyNoticesButByTheSpeed(@TempDir Path tmp) throws Exception {
    site = SiteTemplate.plainSite(tmp.resolve("gerrit"));
    daemon = GerritDaemon.start(site);
    gerrit = daemon.gerrit();
    Workload team = Workload.inNewProject(gerrit, "work", 6);
    team.comment(team.changes());
    String cookie = gerrit.signIn();
    String leaving = gerrit.signIn();
    Map<String, String> before = team.readAll(RestClient.withCookie(site.url(), cookie));
    daemon.stop();
    H2Files h2 = H2Files.of(site);

    site.installModule(BuildFolder.moduleJar());
    daemon = GerritDaemon.start(site);
    assertThat(gerrit.isSignedIn(cookie)).isTrue();
    awaitCaches();
    for (String cache : READ) {
      assertThat(imported()).contains("Cache " + cache + ": imported ");
    }
    assertThat(imported()).contains("Cache web_sessions: imported 2 values from H2");
    ImmutableSortedMap<String, CacheFigures> figures = CacheFigures.of(gerrit.ssh());
    Map<String, String> after = team.readAll(RestClient.withCookie(site.url(), cookie));
    assertThat(after).isEqualTo(before);
    ImmutableSortedMap<String, CacheFigures> now = CacheFigures.of(gerrit.ssh());
    for (String name : ImmutableList.of("gerrit_file_diff", "git_file_diff")) {
      CacheFigures cache = now.get(name).since(figures);
      assertWithMessage("loaded: %s", cache).that(cache.diskMisses()).isEqualTo(0);
    }
    assertThat(now.get("gerrit_file_diff").since(figures).diskHits()).isGreaterThan(0);

    // In each Gerrit, with its own way to serve files and documentation.
    RestClient browser = RestClient.withCookie(site.url(), cookie);
    assertThat(browser.get("/plugins/cache-chroniclemap/").body()).contains("page.js");
    assertThat(browser.get("/plugins/cache-chroniclemap/static/page.js").body()).contains("fetch");
    assertThat(browser.get("/config/server/cache-chroniclemap~overview").body())
        .contains("gerrit_file_diff");
    assertThat(browser.get("/plugins/cache-chroniclemap/Documentation/page.html").body())
        .contains("The page in the browser");

    gerrit.signOut(leaving);
    daemon.kill();
    daemon = GerritDaemon.start(site);
    assertThat(gerrit.isSignedIn(leaving)).isFalse();
    assertThat(gerrit.isSignedIn(cookie)).isTrue();
    assertThat(h2.writtenSince()).isEmpty();
    assertThat(ErrorLog.of(site).errors()).isEmpty();
    daemon.stop();

    site.goBackToH2();
    for (Path file : h2.takenOver()) {
      Files.move(file, site.cacheFolder().resolve(file.getFileName()));
    }
    daemon = GerritDaemon.start(site);
    assertThat(gerrit.isSignedIn(cookie)).isTrue();
    gerrit.signOut(cookie);
    String withH2 = signInWithH2(2, tmp);

    site.installModule(BuildFolder.moduleJar());
    daemon = GerritDaemon.start(site);
    assertThat(gerrit.isSignedIn(cookie)).isFalse();
    assertWithMessage(imported()).that(gerrit.isSignedIn(withH2)).isTrue();
    assertThat(ErrorLog.of(site).errors()).isEmpty();
  }
}
