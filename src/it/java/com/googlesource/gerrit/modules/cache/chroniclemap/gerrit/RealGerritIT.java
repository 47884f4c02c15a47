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
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.ErrorLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.GerritDaemon;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.H2Files;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.RestClient;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshKeys;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.SshUser;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.TinyPlugin;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** One real Gerrit with the jar in {@code lib/}, through restarts and crashes. */
@TestMethodOrder(OrderAnnotation.class)
class RealGerritIT extends OneGerrit {
  /** What reading all of the workload asks on disk when the heap is empty. */
  private static final ImmutableList<String> READ =
      ImmutableList.of("change_notes", "gerrit_file_diff", "accounts", "persisted_projects");

  private static final String LOADED = "cache-chroniclemap.jar are loaded";

  private H2Files h2;
  private Workload team;
  private RestClient reader;
  private String cookie;

  @Override
  void prepare(Path tmp) throws IOException {
    site.edit(config -> config.setBoolean("plugins", null, "allowRemoteAdmin", true));
    // As Gerrit's issue 380898784 names as a way out where they take too much of the heap.
    site.edit(config -> config.setInt("cache", "changes_by_project", "memoryLimit", 0));
    h2 = H2Files.of(site);
  }

  @BeforeAll
  void work() throws Exception {
    team = Workload.inNewProject(gerrit, "work", 6);
    List<Integer> changes = team.changes();
    team.comment(changes);
    team.approve(changes.subList(0, 3));
    team.submit(changes.subList(0, 3));
    cookie = gerrit.signIn();
    reader = RestClient.withCookie(site.url(), cookie);
  }

  /** And sessions survive both, but for those that were ended. */
  @Test
  void answersComeFromDiskAfterARestartAndAfterSigkill() throws Exception {
    String ended = gerrit.signIn();
    Map<String, String> before = team.readAll(reader);
    restart();
    assertThat(team.readAll(reader)).isEqualTo(before);
    assertReadFromDisk();
    assertThat(gerrit.isSignedIn(cookie)).isTrue();
    assertThat(gerrit.isSignedIn(ended)).isTrue();

    team.push(2);
    before = team.readAll(reader);
    gerrit.signOut(ended);
    crash();
    assertThat(team.readAll(reader)).isEqualTo(before);
    assertReadFromDisk();
    assertThat(gerrit.isSignedIn(cookie)).isTrue();
    assertThat(gerrit.isSignedIn(ended)).isFalse();
  }

  @Test
  void theChangesOfAProjectNeedNoHeap() throws Exception {
    gerrit.createProject("large");
    gerrit.createUserWithPassword("guest");
    Workload large = new Workload(gerrit, "large");
    large.push(6);
    assertThat(changesSeen("large")).isEqualTo(6);
    large.push(3);
    assertThat(changesSeen("large")).isEqualTo(9);
    restart();
    assertThat(changesSeen("large")).isEqualTo(9);
    large.push(3);
    assertThat(changesSeen("large")).isEqualTo(12);
    CacheFigures after = figures("changes_by_project");
    assertThat(after.heapHits()).isEqualTo(0);
    assertThat(after.diskHits()).isAtLeast(1);
    assertThat(after.diskMisses()).isEqualTo(0);
  }

  private long changesSeen(String project) throws IOException {
    return gerrit.git("guest").refs(project).keySet().stream()
        .filter(name -> name.endsWith("/meta"))
        .count();
  }

  /** Files that one locale has named are found in each other. */
  @Test
  void everythingIsFoundInAnyLocale() throws Exception {
    Map<String, String> before = team.readAll(reader);
    Set<String> files = null;
    // Gerrit names the folders of its indexes in the digits of the locale, so it does not start in
    // one with other digits than before. The unit tests run in such a one.
    for (String locale : List.of("tr-TR", "")) {
      Predicate<String> isLocale = option -> option.startsWith("-Duser.");
      site.editJavaOptions(options -> options.removeIf(isLocale));
      if (!locale.isEmpty()) {
        Locale named = Locale.forLanguageTag(locale);
        site.editJavaOptions(
            options -> {
              options.add("-Duser.language=" + named.getLanguage());
              options.add("-Duser.country=" + named.getCountry());
            });
      }
      restart();
      assertThat(gerrit.isSignedIn(cookie)).isTrue();
      Map<String, String> after = team.readAll(reader);
      assertThat(after).isEqualTo(before);
      assertReadFromDisk();
      if (files == null) {
        files = generations();
      }
      assertThat(generations()).isEqualTo(files);
    }
  }

