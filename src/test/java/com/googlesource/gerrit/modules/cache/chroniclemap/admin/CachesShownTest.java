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
import com.google.common.cache.CacheStats;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.TextTable.Screen;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskOperation;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The figures as people and scripts see them: within 80 columns, whatever they are. */
@Tag("locale")
class CachesShownTest {
  private static final Optional<Path> FOLDER = Optional.of(Path.of("/site/cache"));

  private static CacheReport report(
      String name, StoreState state, StartReport.Kind kind, String detail, long figure) {
    StartReport start = new StartReport(kind, detail, figure, figure);
    StoreCounts counts = new StoreCounts();
    counts.all().forEach(count -> count.add(figure));
    StoreStats disk =
        new StoreStats(
            state, start, counts, figure, figure, figure, figure, figure, figure, figure);
    return new CacheReport(
        name,
        figure,
        figure,
        figure,
        new CacheStats(figure, figure, 0, 0, figure, figure),
        disk,
        figure / 2,
        latencies(figure));
  }

  private static ImmutableMap<DiskOperation, Latency> latencies(long figure) {
    Latency latency = new Latency(figure, figure, figure, figure, figure);
    return Maps.toMap(List.of(DiskOperation.values()), operation -> latency);
  }

  private static List<CacheReport> reports(String name, String detail, long figure) {
    List<CacheReport> out = new ArrayList<>();
    for (StoreState state : StoreState.values()) {
      for (StartReport.Kind kind : StartReport.Kind.values()) {
        out.add(report(name, state, kind, detail, figure));
      }
    }
    return out;
  }

  private static List<String> table(Optional<String> reason, List<CacheReport> reports) {
    return table(reason, reports, Screen.USUAL_WIDTH);
  }

  private static List<String> table(Optional<String> reason, List<CacheReport> reports, int width) {
    StringWriter out = new StringWriter();
    try (PrintWriter writer = new PrintWriter(out)) {
      Optional<Path> folder = reason.isPresent() ? Optional.empty() : FOLDER;
      Problems problems = new Problems(0, ImmutableList.of(), List.of());
      reports.forEach(report -> problems.findIn(report, Figures.of(CacheMetrics.ALL, report)));
      CachesTable.print(
          new Screen(writer, width), new TestCaches(folder, reason, reports), reports, problems);
    }
    return Splitter.on('\n').splitToList(out.toString());
  }

  private static void assertFits(List<String> lines) {
    for (String line : lines) {
      assertWithMessage(line).that(line.length()).isAtMost(Screen.USUAL_WIDTH);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 99_999, 999_950, 1L << 40, Long.MAX_VALUE / 100})
  void theTableFits(long figure) {
    assertFits(table(Optional.empty(), reports("web_sessions", "a reason", figure)));
    String longName = "plugin-with-a-long-name.and_a_cache_with_a_name_that_is_longer_than_all";
    String longReason = "the words of a reason may be many ".repeat(9);
    assertFits(table(Optional.empty(), reports(longName, longReason, figure)));
    assertFits(table(Optional.empty(), reports("n".repeat(300), "r".repeat(500), figure)));
    assertFits(table(Optional.of(longReason), List.of()));
  }

  @Test
  void theColumnsOfTheTableAreAligned() {
    List<String> lines =
        table(
            Optional.empty(),
            List.of(
                report("a", StoreState.READY, StartReport.Kind.CLEAN, "", 3),
                report("b".repeat(40), StoreState.READY, StartReport.Kind.NEW, "", 123_456_789)));
    assertThat(lines.get(6)).hasLength(lines.get(7).length());
    assertThat(lines.get(7)).startsWith("b".repeat(24) + "~ ");
    assertThat(lines.get(6)).endsWith("clean");
    assertThat(lines.get(7)).endsWith("new");
    assertThat(lines.get(9)).startsWith("2 caches");
  }

