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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.base.Splitter;
import com.google.common.collect.Iterables;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Each metric is documented and on the dashboard, and no other one is. Each alert is documented,
 * and of metrics that exist.
 */
@Tag("locale")
class MetricsDocTest {
  private static final Path PAGE = Path.of("resources/Documentation/metrics.md");
  private static final Path DASHBOARD = Path.of("resources/static/grafana/cache-chroniclemap.json");
  private static final Path ALERTS =
      Path.of("resources/static/prometheus/cache-chroniclemap-alerts.yml");

  /** What all names of a section begin with and which is the first count, or a row of metrics. */
  private static final Pattern SECTION_OR_ROW =
      Pattern.compile(
          "names begin with `(\\w+/chroniclemap/)`; `(\\w+)` and those below it are counts:$"
              + "|^\\| (`[a-z][^|]+`) \\|",
          Pattern.MULTILINE);

  private static final List<String> LATENCIES = List.of("p50", "p99", "p999", "max");

  /** A metric's name as Prometheus has it, before what stands for the name of a cache. */
  private static final Pattern IN_PROMETHEUS =
      Pattern.compile("(caches_chroniclemap_[a-z0-9_]+)_(?:\\$cache|\\(\\.\\+\\)|\\.\\+)");

  /** The figures of caches that alerts are about, as the pattern that selects them has them. */
  private static final Pattern FIGURES = Pattern.compile("caches_chroniclemap_\\(([a-z_|]+)\\)_");