  /** An administrator's {@code cp} over the jar of the running server. */
  @Test
  void theServerGoesOnWhenItsJarIsOverwritten() throws Exception {
    Path jar = site.path().resolve("lib/cache-chroniclemap.jar");
    byte[] content = Files.readAllBytes(jar);
    int before = lines(LOADED);
    restart();
    Deadline.awaitInAMinute(() -> lines(LOADED) > before, "the classes are loaded");
    try {
      Files.write(jar, Arrays.copyOfRange(content, content.length / 3, content.length));
      assertThat(gerrit.isSignedIn(cookie)).isTrue();
      Workload other = Workload.inNewProject(gerrit, "overwritten", 1);
      assertThat(other.readAll(reader)).isNotEmpty();
      SshUser admin = gerrit.ssh();
      assertThat(admin.tryRun("cache-chroniclemap verify").out()).contains("change_notes");
      admin.run("cache-chroniclemap show");
      String plugin = "/plugins/cache-chroniclemap/";
      assertThat(reader.get(plugin).body()).contains("page.js");
      assertThat(reader.get("/config/server/cache-chroniclemap~overview").body())
          .contains("change_notes");
      assertThat(reader.get(plugin + "static/page.js").body()).contains("function");
      assertThat(reader.get(plugin + "Documentation/config.html").body()).contains("maxLoose");
      daemon.stop();
      assertThat(lines("NoClassDefFoundError|ZipException|ClassNotFoundException")).isEqualTo(0);
    } finally {
      Files.write(jar, content);
    }
    daemon = GerritDaemon.start(site);
    assertThat(gerrit.isSignedIn(cookie)).isTrue();
  }

  /** How many lines of the error_log a pattern is found in. */
  private int lines(String pattern) throws IOException {
    return ErrorLog.of(site).find(pattern).size();
  }