  @Test
  void aWiderTableHasLongerNames() {
    List<CacheReport> reports =
        List.of(report("b".repeat(40), StoreState.READY, StartReport.Kind.NEW, "", 3));
    List<String> lines = table(Optional.empty(), reports, 100);
    assertThat(lines.get(5)).isEqualTo("-".repeat(100));
    assertThat(lines.get(6)).startsWith("b".repeat(40) + " ");
    assertThat(table(Optional.empty(), reports, 40).get(6)).startsWith("b".repeat(7) + "~ ");
    assertThat(table(Optional.empty(), reports, -1).get(5)).hasLength(40);
    assertThat(table(Optional.empty(), reports, Integer.MAX_VALUE).get(5)).hasLength(1000);
  }

  @Test
  void aCacheOfAPluginHasTheNamesOfConfigAndOfCommands() {
    CacheReport cache =
        report("delete-project.all_caches", StoreState.READY, StartReport.Kind.NEW, "", 3);
    assertThat(cache.isNamed("delete-project.all_caches")).isTrue();
    assertThat(cache.isNamed("delete-project-all_caches")).isTrue();
    assertThat(cache.isNamed("all_caches")).isFalse();
    assertThat(cache.isNamed("delete.project.all_caches")).isFalse();
  }

  @Test
  void theSampleOfThePageHasThisHead() throws Exception {
    List<String> lines = table(Optional.empty(), List.of());
    assertThat(Files.readString(Path.of("resources/Documentation/cmd-show.md")))
        .contains(String.join("\n", lines.subList(3, 6)) + "\n");
  }

