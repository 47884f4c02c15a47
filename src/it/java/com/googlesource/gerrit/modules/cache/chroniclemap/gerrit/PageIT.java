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

import com.google.common.base.Splitter;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Browser;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Gerrit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshUser;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.openqa.selenium.By;
import org.openqa.selenium.WebElement;

/** The page of a real Gerrit in a real browser, and the documentation that Gerrit serves. */
@Timeout(300)
@TestMethodOrder(OrderAnnotation.class)
class PageIT extends OneGerrit {
  /** Gerrit allows neither angle brackets nor double quotes in the names of projects. */
  private static final String PROJECT = "a&lt;img src=x&gt; ' onclick='x &amp; b";

  private static final String API = "/config/server/cache-chroniclemap~";
  private static final Path PICTURES = BuildFolder.path().resolve("pictures");

  /** Tests of charts come last: those have lines a minute after the start. */
  private static final int LAST = Integer.MAX_VALUE;

  private String page;
  private Browser browser;

  /** The exact figures of a cache. */
  private static final int FIGURES = 7;

  @Override
  void prepare(Path tmp) throws Exception {
    super.prepare(tmp);
    shareValues(tmp);
  }

  @BeforeAll
  void open() throws IOException {
    page = site.url() + "plugins/cache-chroniclemap/";
    gerrit.createProject(PROJECT);
    gerrit.createProject("hidden");
    gerrit.rest().put("/projects/hidden/config", "{\"state\": \"HIDDEN\"}");
    gerrit.createUserWithPassword("nobody");
    gerrit.createUserWithPassword("viewer");
    gerrit.grant("viewer", "viewCaches");
    browser = new Browser();
  }

  @AfterAll
  void close() {
    if (browser != null) {
      browser.close();
    }
  }

  @BeforeEach
  void signOut() {
    browser.forget();
  }

  /** Opens the page as nobody, and signs in by the link that is there. */
  private void signIn(int account) {
    browser.open(page);
    String link = signInLink();
    browser.open(link + "?account_id=" + account);
    assertThat(browser.url()).isEqualTo(page);
    // The page was refused to nobody, which the console says.
    browser.console();
  }

  private String signInLink() {
    return browser.await("main a[href*='login']").getDomProperty("href");
  }

  /** Opens the page as the administrator, and waits for the charts. */
  private void open(String query) {
    signIn(Gerrit.ADMIN_ID);
    browser.open(page + query);
    browser.await(query.contains("cache=") ? "#summary table" : "#caches table");
  }

  private List<String> texts(String selector) {
    return browser.all(selector).stream().map(WebElement::getText).toList();
  }

  private JsonObject rest(String path) throws IOException {
    return gerrit.rest().object(API + path);
  }

  /** The exact figures in a row of the table of caches. */
  private List<String> figures(String cache) {
    WebElement row =
        browser.all("#caches tbody tr").stream()
            .filter(r -> r.findElement(By.tagName("th")).getText().equals(cache))
            .findAny()
            .orElseThrow();
    return row.findElements(By.tagName("data")).stream()
        .map(figure -> figure.getDomAttribute("value"))
        .toList();
  }

  private static JsonElement get(JsonElement json, String... path) {
    JsonElement found = json;
    for (String name : path) {
      found = found.getAsJsonObject().get(name);
    }
    return found;
  }

  private static String text(JsonElement json, String... path) {
    return get(json, path).getAsString();
  }

  private static String rise(JsonElement now, JsonElement then, String name) {
    return String.valueOf(get(now, name).getAsLong() - get(then, name).getAsLong());
  }

