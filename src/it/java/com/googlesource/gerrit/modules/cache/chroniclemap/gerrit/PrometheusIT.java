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
import com.google.common.collect.ImmutableSet;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.CacheFigures;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Dashboard;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Deadline;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Folders;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.NativeGit;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Prometheus;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.TestJar;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.TinyPlugin;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.Workload;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.reporter.ReporterModule;
import io.prometheus.client.Collector;
import io.prometheus.client.dropwizard.DropwizardExports;
import io.prometheus.client.exporter.MetricsServlet;
import io.prometheus.client.exporter.common.TextFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The dashboard for Grafana and the alerts, in a real Prometheus that reads a real Gerrit. */
@Timeout(300)
class PrometheusIT extends OneGerrit {
  private static final Path PAGE = Path.of("resources/Documentation/metrics.md");
  private static final Path ALERTS =
      Path.of("resources/static/prometheus/cache-chroniclemap-alerts.yml");

  private static final Path TESTS =
      Path.of("src/it/resources/prometheus/cache-chroniclemap-alerts-test.yml");

  private static final String REPORTER = "metrics-reporter-prometheus";

  private static final String TOKEN = "token-of-a-test";
  private static final String PROJECT = "work";

  /** The panels and queries whose values stay 0 in a healthy Gerrit with little in it. */
  private static final ImmutableSet<String> AT_REST =
      ImmutableSet.of(
          "Failed caches",
          "Damaged entries",
          "Recoveries",
          "Queue",
          "Invalidated, {{cache}}, flushes",
          "Evicted",
          "Expired",
          "Not stored",
          "Damaged",
          "Serializer errors",
          "Failed",
          "Faults of the disk",
          "Lists made and found, {{instance}} found on disk",
          "Lists made and found, {{instance}} found in memory or on disk",
          "Blocks used again",
          "Memory of lists, {{instance}} id indexes",
          "Lists that left the memory",
          "Left to JGit",
          "Pushes, {{instance}} left to Gerrit",
          "Lookups, {{instance}} lookups in reftables",
          "Memory of lists, {{instance}} reftables",
          "Lists, blocks and refs, {{instance}} projects with reftables",
          "Connectivity checks, {{instance}} all refs",
          "Fetches by id, {{instance}} left to JGit",
          "Values published and taken in, {{instance}} received",
          "Values published and taken in, {{instance}} taken in",
          "Values published and taken in, {{instance}} dropped",
          "Values of others not taken in",
          "Behind the log",
          "Time behind the log",
          "The server of shared values");

  private Dashboard dashboard;
  private Path folder;
  private String target;
  private Prometheus prometheus;

  @Override
  void prepare(Path tmp) throws Exception {
    site.installRefsModule();
    TestJar.writePlugin(
        site,
        REPORTER,
        Map.of("Gerrit-HttpModule", ReporterModule.class.getName()),
        ReporterModule.class,
        Collector.class,
        TextFormat.class,
        DropwizardExports.class,
        MetricsServlet.class);
    site.edit(config -> config.setString("plugin", REPORTER, "prometheusBearerToken", TOKEN));
    TinyPlugin.install(site);
    shareValues(tmp);
    // Reads come to the disk.
    site.edit(config -> config.setInt("cache", "change_notes", "memoryLimit", 0));
  }

  @BeforeAll
  void observe(@TempDir Path tmp) throws Exception {
    dashboard = Dashboard.read();
    folder = tmp.resolve("prometheus");
    target = site.url().replaceAll("^http://|/$", "");
    prometheus = Prometheus.start(folder, scrapeConfigs(), ALERTS);
  }

  /** As the page has it. */
  private String scrapeConfigs() throws IOException {
    List<String> blocks = find("```\n(scrape_configs:\n(?:[^`]+\n)+)```", PAGE);
    assertThat(blocks).hasSize(1);
    return blocks.getFirst().replace("TOKEN", TOKEN).replace("HOST:PORT", target);
  }

  @Test
  void rulesAreSoundAndFireOnFaultsOnly() throws Exception {
    assertThat(Prometheus.tool(folder, "check", "rules", ALERTS.toString())).contains("SUCCESS");
    assertThat(Prometheus.tool(folder, "test", "rules", TESTS.toString())).contains("SUCCESS");
    Set<String> firing = new TreeSet<>();
    find("ALERTS\\{alertname=\"(\\w+)\", alertstate=\"firing\"", TESTS).forEach(firing::add);
    assertThat(firing).containsExactlyElementsIn(alerts());
  }

  @Test
  void queriesHaveValuesUnderLoadAndAlertsFireOnFaultsOnly() throws Exception {
    gerrit.createProject(PROJECT);
    // So many that they are judged together; a hidden one, or there would be none to judge.
    for (int i = 0; i < 20; i++) {
      site.git(PROJECT, "update-ref", "refs/heads/b" + i, "refs/heads/master");
    }
    gerrit.grantToAdministratorsOnly(PROJECT, "refs/heads/b0", "read");
    gerrit.createUserWithPassword("guest");
    Workload team = new Workload(gerrit, PROJECT);

    assertQueriesHaveValues(team);
    assertVariablesHaveTheNamesOfCaches();
    assertQueriesHaveValuesForSomeCaches();
    assertAlertsAreQuiet();

    damageAValue(team);
    breakPackedRefs();
    assertAlertsFire("GerritDiskCacheDamaged", "GerritRefListsLeftToJGit");
  }

  /** Works until all that work moves has moved. */
  private void assertQueriesHaveValues(Workload team) throws IOException {
    Map<String, String> all =
        dashboard.variables().stream()
            .collect(Collectors.toMap(Dashboard.Variable::name, Dashboard.Variable::all));
    Deadline deadline = Deadline.in(Duration.ofMinutes(1));
    List<String> without;
    do {
      work(team);
      without =
          queriesWithoutValues(
              all, query -> !AT_REST.contains(query.panel()) && !AT_REST.contains(query.name()));
    } while (!without.isEmpty() && deadline.elapsed().toSeconds() < 60);
    assertThat(without).isEmpty();
  }