  /** The files of caches that are read here. */
  private Set<String> generations() throws IOException {
    try (Stream<Path> files = Files.list(site.path().resolve("cache/cache-chroniclemap"))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.contains(".chm"))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private void assertReadFromDisk() throws IOException {
    ImmutableSortedMap<String, CacheFigures> figures = CacheFigures.of(gerrit.ssh());
    for (String name : READ) {
      CacheFigures cache = figures.get(name);
      assertWithMessage("from disk: %s", cache).that(cache.diskHits()).isGreaterThan(0);
      assertWithMessage("loaded: %s", cache).that(cache.diskMisses()).isEqualTo(0);
    }
  }

  @Test
  void pluginCacheComesAndGoesWithItsPlugin() throws Exception {
    SshUser admin = gerrit.ssh();
    TinyPlugin.install(site);
    admin.run("gerrit plugin reload");
    String value = admin.run("tiny get a");
    assertThat(admin.run("tiny get a")).isEqualTo(value);
    assertThat(CacheFigures.of(admin)).containsKey(TinyPlugin.CACHE);
    assertThat(admin.run("gerrit show-caches -w 120")).contains("D " + TinyPlugin.CACHE_IN_GERRIT);
    assertThat(admin.run("cache-chroniclemap show " + TinyPlugin.CACHE_IN_GERRIT))
        .contains("\n" + TinyPlugin.CACHE + " ");

    Deadline.awaitInAMinute(
        () -> metricOf("puts").has(TinyPlugin.CACHE_IN_METRICS), "its metrics are there");

    // The plugin's classes are new now, and so is its cache on the heap: the value is from disk.
    admin.run("gerrit plugin reload " + TinyPlugin.NAME);
    assertThat(admin.run("tiny get a")).isEqualTo(value);
    assertThat(CacheFigures.of(admin).get(TinyPlugin.CACHE).diskHits()).isEqualTo(1);

    admin.run("gerrit plugin rm " + TinyPlugin.NAME);
    assertThat(CacheFigures.of(admin)).doesNotContainKey(TinyPlugin.CACHE);
    assertThat(admin.run("gerrit show-caches -w 120")).doesNotContain(TinyPlugin.CACHE_IN_GERRIT);
    Deadline.awaitInAMinute(
        () -> !metricOf("puts").has(TinyPlugin.CACHE_IN_METRICS), "its metrics are gone");

    TinyPlugin.install(site);
    admin.run("gerrit plugin reload");
    crash();
    assertThat(admin.run("tiny get a")).isEqualTo(value);
  }

  @Test
  void commandsHaveTheOptionsOfGerrits() throws Exception {
    SshUser admin = gerrit.ssh();
    for (String name : List.of("change_notes", "--cache change_notes")) {
      String table = admin.run("cache-chroniclemap show -w 100 " + name);
      assertThat(table).contains("\nchange_notes ");
      assertThat(table).contains("\n" + "-".repeat(100) + "\n");
      assertThat(table).doesNotContain("gerrit_file_diff");
    }
    String compact =
        admin.run("cache-chroniclemap show --format json_compact --cache change_notes accounts");
    assertThat(compact.strip().lines().toList()).hasSize(1);
    assertThat(compact).contains("\"change_notes\"");
    assertThat(compact).contains("\"accounts\"");
    for (String command : List.of("show", "verify", "refs", "shared")) {
      SshUser.Result help = admin.tryRun("cache-chroniclemap " + command + " --help");
      assertThat(help.out() + help.err())
          .contains("\nExample: ssh -p 29418 admin@HOST cache-chroniclemap " + command + " ");
    }
  }

  @Test
  void commandsRefuseCachesThatTheyDoNotKnow() throws Exception {
    for (String command : List.of("show", "verify", "verify --repair")) {
      SshUser.Result result =
          gerrit.ssh().tryRun("cache-chroniclemap " + command + " change_notes nonsense");
      assertWithMessage(command).that(result.status()).isEqualTo(1);
      assertWithMessage(command).that(result.err()).contains("no cache \"nonsense\"");
      assertWithMessage(command).that(result.out()).isEmpty();
    }
  }

  @Test
  void verifyAsksForRights() throws Exception {
    KeyPair key = SshKeys.generate();
    gerrit.createUser("stranger", key);
    SshUser stranger = new SshUser(site.sshPort(), "stranger", key);
    assertNotPermitted(
        stranger, "view caches", "show", "refs", "shared", "verify", "verify --repair");
    // Who may look may check, and nothing else.
    gerrit.grant("stranger", "viewCaches");
    stranger.run("cache-chroniclemap verify change_notes");
    assertNotPermitted(stranger, "maintain server", "verify --repair");
    gerrit.grant("stranger", "maintainServer");
    stranger.run("cache-chroniclemap verify --repair change_notes");
  }

  private static void assertNotPermitted(SshUser user, String right, String... commands)
      throws IOException {
    for (String command : commands) {
      SshUser.Result result = user.tryRun("cache-chroniclemap " + command);
      assertWithMessage(command).that(result.status()).isEqualTo(1);
      assertWithMessage(command).that(result.out()).isEmpty();
      assertWithMessage(command).that(result.err()).contains(right + " not permitted");
    }
  }

  private JsonObject metrics() throws IOException {
    return gerrit.rest().object("/config/server/metrics/?prefix=caches/chroniclemap/");
  }

  @Test
  void metricsArePublished() throws Exception {
    String page = Files.readString(Path.of("resources/Documentation/metrics.md"));
    List<String> documented =
        Pattern.compile("^\\| (`[^|]+`) \\|", Pattern.MULTILINE)
            .matcher(
                page.substring(page.indexOf("\n## Caches"), page.indexOf("\n## Parsed ref lists")))
            .results()
            .flatMap(row -> Splitter.on(", ").splitToStream(row.group(1).replace("`", "")))
            .flatMap(
                name ->
                    name.endsWith("*")
                        ? Stream.of("p50", "p99", "p999", "max").map(end -> name.replace("*", end))
                        : Stream.of(name))
            .map("caches/chroniclemap/"::concat)
            .toList();
    assertThat(documented).isNotEmpty();
    assertThat(metrics().keySet()).containsExactlyElementsIn(documented);
    assertThat(metricOf("entries").keySet()).isEqualTo(CacheFigures.of(gerrit.ssh()).keySet());
    // Gerrit asks for figures once in two seconds only.
    Deadline.awaitInAMinute(
        () -> {
          JsonObject notes = metricOf("entries").getAsJsonObject("change_notes");
          return notes.get("value").getAsLong() == figures("change_notes").entries();
        },
        "the metric says what show says");
  }

  private CacheFigures figures(String cache) throws IOException {
    return CacheFigures.of(gerrit.ssh()).get(cache);
  }

  /** The values of a metric by cache. */
  private JsonObject metricOf(String name) throws IOException {
    return metrics().getAsJsonObject("caches/chroniclemap/" + name).getAsJsonObject("buckets");
  }

  @Test
  void gerritsOwnFiguresAreTrue() throws Exception {
    JsonObject cache = gerrit.rest().object("/config/server/caches/change_notes");
    assertThat(cache.get("type").getAsString()).isEqualTo("DISK");
    long entries = CacheFigures.of(gerrit.ssh()).get("change_notes").entries();
    assertThat(cache.getAsJsonObject("entries").get("disk").getAsLong()).isEqualTo(entries);
    assertThat(entries).isAtLeast(team.changes().size());
  }

  @Test
  void flushEmptiesTheDiskToo() throws Exception {
    gerrit.ssh().run("gerrit flush-caches --cache diff_summary");
    assertThat(CacheFigures.of(gerrit.ssh()).get("diff_summary").entries()).isEqualTo(0);
  }

  @Test
  @Order(Integer.MAX_VALUE)
  void leavesNoOtherTraces() throws Exception {
    daemon.stop();
    assertThat(h2.writtenSince()).isEmpty();
    assertThat(ErrorLog.of(site).errors()).isEmpty();
    // Chronicle's analytics would call home and keep files in the home folder.
    assertThat(Folders.files(site.home(), f -> !f.toString().matches(".*/(\\.ssh|jgit)/.*")))
        .isEmpty();
  }
}