  @Test
  void figuresAreThoseOfRest() throws Exception {
    open("?all=1");
    for (String cache : rest("caches").getAsJsonObject("caches").keySet()) {
      assertThat(figures(cache)).hasSize(FIGURES);
    }
    // The page refreshes itself until its figures are those that REST has as well.
    Deadline.awaitInAMinute(
        () -> {
          JsonObject rest = rest("caches/persisted_projects");
          JsonElement then =
              get(rest("overview?minutes=60"), "since", "caches", "persisted_projects");
          List<String> expected =
              List.of(
                  text(rest, "entries"),
                  text(rest, "heap_entries"),
                  text(rest, "memory_limit"),
                  rise(rest, then, "heap_hits"),
                  rise(rest, then, "disk_hits"),
                  text(rest, "read_latency", "p99_nanos"),
                  rise(rest, then, "evicted"));
          return figures("persisted_projects").equals(expected);
        },
        "the figures of REST on the page");
    // Limits are shown as they are set.
    assertThat(browser.one("#caches").getText()).contains(" / 10m");
    assertThat(text(rest("caches/persisted_projects"), "entries")).isNotEqualTo("0");
    assertThat(browser.one("#refs").getText()).contains(PROJECT);
    assertThat(browser.one("#refs").getText()).contains("hidden");
  }

  @Test
  void allFiguresOfOneCache() {
    open("?cache=change_notes");
    assertThat(browser.one("#figures").getText()).contains("read_latency_p99");
    assertThat(browser.all("#caches")).isEmpty();
    assertThat(browser.all("#refs")).isEmpty();
    browser.open(page + "?cache=%3Cscript%3Ealert(1)%3C/script%3E");
    browser.await("main h2");
    assertThat(browser.text()).contains("no cache \"<script>alert(1)</script>\" on disk");
  }

  @Test
  @Order(LAST)
  void looksWellEverywhere() throws Exception {
    open("");
    browser.await("#cache-charts canvas");
    for (boolean dark : List.of(false, true)) {
      browser.dark(dark);
      for (int width : List.of(360, 800, 1280, 1920)) {
        browser.resize(width, 1000);
        String name = "page-" + (dark ? "dark-" : "light-") + width;
        assertWithMessage(name).that(browser.obstacles()).isEmpty();
        assertWithMessage(name).that(browser.overflow()).isAtMost(0);
        assertWithMessage(name).that(texts("#totals dt")).hasSize(6);
        if (width == 360) {
          assertThat(texts("#caches thead th")).contains("Memory hits\nof lookups, 1 h");
          assertThat(browser.one("#caches").getText()).doesNotContain("Lookups");
          browser.one("#caches .narrow").click();
          assertThat(browser.one("#caches").getText()).contains("Lookups");
          browser.one("#caches .narrow").click();
        }
        if (width != 800) {
          assertWithMessage("hidden part of the caches, " + name).that(hiddenPart()).isEqualTo(0);
        }
        browser.wholePicture(PICTURES.resolve(name + ".png"));
      }
    }
    browser.forget();
    open("?cache=web_sessions");
    browser.await("#cache-charts canvas");
    assertThat(browser.obstacles()).isEmpty();
    browser.wholePicture(PICTURES.resolve("cache.png"));
    browser.forget();
    browser.open(page);
    browser.await("main h2");
    assertThat(browser.obstacles()).isEmpty();
  }