  /** All metrics of caches, as Prometheus has them. */
  private static Set<String> names() {
    return CacheMetrics.ALL.stream()
        .map(metric -> inPrometheus(metric.name()))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String inPrometheus(String name) {
    return name.replaceAll("[^a-zA-Z0-9:_]", "_");
  }

  private static List<MatchResult> find(Pattern pattern, String text) {
    return pattern.matcher(text).results().toList();
  }

  private static Set<String> groups(Pattern pattern, String text) {
    return find(pattern, text).stream()
        .map(match -> match.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String alerts() throws IOException {
    return Files.readString(ALERTS);
  }

  private static JsonObject dashboard() throws IOException {
    return JsonParser.parseString(Files.readString(DASHBOARD)).getAsJsonObject();
  }

  @Test
  void pageAndCodeAgree() throws Exception {
    Map<String, Boolean> documented = new HashMap<>();
    String prefix = "";
    String firstCount = "";
    boolean isCount = false;
    for (MatchResult row : find(SECTION_OR_ROW, Files.readString(PAGE))) {
      if (row.group(1) != null) {
        prefix = row.group(1);
        firstCount = row.group(2);
        isCount = false;
        continue;
      }
      for (String name : Splitter.on(", ").split(row.group(3).replace("`", ""))) {
        isCount |= name.equals(firstCount);
        for (String latency : name.endsWith("*") ? LATENCIES : List.of("")) {
          assertWithMessage("%s twice", name)
              .that(documented.put(prefix + name.replace("*", latency), isCount))
              .isNull();
        }
      }
    }
    Map<String, Boolean> published = new HashMap<>();
    published.put(CacheMetrics.MEMORY_ONLY, false);
    for (Metric<?> metric :
        Iterables.concat(
            CacheMetrics.ALL, RefsMetrics.ALL, RefsMetrics.TRANSPORT, SharedMetrics.ALL)) {
      published.put(metric.name(), metric.cumulative());
    }
    assertThat(documented).isEqualTo(published);
  }

  /** All metrics but those of caches, which have no cache in their names. */
  private static Set<String> others() {
    Set<String> others = new TreeSet<>();
    for (Metric<?> metric :
        Iterables.concat(RefsMetrics.ALL, RefsMetrics.TRANSPORT, SharedMetrics.ALL)) {
      others.add(inPrometheus(metric.name()));
    }
    return others;
  }

  @Test
  void dashboardAndCodeAgree() throws Exception {
    String panels = dashboard().getAsJsonArray("panels").toString();
    String memoryOnly = inPrometheus(CacheMetrics.MEMORY_ONLY) + "{";
    List<MatchResult> found = find(IN_PROMETHEUS, panels);
    // No query names a metric in a way that this test does not see.
    assertThat(find(Pattern.compile("caches_chroniclemap"), panels)).hasSize(found.size() + 1);
    assertThat(panels).contains(memoryOnly);
    assertThat(groups(IN_PROMETHEUS, panels)).isEqualTo(names());
    assertThat(groups(Pattern.compile("((?:refs|shared)_chroniclemap_[a-z0-9_]+)"), panels))
        .isEqualTo(others());
  }

  @Test
  void theDashboardsVariablesAreOfMetricsThatExist() throws Exception {
    String variables = dashboard().getAsJsonObject("templating").toString();
    Set<String> found = groups(IN_PROMETHEUS, variables);
    assertThat(found).isNotEmpty();
    assertThat(names()).containsAtLeastElementsIn(found);
  }

  @Test
  void alertsAreOfMetricsThatExist() throws Exception {
    Set<String> lists = groups(FIGURES, alerts());
    assertThat(lists).hasSize(1);
    Set<String> selected =
        new TreeSet<>(Splitter.on('|').splitToList(Iterables.getOnlyElement(lists)));
    assertThat(names())
        .containsAtLeastElementsIn(
            selected.stream().map(figure -> "caches_chroniclemap_" + figure).toList());
    assertThat(groups(Pattern.compile("figure=\"(\\w+)\""), alerts())).isEqualTo(selected);

    // The others have no cache in their names.
    Set<String> named =
        groups(Pattern.compile("((?:caches|refs|shared)_chroniclemap_\\w+)"), alerts());
    Set<String> published = others();
    published.add(inPrometheus(CacheMetrics.MEMORY_ONLY));
    assertThat(published).containsAtLeastElementsIn(named);
  }

  /** The page names, under "What to watch", each figure that an alert is about. */
  @Test
  void pageAndAlertsAgree() throws Exception {
    String page = Files.readString(PAGE);
    String watched = page.substring(page.indexOf("## What to watch"), page.indexOf("## Caches"));
    Set<String> figures = groups(Pattern.compile("figure=\"(\\w+)\""), alerts());
    figures.addAll(groups(Pattern.compile("_chroniclemap_([a-z_]+)"), alerts()));
    for (String figure : figures) {
      // These are only compared with others.
      if (!Set.of("misses", "reads", "recoveries").contains(figure)) {
        assertThat(watched).contains("`" + figure + "`");
      }
    }
    assertThat(find(Pattern.compile("- alert:"), alerts()).size())
        .isEqualTo(find(Pattern.compile("severity: (?:critical|warning)\n"), alerts()).size());
  }

  @Test
  void alertsNamePagesThatExist() throws Exception {
    Set<String> pages = groups(Pattern.compile("([\\w-]+\\.md)"), alerts());
    assertThat(pages).isNotEmpty();
    for (String page : pages) {
      assertWithMessage(page).that(Files.exists(PAGE.resolveSibling(page))).isTrue();
    }
    // One for each alert, beside the one in the comment.
    assertThat(find(Pattern.compile("[Ss]ee [\\w-]+\\.md\\.\n"), alerts()).size())
        .isEqualTo(find(Pattern.compile("- alert:"), alerts()).size());
  }

  @Test
  void panelsHaveTitlesDescriptionsAndPlaces() throws Exception {
    Set<Integer> ids = new TreeSet<>();
    Set<String> places = new TreeSet<>();
    for (JsonElement element : dashboard().getAsJsonArray("panels")) {
      JsonObject panel = element.getAsJsonObject();
      String title = panel.get("title").getAsString();
      assertThat(title).isNotEmpty();
      assertWithMessage(title).that(ids.add(panel.get("id").getAsInt())).isTrue();
      assertWithMessage(title).that(places.add(panel.get("gridPos").toString())).isTrue();
      if (!panel.get("type").getAsString().equals("row")) {
        assertWithMessage(title).that(panel.get("description").getAsString()).isNotEmpty();
      }
    }
  }

  /** A pattern for the figures of all caches would find those of the longer name too. */
  @Test
  void noNameIsTheBeginningOfAnother() {
    for (String name : names()) {
      for (String other : names()) {
        assertWithMessage("%s and %s", name, other).that(other.startsWith(name + "_")).isFalse();
      }
    }
  }
}
