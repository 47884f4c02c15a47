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

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The page of a real Gerrit in a real browser. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(300)
class PageIT {
  /** Gerrit allows neither angle brackets nor double quotes in the names of projects. */
  private static final String PROJECT = "a&lt;b' onclick='x &amp; <b>".replace("<b>", "b");

  private static final String API = "/config/server/cache-chroniclemap~";
  private static final Path PICTURES = Path.of("target", "pictures");

  private GerritSite site;
  private GerritDaemon daemon;
  private Gerrit gerrit;
  private String page;
  private Browser browser;

  @BeforeAll
  void start(@TempDir Path tmp) throws Exception {
    site = SiteTemplate.siteWithModule(tmp.resolve("gerrit"));
    site.installRefsModule();
    daemon = GerritDaemon.start(site);
    gerrit = new Gerrit(site);
    page = site.url() + "plugins/cache-chroniclemap/";
    gerrit.createProject(PROJECT);
    gerrit.createUserWithPassword("nobody");
    gerrit.createUserWithPassword("viewer");
    gerrit.grant("viewer", "viewCaches");
  }

  @AfterAll
  void stop() throws Exception {
    if (daemon != null) {
      daemon.close();
    }
    if (site != null) {
      site.saveLogs("PageIT");
      site.close();
    }
  }

  @BeforeEach
  void open() {
    browser = new Browser();
  }

  @AfterEach
  void close() {
    browser.close();
  }

  private void signIn(int account) {
    browser.open(site.url() + "login/?account_id=" + account);
    browser.console();
  }

  /** Opens the page as the administrator. */
  private void open(String query) throws Exception {
    signIn(Gerrit.ADMIN_ID);
    browser.open(page + query);
    browser.await("#caches table");
  }

  /** The exact figures of a row of the table, by the text of its first cell. */
  private List<String> row(String section, String first) {
    return browser.all(section + " tbody tr").stream()
        .filter(row -> row.getText().startsWith(first))
        .flatMap(row -> row.findElements(org.openqa.selenium.By.tagName("data")).stream())
        .map(figure -> figure.getDomAttribute("value"))
        .toList();
  }

  private JsonObject rest(String path) {
    try {
      return gerrit.rest().get(API + path).json().getAsJsonObject();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void figuresAreThoseOfRest() throws Exception {
    open("");
    for (JsonElement cache : rest("caches").getAsJsonArray("caches")) {
      String name = cache.getAsJsonObject().get("name").getAsString();
      assertWithMessage(name).that(row("#caches", name)).hasSize(6);
    }
    // A cache that is not at work at the moment, once the page has been refreshed.
    Deadline.in(Duration.ofMinutes(1))
        .await(
            () -> {
              JsonObject rest = rest("caches/projects");
              return row("#caches", "projects")
                  .equals(
                      List.of(
                          rest.get("entries").getAsString(), rest.get("heap_hits").getAsString()));
            },
            "the figures of REST on the page");
  }

  @Test
  void looks() throws Exception {
    open("");
    browser.await("#cache-charts canvas");
    browser.picture(PICTURES.resolve("page-light.png"));
    browser.dark(true);
    browser.picture(PICTURES.resolve("page-dark.png"));
    browser.resize(360, 800);
    browser.picture(PICTURES.resolve("page-360.png"));
    browser.resize(1400, 1000);
    browser.dark(false);
    open("?cache=change_notes");
    browser.await("#cache-charts canvas");
    browser.picture(PICTURES.resolve("cache-light.png"));
    System.err.println(browser.console());
    System.err.println(browser.obstacles());
  }
}