  @Test
  @Order(LAST)
  void nothingComesFromElsewhere() {
    open("");
    browser.await("#cache-charts canvas");
    Object hosts =
        browser.run(
            "return [...new Set(performance.getEntriesByType('resource').map("
                + "(entry) => new URL(entry.name).origin))]");
    assertThat((List<?>) hosts)
        .containsExactly(URI.create(site.url()).resolve("/").toString().replaceAll("/$", ""));
    assertThat(browser.console()).isEmpty();
    // A script that somebody brought into the page would not run.
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
            + " document.body.append(s)");
    assertThat(browser.run("return window.ran")).isNull();
    assertThat(browser.console().toString()).contains("Content Security Policy");
  }

  @Test
  void withoutScriptItNamesTheCommand() {
    signIn(Gerrit.ADMIN_ID);
    browser.scripts(false);
    browser.open(page);
    assertThat(browser.one("main").getText())
        .isEqualTo(
            "This page needs JavaScript; the SSH command ssh -p PORT HOST cache-chroniclemap show"
                + " prints its figures, too.");
  }

  /** Each choice is a part of the address, by links that are there. */
  @Test
  void whatIsChosenStaysInTheAddress() {
    open("?cache=web_sessions");
    assertThat(browser.one("#summary").getText()).containsMatch("new|clean");
    browser.one("#times a[href*='minutes=480']").click();
    browser.await("#times a[aria-current][href*='minutes=480']");
    browser.one(".back a").click();
    browser.await("#caches th a[href*='sort=-entries']").click();
    assertThat(browser.await("#caches th[aria-sort='descending']").getText()).contains("Entries");
    browser.one("#caches input[name='filter']").sendKeys("SESSIONS");
    browser.one("#caches form button").click();
    browser.await("#caches input[value='SESSIONS']");
    assertThat(browser.url()).contains("sort=-entries");
    assertThat(browser.url()).contains("minutes=480");
    assertThat(browser.all("#caches tbody tr")).hasSize(1);
    assertThat(figures("web_sessions")).hasSize(FIGURES);
  }

  /** By how many pixels the table of caches is wider than its place. */
  private long hiddenPart() {
    return (Long)
        browser.run(
            "const e = document.querySelector('#caches .scroll');"
                + " return e.scrollWidth - e.clientWidth");
  }

  /** State, buttons, what came of them and the first charts are seen without scrolling. */
  @Test
  @Order(LAST)
  void thePageOfACacheFitsALaptop() {
    open("?cache=persisted_projects");
    browser.await("#cache-charts canvas");
    browser.resize(1280, 720);
    for (String part : List.of("#state", "#actions", "#summary", "#tasks", "#cache-charts h2")) {
      Object end =
          browser.run(
              "return Math.round(document.querySelector(arguments[0])"
                  + ".getBoundingClientRect().bottom)",
              part);
      assertWithMessage(part).that((Long) end).isLessThan(720);
    }
  }

  @Test
  void eachHeadingLeadsToItsParagraph() throws Exception {
    Set<String> links = new TreeSet<>();
    open("");
    for (String query : List.of("", "?cache=web_sessions")) {
      browser.open(page + query);
      browser.await("#state .help");
      browser.all(".help").forEach(link -> links.add(link.getDomProperty("href")));
    }
    assertThat(links).hasSize(9);
    String served =
        RestClient.anonymous(site.url())
            .get("/plugins/cache-chroniclemap/Documentation/page.html")
            .body();
    for (String link : links) {
      assertThat(served).contains("id=\"" + link.substring(link.indexOf('#') + 1) + "\"");
    }
  }

  @Test
  @Order(LAST)
  void theHistoryIsThereAsCsv() {
    open("?cache=web_sessions");
    browser.await("#cache-charts canvas");
    browser.run("URL.createObjectURL = (saved) => { window.saved = saved; return 'data:,'; }");
    browser.one("button[data-save='csv']").click();
    List<String> lines = ((String) browser.run("return window.saved.text()")).lines().toList();
    assertThat(lines.get(0)).startsWith("time,entries,live_bytes,");
    assertThat(lines.get(1)).matches("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z(,\\d+)+");
  }

  @Test
  void pauseStopsTheRefresh() {
    open("");
    browser.one("#pause").click();
    assertThat(browser.one("#pause").getDomAttribute("aria-pressed")).isEqualTo("true");
    Deadline.awaitInAMinute(() -> browser.text().contains("s ago, paused"), "that it is paused");
    browser.one("#pause").click();
    Deadline.awaitInAMinute(
        () -> Pattern.compile("updated [0-2] s ago").matcher(browser.text()).find(),
        "that it is updated");
  }

  private void click(String button, String expected) {
    browser.await("button[data-action='" + button + "']").click();
    browser.await("#confirm[open]");
    assertThat(browser.obstacles()).isEmpty();
    browser.one("#confirm-ok").click();
    Deadline.awaitInAMinute(
        () -> Pattern.compile(expected).matcher(browser.text()).find(),
        "\"" + expected + "\" on the page");
  }

  @Test
  void buttonsWork() throws Exception {
    open("?cache=persisted_projects");
    click("verify", "The verify of persisted_projects has ended: sound");
    assertThat(browser.one("#tasks tbody tr").getText()).startsWith("verify persisted_projects");
    browser.open(page + "?cache=git_tags");
    browser.await("#actions button");
    long before = rest("caches/git_tags").get("invalidated").getAsLong();
    // Whoever thinks again changes nothing.
    browser.one("button[data-action='flush']").click();
    browser.await("#confirm[open] button[value='cancel']").click();
    assertThat(rest("caches/git_tags").get("invalidated").getAsLong()).isEqualTo(before);
    click("flush", "git_tags is flushed.");
    assertThat(rest("caches/git_tags").get("invalidated").getAsLong()).isGreaterThan(before);
    // A flush leaves a trace, which the next refresh shows.
    Deadline.in(Duration.ofMinutes(2))
        .await(
            () -> browser.one("#events").getText().contains("removals of all values"), "the flush");

    int caches = rest("caches").getAsJsonObject("caches").size();
    browser.open(page);
    click("verify", "The verify of " + caches + " caches has ended: all are sound");
    assertThat(verified()).hasSize(caches);
    // The last ends are among the tasks as well.
    assertThat(browser.all("#tasks tbody tr")).hasSize(20);
    assertThat(browser.console()).isEmpty();
  }

  /** The caches that the events say are sound. */
  private Set<String> verified() {
    return browser.all("#events tbody tr").stream()
        .filter(row -> row.getText().endsWith("verify by admin: sound"))
        .map(row -> row.findElements(By.tagName("td")).get(1).getText())
        .flatMap(Splitter.on(", ")::splitToStream)
        .collect(Collectors.toSet());
  }

  /** As an administrator would, who has not opened this page before. */
  @Test
  @Order(LAST)
  void damageIsFoundAndRepairedHere() throws Exception {
    String description = damage("spoiled");
    browser.open(page + "?cache=persisted_projects");
    browser.open(signInLink() + "?account_id=" + Gerrit.ADMIN_ID);
    assertThat(browser.url()).isEqualTo(page + "?cache=persisted_projects");
    browser.await("#cache-charts canvas");
    click("verify", "The verify of persisted_projects has ended: damaged");
    assertThat(browser.await("#state .badge").getText()).isEqualTo("Wrong now");
    // The verdict and the answer stay in view.
    browser.run("scrollTo(0, document.body.scrollHeight)");
    for (String part : List.of("#verdict", "#status")) {
      assertThat(
              browser.run(
                  "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
                      + " return r.top >= 0 && r.bottom <= innerHeight",
                  part))
          .isEqualTo(true);
    }
    assertThat(browser.one("#verdict").getText()).isEqualTo("Wrong now");
    assertThat(browser.one("#state").getText()).containsMatch("damaged entries in the file: \\d");
    assertThat(browser.one("#tasks tbody tr").getText()).contains("damaged");
    // Among all caches, the page names the damaged one.
    browser.open(page);
    click("verify", "caches has ended: persisted_projects: damaged");
    browser.open(page + "?cache=persisted_projects");
    click("repair", "The repair of persisted_projects has ended: repaired");
    assertThat(browser.one("#tasks tbody tr").getText()).startsWith("repair persisted_projects");
    assertThat(browser.one("#state .badge").getText()).isEqualTo("Was wrong");
    assertThat(browser.all("button[data-action='repair']")).isEmpty();
    click("verify", "The verify of persisted_projects has ended: sound");
    assertThat(gerrit.rest().get("/projects/spoiled").body()).contains(description);
  }

  @Test
  void othersSeeWhatTheyMay() throws Exception {
    browser.open(page);
    String link = signInLink();
    assertThat(browser.one("main").getText()).contains("Sign in");
    assertThat(browser.all("section")).isEmpty();
    browser.open(link + "?account_id=" + gerrit.accountId("nobody"));
    browser.await("main h2");
    assertThat(browser.one("main").getText()).contains("Not permitted");
    assertThat(browser.text()).contains("needs the global capability View Caches or Maintain");
    assertThat(browser.all("section")).isEmpty();
    RestClient nobody = RestClient.withPassword(site.url(), "nobody", "secret");
    assertThat(nobody.tryGet(API + "overview").status()).isEqualTo(403);
    browser.forget();
    signIn(gerrit.accountId("viewer"));
    browser.await("#caches table");
    assertThat(figures("web_sessions")).hasSize(FIGURES);
    assertThat(browser.one("#refs").getText()).contains(PROJECT);
    assertThat(browser.one("#refs").getText()).doesNotContain("hidden");
    browser.one("#caches a[href*='web_sessions']").click();
    browser.await("#actions button");
    assertThat(browser.all("#actions button").stream().map(WebElement::getText))
        .containsExactly("Verify");
    click("verify", "The verify of web_sessions has ended: sound");
    assertThat(browser.one("#tasks tbody tr").getText()).contains("viewer");
  }

  /** What a page of another site could do with the cookie of somebody who is signed in. */
  @Test
  void workNeedsTheToken() throws Exception {
    RestClient stranger = RestClient.withCookie(site.url(), gerrit.signIn());
    assertThat(stranger.tryGet(API + "caches").status()).isEqualTo(200);
    assertThat(stranger.tryPost(API + "caches/web_sessions/verify", "{}").status()).isEqualTo(403);
  }

  @Test
  void theAddressWithoutASlashWorks() throws Exception {
    browser.open(page.substring(0, page.length() - 1));
    assertThat(browser.url()).isEqualTo(page);
  }

  /** From page to page by the links that are there. */
  @Test
  void theDocumentationIsServed() throws Exception {
    Pattern links = Pattern.compile("href=\"([^\"#]+)|src=\"([^\"]+)");
    RestClient anybody = RestClient.anonymous(site.url());
    String folder = "/plugins/cache-chroniclemap/Documentation/";
    Set<String> seen = new HashSet<>();
    int pictures = 0;
    Deque<String> todo = new ArrayDeque<>(List.of(folder + "index.html"));
    while (!todo.isEmpty()) {
      String path = todo.pop();
      if (!seen.add(path)) {
        continue;
      }
      RestClient.Reply reply = anybody.tryGet(path);
      assertWithMessage(path).that(reply.status()).isEqualTo(200);
      pictures += path.endsWith(".svg") ? 1 : 0;
      if (path.endsWith(".html") || path.endsWith(".md")) {
        links
            .matcher(reply.body())
            .results()
            .map(link -> link.group(1) == null ? link.group(2) : link.group(1))
            .map(link -> URI.create(path).resolve(link))
            .filter(link -> link.getHost() == null && link.getScheme() == null)
            .forEach(link -> todo.add(link.toString()));
      }
    }
    assertThat(pictures).isAtLeast(1);
    browser.open(page + "Documentation/benchmarks.html");
    // A browser shows what has the type of a picture.
    Object shown =
        browser.run("return [...document.images].map((image) => image.naturalWidth > 0)");
    assertThat((List<?>) shown).contains(true);
    assertThat((List<?>) shown).doesNotContain(false);
    for (String name :
        List.of("install", "about", "config", "rest-api-config", "metrics", "cmd-show", "page")) {
      assertThat(seen).contains(folder + name + ".md");
    }
  }

  @Test
  void gerritsMenuHasALink() throws Exception {
    String path = "/config/server/top-menus";
    assertThat(gerrit.rest().get(path).body()).contains("/plugins/cache-chroniclemap/");
    RestClient nobody = RestClient.withPassword(site.url(), "nobody", "secret");
    assertThat(nobody.get(path).body()).doesNotContain("chroniclemap");
  }

  @Test
  void theCommandsNameTheirDocumentation() throws Exception {
    SshUser.Result help = gerrit.ssh().tryRun("cache-chroniclemap show --help");
    assertThat(help.err()).contains(page + "Documentation/cmd-show.html");
  }
}