  @Test
  void notesSayWhatTheColumnsCannot() {
    String text =
        String.join(
            "\n",
            table(
                Optional.empty(),
                List.of(
                    report("ours", StoreState.READY, StartReport.Kind.REPLACED, "it was text", 1),
                    report("lost", StoreState.FAILED, StartReport.Kind.CLEAN, "", 1))));
    assertThat(text).contains("ours: starts empty: it was text; entries: 1");
    assertThat(text).contains("ours, wrong now: damaged entries in the file: 1. A read of such");
    assertThat(text).contains("lost, wrong now: kept in memory only: see the log");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0 B, 0",
    "999, 999 B, 999",
    "1023, 1.0 KiB, 1023",
    "1024, 1.0 KiB, 1024",
    "10188, 9.9 KiB, 10188",
    "10189, 10 KiB, 10189",
    "99999, 98 KiB, 99999",
    "100000, 98 KiB, 100k",
    "999949, 977 KiB, 1.0M",
    "1047552, 1.0 MiB, 1.0M",
    "1048575, 1.0 MiB, 1.0M",
    "134217728, 128 MiB, 134M",
    "9223372036854775807, 8.0 EiB, 9.2E"
  })
  void unitsAreShort(long figure, String bytes, String count) {
    assertThat(Units.bytes(figure)).isEqualTo(bytes);
    assertThat(Units.count(figure)).isEqualTo(count);
  }

  @Test
  void timesAndPartsAreShort() {
    assertThat(Units.millis(0)).isEqualTo("0 ms");
    assertThat(Units.millis(999)).isEqualTo("999 ms");
    assertThat(Units.millis(1000)).isEqualTo("1.0 s");
    assertThat(Units.millis(99_999)).isEqualTo("100.0 s");
    assertThat(Units.millis(100_000)).isEqualTo("100 s");
    assertThat(Units.percent(0, 0)).isEmpty();
    assertThat(Units.percent(0, 5)).isEqualTo("0%");
    // Not 100%: there were misses.
    assertThat(Units.percent(999, 1000)).isEqualTo("99%");
    assertThat(Units.percent(1000, 1000)).isEqualTo("100%");
  }

  @Test
  void whatHasNoColumnIsSummedUp() {
    String text =
        String.join(
            " ",
            table(
                Optional.empty(),
                List.of(
                    report("a", StoreState.READY, StartReport.Kind.CLEAN, "", 3),
                    report("b", StoreState.READY, StartReport.Kind.CLEAN, "", 4))));
    assertThat(text.replaceAll(" +", " "))
        .contains("Expired since the start: 7; queued for writing now: 7.");
  }

  @Test
  void noFigureIsWiderThanItsColumn() {
    for (long figure = 1; figure > 0 && figure < Long.MAX_VALUE / 2; figure += figure / 9 + 1) {
      assertThat(Units.bytes(figure).length()).isAtMost(7);
      assertThat(Units.count(figure).length()).isAtMost(5);
      assertThat(Units.millis(figure).length()).isAtMost(7);
    }
  }

  @Test
  void jsonHasAllFigures() {
    List<CacheReport> one =
        List.of(report("x\"y", StoreState.READY, StartReport.Kind.RECOVERED, "a \"reason\"", 7));
    Problems problems = new Problems(0, ImmutableList.of(), List.of());
    problems.findMemoryOnly("no disk");
    JsonObject root =
        CachesJson.of(Optional.of(new TestCaches(FOLDER, Optional.empty(), one)), one, problems);
    assertThat(root.get("directory").getAsString()).isEqualTo("/site/cache");
    JsonObject cache = root.getAsJsonObject("caches").getAsJsonObject("x\"y");
    assertThat(cache.get("name").getAsString()).isEqualTo("x\"y");
    assertThat(cache.get("state").getAsString()).isEqualTo("ready");
    for (String name :
        List.of(
            "entries",
            "live_bytes",
            "disk_bytes",
            "limit_bytes",
            "disk_hits",
            "disk_misses",
            "puts",
            "not_stored",
            "damaged",
            "expired",
            "evicted",
            "invalidated",
            "queued",
            "heap_entries",
            "heap_hits",
            "heap_misses",
            "heap_evicted",
            "load_nanos",
            "memory_limit",
            "keys_in_use")) {
      assertWithMessage(name).that(cache.get(name).getAsLong()).isEqualTo(7);
    }
    assertThat(cache.get("serializer_errors").getAsLong()).isEqualTo(3);
    JsonObject latency = cache.getAsJsonObject("put_latency");
    assertThat(latency.get("count").getAsLong()).isEqualTo(7);
    for (String name : List.of("p50_micros", "p99_micros", "p999_micros", "max_micros")) {
      assertWithMessage(name).that(latency.get(name).getAsLong()).isEqualTo(0);
    }
    for (String operation : List.of("read", "serialize", "deserialize")) {
      latency = cache.getAsJsonObject(operation + "_latency");
      for (String name : List.of("count", "p50_nanos", "p99_nanos", "p999_nanos", "max_nanos")) {
        assertWithMessage(name).that(latency.get(name).getAsLong()).isEqualTo(7);
      }
    }
    JsonObject start = cache.getAsJsonObject("last_start");
    assertThat(start.get("kind").getAsString()).isEqualTo("recovered");
    assertThat(start.get("detail").getAsString()).isEqualTo("a \"reason\"");
    JsonObject problem = root.getAsJsonArray("problems").get(0).getAsJsonObject();
    assertThat(problem.keySet())
        .containsExactly("level", "subject", "text", "meaning", "paragraph", "repairable")
        .inOrder();
    assertThat(problem.get("level").getAsString()).isEqualTo("now");
    assertThat(problem.get("subject").getAsString()).isEqualTo("all caches");
    assertThat(problem.get("text").getAsString()).isEqualTo("kept in memory only: no disk");
  }

  @Test
  void jsonOfNoCachesSaysWhy() {
    TestCaches none = new TestCaches(Optional.empty(), Optional.of("no disk"), List.of());
    Problems problems = new Problems(0, ImmutableList.of(), List.of());
    JsonObject root = CachesJson.of(Optional.of(none), List.of(), problems);
    assertThat(root.has("directory")).isFalse();
    assertThat(root.get("memory_only_reason").getAsString()).isEqualTo("no disk");
    assertThat(root.getAsJsonObject("caches").size()).isEqualTo(0);
  }

  @Test
  void oneIsNotMany() {
    assertThat(Units.counted(1, "cache", "caches")).isEqualTo("1 cache");
    assertThat(Units.counted(0, "entry", "entries")).isEqualTo("0 entries");
    assertThat(Units.counted(2, "entry", "entries")).isEqualTo("2 entries");
  }
}