  private void work(Workload team) throws IOException {
    int before = team.changes().size();
    team.push(3);
    List<Integer> pushed = team.changes().subList(before, before + 3);
    team.comment(pushed);
    team.approve(pushed);
    team.submit(pushed.subList(0, 1));
    assertThat(team.readAll(gerrit.rest())).isNotEmpty();
    NativeGit guest = gerrit.git("guest");
    String master = guest.fetch(PROJECT, "refs/heads/master");
    String subject = "By the guest, " + before;
    String commit = guest.commit(subject, master, Map.of("by-guest", subject));
    guest.run("push", "-q", guest.http(PROJECT), commit + ":refs/for/master");
    gerrit.signOut(gerrit.signIn());
    site.git(PROJECT, "pack-refs", "--all");
  }

  private List<String> queriesWithoutValues(
      Map<String, String> variables, Predicate<Dashboard.Query> moves) {
    // The steps of subqueries are half a minute long, and two of them are needed.
    Instant time = Instant.now().plusSeconds(30);
    List<String> without = new ArrayList<>();
    for (Dashboard.Query query : dashboard.queries()) {
      try {
        List<Prometheus.Sample> samples =
            prometheus.query(Dashboard.with(variables, query.expression()), time);
        if (samples.stream().allMatch(sample -> Double.isNaN(sample.value()))
            || (moves.test(query) && samples.stream().noneMatch(sample -> sample.value() > 0))) {
          without.add(query.name() + ": " + samples);
        }
      } catch (IOException e) {
        without.add(query.name() + ": " + e.getMessage());
      }
    }
    return without;
  }

  private void assertVariablesHaveTheNamesOfCaches() throws IOException {
    assertThat(values("instance")).containsExactly(target);
    List<String> caches = new ArrayList<>(CacheFigures.of(gerrit.ssh()).keySet());
    caches.remove(TinyPlugin.CACHE);
    caches.add(TinyPlugin.CACHE_IN_METRICS.replace('/', '_'));
    assertThat(values("cache")).containsExactlyElementsIn(caches);
  }

  private ImmutableList<String> values(String name) throws IOException {
    Dashboard.Variable variable =
        dashboard.variables().stream().filter(v -> v.name().equals(name)).findAny().orElseThrow();
    String selector = Dashboard.with(Map.of("instance", ".*"), variable.selector());
    return variable.values(prometheus.labelValues(variable.label(), selector));
  }

  /** As Grafana writes several values of a variable, and a single one. */
  private void assertQueriesHaveValuesForSomeCaches() {
    Map<String, String> chosen =
        Map.of(
            "cache", "(change_notes|gerrit_file_diff)", "instance", target.replace(".", "\\\\."));
    assertThat(queriesWithoutValues(chosen, query -> false)).isEmpty();
  }

  private void assertAlertsAreQuiet() throws IOException {
    for (Prometheus.Rule rule : prometheus.rules()) {
      assertWithMessage("%s", rule).that(rule.health()).isEqualTo("ok");
      assertWithMessage("%s", rule).that(rule.state()).isAnyOf("inactive", "");
    }
    assertThat(prometheus.rules().stream().map(Prometheus.Rule::name).toList())
        .containsAtLeastElementsIn(alerts());
  }

  private void assertAlertsFire(String... names) throws IOException {
    Deadline deadline = Deadline.in(Duration.ofSeconds(30));
    deadline.await(() -> firing().containsAll(List.of(names)), String.join(", ", names));
    assertThat(firing()).containsExactlyElementsIn(names);
    assertThat(prometheus.annotations())
        .containsAtLeast(
            "Cache change_notes of " + target + " has found damaged entries in the last hour.",
            target + " has packed-refs files that only JGit can read.");
  }

  private List<String> firing() throws IOException {
    return prometheus.rules().stream()
        .filter(rule -> rule.state().equals("firing"))
        .map(Prometheus.Rule::name)
        .toList();
  }

  /** Changes bytes of values in the file of a cache, and has Gerrit read them. */
  private void damageAValue(Workload team) throws IOException {
    Path file =
        Folders.files(site.cacheFolder(), f -> f.toString().matches(".*/change_notes-v.*\\.chm"))
            .getFirst();
    String content = Files.readString(file, StandardCharsets.ISO_8859_1);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (int at = content.indexOf("Change 1");
          at >= 0;
          at = content.indexOf("Change 1", at + 1)) {
        channel.write(ByteBuffer.wrap(new byte[] {'c'}), at);
      }
    }
    assertThat(team.readAll(gerrit.rest())).isNotEmpty();
  }

  /** Writes what git never writes, but can read. */
  private void breakPackedRefs() throws IOException {
    Files.writeString(
        site.repository(PROJECT).resolve("packed-refs"), "# By hand\n", StandardOpenOption.APPEND);
    assertThat(gerrit.branches(PROJECT)).contains("refs/heads/b1");
  }

  private static List<String> alerts() throws IOException {
    return find("- alert: (\\w+)\n", ALERTS);
  }

  private static List<String> find(String pattern, Path file) throws IOException {
    return Pattern.compile(pattern)
        .matcher(Files.readString(file))
        .results()
        .map(match -> match.group(1))
        .toList();
  }

  @AfterAll
  void closeServers() throws Exception {
    if (prometheus != null) {
      prometheus.close();
      // They are kept together.
      Files.copy(Prometheus.logOf(folder), site.path().resolve("logs/prometheus.log"));
    }
  }
}
