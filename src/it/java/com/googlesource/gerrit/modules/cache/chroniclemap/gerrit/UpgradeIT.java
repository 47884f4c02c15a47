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

import com.google.common.collect.Sets;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritSite;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SiteTemplate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An upgrade of the jar alone: the next one uses the files that an older one has left.
 *
 * <p>If this fails because a format has changed, all caches start empty after the upgrade. Then
 * CHANGELOG.md and install.md must say so, and {@link #main} makes the files anew. It also does if
 * this fails because another Gerrit has other versions of the caches that must be used.
 */
class UpgradeIT {
  /** The repositories and caches of a small site, as the jar of commit 4338e189 left them. */
  private static final Path OLD = Path.of("src/it/resources/site-of-2026-11-28.tar.gz");

  private static final String PROJECT = "work";
  private static final String COOKIE = "cookie";

  /** The session of {@link #OLD} must not expire. */
  private static final String FOREVER = "36500 d";

  @Test
  void theFilesOfAnOlderJarAreUsed(@TempDir Path tmp) throws Exception {
    try (GerritSite site = site(tmp.resolve("gerrit"))) {
      Folders.delete(site.path().resolve("git"));
      tar("-xzf", OLD.toString(), "-C", site.path().toString());
      String cookie = Files.readString(site.path().resolve(COOKIE));
      Set<String> before = versions(site);
      try (GerritDaemon daemon = GerritDaemon.start(site)) {
        Gerrit gerrit = daemon.gerrit();
        assertThat(gerrit.isSignedIn(cookie)).isTrue();
        assertThat(gerrit.isSignedIn(cookie + "0")).isFalse();
        RestClient reader = RestClient.withCookie(site.url(), cookie);
        assertThat(reader.get("/projects/" + PROJECT + "/branches/").body()).contains("master");

        Set<String> made = Sets.difference(versions(site), before);
        List<String> used = new ArrayList<>();
        for (JsonElement element :
            get(reader, "caches").getAsJsonObject("caches").asMap().values()) {
          JsonObject cache = element.getAsJsonObject();
          String name = cache.get("name").getAsString();
          String kind = cache.getAsJsonObject("last_start").get("kind").getAsString();
          // In another Gerrit, a cache may have another version.
          if (made.stream().noneMatch(version -> version.startsWith(name + "-v"))) {
            assertWithMessage(name).that(kind).isAnyOf("clean", "copy");
          }
          if (cache.get("disk_hits").getAsLong() > 0) {
            used.add(name);
          }
        }
        assertThat(used).containsAtLeast("web_sessions", "accounts", "persisted_projects");
        // Parsed lists have got another format since, so each is made anew.
        JsonObject refs = get(reader, "refs");
        assertThat(refs.getAsJsonObject("totals").get("loads").getAsLong()).isEqualTo(0);
        JsonObject read = refs.getAsJsonObject("projects").getAsJsonObject(PROJECT);
        assertThat(read.get("parses").getAsLong()).isAtLeast(1);
        assertThat(ErrorLog.of(site).errors()).isEmpty();
        assertThat(daemon.isRunning()).isTrue();
      }
    }
  }

  /** The names and versions of the caches that have files, such as {@code accounts-v2}. */
  private static Set<String> versions(GerritSite site) throws IOException {
    return Folders.files(site.cacheFolder(), f -> f.toString().endsWith(".chm")).stream()
        .map(file -> file.getFileName().toString().replaceFirst("-g\\d+-.*", ""))
        .collect(Collectors.toSet());
  }

  private static JsonObject get(RestClient reader, String what) throws IOException {
    return reader.object("/config/server/cache-chroniclemap~" + what);
  }

  private static GerritSite site(Path folder) throws IOException, InterruptedException {
    GerritSite site = SiteTemplate.siteWithModule(folder);
    site.installRefsModule();
    site.edit(config -> config.setString("cache", "web_sessions", "maxAge", FOREVER));
    return site;
  }

  private static void tar(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("tar"));
    command.addAll(List.of(arguments));
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isEqualTo(0);
  }

  /** Makes {@link #OLD} anew, with the jar that is built. Its name should say the day. */
  public static void main(String[] arguments) throws Exception {
    Path tmp = Files.createTempDirectory("old-site");
    try (GerritSite site = site(tmp.resolve("gerrit"))) {
      try (GerritDaemon daemon = GerritDaemon.start(site)) {
        Gerrit gerrit = daemon.gerrit();
        gerrit.createProject(PROJECT);
        for (String project : List.of("All-Projects", "All-Users", PROJECT)) {
          site.git(project, "pack-refs", "--all");
        }
        String cookie = gerrit.signIn();
        Files.writeString(site.path().resolve(COOKIE), cookie);
        RestClient.withCookie(site.url(), cookie).get("/projects/" + PROJECT + "/branches/");
        System.out.println(gerrit.ssh().run("cache-chroniclemap show"));
        System.out.println(gerrit.ssh().run("cache-chroniclemap refs"));
        daemon.stop();
      }
      tar("-czf", OLD.toString(), "-C", site.path().toString(), "git", "cache", COOKIE);
    }
    Folders.delete(tmp);
    System.out.println(Files.size(OLD) + " bytes, by " + BuildFolder.moduleJar());
  }
}
