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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Browser;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.openqa.selenium.WebElement;

/** What the page draws from answers of the REST API that no Gerrit of a test would give. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(300)
class PageViewIT {
  private static final String TIME = "'2026-11-29 20:00:00.000000000'";
  private static final String MARKUP = "<img src=x onerror=\"window.ran=1\">\"'&";
  private static final String PAGE = "/plugins/cache-chroniclemap/";
  private static final String OVERVIEW = "/config/server/cache-chroniclemap~overview";
  private static final String CAPABILITIES = "/accounts/self/capabilities";
  private static final String ALL_RIGHTS =
      "{'viewCaches': true, 'flushCaches': true, 'maintainServer': true, 'killTask': true,"
          + " 'viewQueue': true}";

  private final Map<String, String> answers = new ConcurrentHashMap<>();
  private HttpServer server;
  private String page;
  private Browser browser;

  @BeforeAll
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    page = "http://127.0.0.1:" + server.getAddress().getPort() + PAGE;
    browser = new Browser();
  }

  @AfterAll
  void stop() {
    if (browser != null) {
      browser.close();
    }
    if (server != null) {
      server.stop(0);
    }
  }

  @BeforeEach
  void forget() {
    browser.forget();
    answers.clear();
    answers.put(CAPABILITIES, ALL_RIGHTS);
  }

  private void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    byte[] body;
    if (path.startsWith(PAGE)) {
      String file = path.equals(PAGE) ? "static/page.html" : path.substring(PAGE.length());
      body = Files.readAllBytes(Path.of("resources").resolve(file));
      String type =
          file.endsWith("html")
              ? "text/html"
              : file.endsWith("js") ? "text/javascript" : "text/css";
      exchange.getResponseHeaders().set("Content-Type", type);
    } else {
      String json = answers.getOrDefault(path, "{'times': [], 'interval_millis': 30000}");
      body = (")]}'\n" + json.replace('\'', '"')).getBytes(UTF_8);
      if (path.equals(OVERVIEW)) {
        body = (")]}'\n" + json).getBytes(UTF_8);
      }
    }
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private static JsonObject json(String text) {
    return JsonParser.parseString(text.replace("TIME", TIME)).getAsJsonObject();
  }

  private static JsonObject cache(String name, long hits, long evicted) {
    JsonObject cache =
        json(
            "{'state': 'ready', 'live_bytes': 10, 'disk_bytes': 50, 'limit_bytes': 100, 'entries': 0,"
                + " 'heap_misses': 0, 'disk_hits': 3, 'disk_misses': 1, 'puts': 0, 'expired': 0,"
                + " 'queued': 0, 'heap_entries': 2, 'memory_limit': 3, 'read_latency': {'p99_nanos': 1500},"
                + " 'last_start': {'kind': 'clean'}}");
    cache.addProperty("name", name);
    cache.addProperty("heap_hits", hits);
    cache.addProperty("evicted", evicted);
    return cache;
  }

  /** An overview of a server with these caches, of which nothing else is known. */
  private static JsonObject overview(JsonObject... caches) {
    JsonObject all =
        json(
            "{'version': '1', 'directory': '/cache', 'problems': [], 'tasks': [], 'events': [],"
                + " 'no_refs_reason': 'parsed ref lists are optional', 'since': {},"
                + " 'process': {'heap_bytes': 1, 'direct_bytes': 1},"
                + " 'meanings': {'caches': {}, 'refs': {}, 'shared': {}}}");
    JsonObject byName = new JsonObject();
    List.of(caches).forEach(cache -> byName.add(cache.get("name").getAsString(), cache));
    all.add("caches", byName);
    return all;
  }

  private void open(JsonObject overview, String query) {
    answers.put(OVERVIEW, overview.toString());
    browser.open(page + query);
    browser.await("#state");
  }

  private List<String> texts(String selector) {
    return browser.all(selector).stream().map(WebElement::getText).toList();
  }

  private List<String> names(String query) {
    open(
        overview(cache("diff", 5, 2), cache("Accounts", 7, 1), cache("web_sessions", 1, 3)), query);
    return texts("#caches tbody th");
  }

  /** Each text that comes from the server is markup, here M. */
  private static JsonObject hostile() {
    JsonObject all = overview(cache("M", 1, 1));
    String more =
        """
        {'version': 'M', 'directory': 'M',
         'problems': [{'level': 'now', 'repairable': true, 'paragraph': 'state', 'last': TIME,
           'subject': 'M', 'text': 'M', 'meaning': 'M'}],
         'tasks': [{'state': 'running', 'progress': '3%', 'start': TIME, 'id': 'M', 'work': 'M',
           'cache': 'M', 'by': 'M'}],
         'events': [{'from': TIME, 'to': TIME, 'count': 1, 'subject': 'M', 'kind': 'M', 'text': 'M'},
           {'from': TIME, 'to': TIME, 'count': 1, 'subject': 'M', 'kind': 'M', 'text': 'M', 'by': 'M',
           'task': 'x', 'result': {'result': 'M', 'detail': 'M'}}],
         'refs': {'totals': {'M': 1, 'memory_only_reason': 'M'},
           'projects': {'M': {'refs': 1, 'packed_bytes': 1, 'off_heap_bytes': 1, 'parses': 1,
             'checks': 1, 'lookups': 1, 'last_parse': TIME, 'bad_refs': ['M'], 'name': 'M',
             'left_reason': 'M'}}},
         'shared': {'queued': 1},
         'meanings': {'caches': {'queued': 'M'}, 'refs': {'queued': 'M'},
           'shared': {'queued': 'M'}}}
        """;
    json(more).entrySet().forEach(each -> all.add(each.getKey(), each.getValue()));
    all.getAsJsonObject("caches")
        .getAsJsonObject("M")
        .getAsJsonObject("last_start")
        .addProperty("kind", "M");
    String markup = new JsonPrimitive(MARKUP).toString();
    return json(all.toString().replace("\"M\"", markup));
  }

  @Test
  void namesAreNoMarkup() {
    for (String query :
        List.of(
            "",
            "?cache=" + URLEncoder.encode(MARKUP, UTF_8),
            "?filter=%3Cimg%3E&sort=%3Cimg%3E&all=%3Cimg%3E")) {
      open(hostile(), query);
      assertThat(browser.all("img")).isEmpty();
      assertThat(browser.all("[onerror]")).isEmpty();
      assertThat(browser.run("return window.ran")).isNull();
      assertThat(browser.text()).contains(MARKUP);
      assertWithMessage(query).that(browser.console()).isEmpty();
    }
    // Nor where somebody asks for what is not there.
    answers.put(OVERVIEW, overview().toString());
    browser.open(page + "?cache=" + URLEncoder.encode(MARKUP, UTF_8));
    browser.await("main h2");
    assertThat(browser.text()).contains("There is no cache \"" + MARKUP);
    assertThat(browser.all("img")).isEmpty();
    browser.one("main a").click();
    browser.await("#caches");
  }

  @Test
  void cachesAreSortedAndFiltered() {
    assertThat(names("")).containsExactly("Accounts", "diff", "web_sessions").inOrder();
    assertThat(browser.one("#caches th a[href*='evicted']").getDomAttribute("href"))
        .isEqualTo("?sort=-evicted");
    assertThat(names("?sort=evicted"))
        .containsExactly("Accounts", "diff", "web_sessions")
        .inOrder();
    assertThat(names("?sort=-evicted"))
        .containsExactly("web_sessions", "diff", "Accounts")
        .inOrder();
    assertThat(browser.one("#caches th a[href*='evicted']").getDomAttribute("href"))
        .isEqualTo("?sort=evicted");
    assertThat(names("?sort=-cache")).containsExactly("web_sessions", "diff", "Accounts").inOrder();
    assertThat(names("?filter=SESS")).containsExactly("web_sessions");
    assertThat(browser.one("#caches form").getText()).contains("2 others have other names.");
    // What nobody knows changes nothing.
    assertThat(names("?sort=%3Cb%3E&minutes=x")).hasSize(3);
  }

  @Test
  void unusedCachesAreFolded() {
    JsonObject all = overview(cache("used", 1, 0), cache("unused", 0, 0));
    open(all, "");
    assertThat(texts("#caches tbody th")).containsExactly("used");
    browser.one("#caches a[href*='all=1']").click();
    browser.await("#caches a[href='./']");
    assertThat(texts("#caches tbody th")).containsExactly("used", "unused");
  }

  @Test
  void buttonsAreThoseThatTheUserMayUse() {
    JsonObject all = hostile();
    all.getAsJsonObject("caches").add("web_sessions", cache("web_sessions", 1, 1));
    open(all, "");
    assertThat(browser.all("button[data-action='repair'], button[data-cancel]")).hasSize(2);
    browser.open(page + "?cache=web_sessions");
    browser.await("#actions button[data-action='flush']").click();
    assertThat(browser.await("#confirm-text").getText()).contains("Sign everybody out");
    answers.put(CAPABILITIES, "{'viewCaches': true, 'flushCaches': true}");
    open(all, "");
    assertThat(browser.all("button[data-action='repair'], button[data-cancel]")).isEmpty();
    browser.open(page + "?cache=web_sessions");
    browser.await("#actions button");
    assertThat(texts("#actions button")).containsExactly("Verify");
  }

  @Test
  void theLastEndsAreShown() {
    JsonObject all = overview(cache("a", 1, 0));
    for (int i = 0; i < 30; i++) {
      JsonObject end =
          json(
              "{'subject': 'a', 'kind': 'verify', 'count': 1, 'by': 'admin', 'text': '',"
                  + " 'result': {'result': 'incomplete'}, 'from': TIME, 'to': TIME}");
      end.addProperty("task", "t" + i);
      end.getAsJsonObject("result").addProperty("detail", "part " + i);
      all.getAsJsonArray("events").add(end);
    }
    // One that ends just now is seen once.
    all.getAsJsonArray("tasks")
        .add(
            json(
                "{'id': 't0', 'work': 'verify', 'cache': 'a', 'by': 'admin', 'state': 'running',"
                    + " 'progress': '99%', 'start': TIME}"));
    open(all, "");
    assertThat(browser.all("#tasks tbody tr")).hasSize(20);
    assertThat(browser.one("#tasks tbody tr").getText()).endsWith("incomplete: part 0");
  }

  /** A server whose refs module alone is installed. */
  @Test
  void worksWithoutCaches() {
    JsonObject all = overview();
    all.remove("directory");
    open(all, "");
    assertThat(texts("h2").toString()).contains("Parsed ref lists");
    assertThat(browser.all("#caches, #tasks, #cache-charts")).isEmpty();
    assertThat(browser.text()).doesNotContain("Verify");
  }

  /** Of a cache, of which a half was asked for within the time, and one that came within it. */
  @Test
  void figuresAreOfTheChosenTime() {
    JsonObject all = overview(cache("a", 1_000_000, 50), cache("b", 60, 20));
    String then = "'heap_hits': 400000, 'heap_misses': 0, 'disk_hits': 0, 'disk_misses': 0";
    JsonObject since =
        json(
            "{'from': '2026-11-29 20:00:00.000000000', 'to': '2026-11-29 20:05:00.000000000',"
                + " 'caches': {'a': {'evicted': 20, "
                + then
                + "}}}");
    all.add("since", since);
    open(all, "?minutes=5");
    assertThat(browser.all("#caches data[value='600000']")).hasSize(1);
    assertThat(texts("#caches tbody tr td.number").toString()).contains("2000");
    assertThat(browser.one("#totals").getText()).contains("Evicted\n50 5 min");
    assertThat(browser.one("#times a[aria-current]").getText()).isEqualTo("5 min");
  }

  @Test
  void eventsOfOneKindAreOneRow() {
    JsonObject all = overview(cache("a", 1, 0), cache("b", 1, 0));
    for (String cache : List.of("a", "b", "a")) {
      JsonObject event =
          json("{'kind': 'evicted', 'text': 'values evicted', 'count': 2, 'from': TIME}");
      event.add("to", event.get("from"));
      event.addProperty("subject", cache);
      all.getAsJsonArray("events").add(event);
    }
    open(all, "");
    assertThat(browser.one("#events tbody tr").getText()).endsWith("a, b 6 values evicted");
    assertThat(browser.all("#events tbody tr")).hasSize(1);
    browser.open(page + "?cache=b");
    browser.await("#summary table");
    assertThat(browser.one("#events tbody tr").getText()).endsWith("b 2 values evicted");
  }

  @Test
  void sharedValuesAreFoldedUnlessWrong() {
    JsonObject all = overview(cache("a", 1, 0));
    all.add("shared", json("{'queued': 1}"));
    open(all, "");
    assertThat(browser.one("#shared").getText()).doesNotContain("queued");
    JsonObject problem =
        json(
            "{'level': 'now', 'subject': 'shared values', 'paragraph': 'shared-values',"
                + " 'text': 'no connection', 'meaning': ''}");
    all.getAsJsonArray("problems").add(problem);
    open(all, "");
    assertThat(browser.one("#shared").getText()).contains("queued");
  }
}
