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

import com.google.common.collect.ImmutableList;
import com.google.common.collect.MoreCollectors;
import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.TextTable.Screen;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.RefsTotals;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.FileCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.ProjectRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportCounts;
import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What people and scripts see of parsed ref lists. */
@Tag("locale")
class RefsShownTest {
  private static final ProjectRefs LARGE =
      new ProjectRefs(
          "a-project-with-a-name-that-is-too-long",
          new RefsReport(
              new File("/git/a.git"),
              counts(9_999_999_999L, 123_456),
              true,
              2_000_000,
              140_000_000,
              62_000_000,
              16_000,
              Optional.of("two refs have the same name"),
              List.of("refs/heads/a~: git allows no ref of this name")));

  private static final ProjectRefs AWAY =
      new ProjectRefs(
          "away",
          new RefsReport(
              new File("/git/b.git"),
              counts(5, 0),
              false,
              0,
              0,
              0,
              0,
              Optional.empty(),
              List.of()));

  private static FileCounts counts(long lookups, long parses) {
    FileCounts out = new FileCounts();
    out.lookups.add(lookups);
    out.readings.add(1000 * parses);
    out.parses.add(parses);
    out.reusedBlocks.add(900 * parses);
    out.lastParse.set(Math.min(parses, 1));
    out.lastParseNanos = 40_123_456;
    return out;
  }

  /** Totals of a list that is parsed, as tests can hold none of two million refs. */
  private static RefsTotals totals(long leftToJGit, long failures) {
    return totals(
        leftToJGit, failures, Optional.empty(), Optional.of("another process has the folder"));
  }

  private static RefsTotals totals(
      long leftToJGit,
      long failures,
      Optional<StoreStats> disk,
      Optional<String> memoryOnlyReason) {
    FileCounts counts = new FileCounts();
    LARGE.report().counts().addTo(counts);
    counts.notParsable.add(leftToJGit);
    counts.noMemory.add(failures);
    return new RefsTotals(
        counts,
        List.of(LARGE.report(), AWAY.report()),
        new ListMemory(256 << 20),
        List.of(),
        8,
        failures,
        List.of(),
        1_234,
        disk,
        memoryOnlyReason,
        !memoryOnlyReason.equals(NOT_WANTED));
  }

  /** The figures of totals, with others where they are 0: all are as wide as they can be. */
  private static Figures figures(RefsTotals totals) {
    Figures all = RefsMetrics.read(totals, new TransportCounts());
    Set<String> faults = Set.of("left_to_jgit", "no_memory", "failures", "memory_only");
    for (int i = 0; i < all.values().length; i++) {
      if (all.values()[i] == 0 && !faults.contains(all.metrics().get(i).shortName())) {
        all.values()[i] = 62_000_000;
      }
    }
    return all;
  }

  private static final Optional<String> NOT_WANTED =
      Optional.of("cache.packed_refs.diskLimit is 0");

  @Test
  void listsInMemoryAreNoFaultIfThatIsWanted() {
    String text = text(totals(0, 0, Optional.empty(), NOT_WANTED));
    assertThat(text).contains("Lists are kept in memory only: cache.packed_refs.diskLimit is 0");
    assertThat(text).doesNotContain("wrong now");
    assertThat(text(totals(0, 0))).contains("wrong now: lists are kept in memory only: another");
  }

  private static long memoryOnly(StoreState state) {
    StartReport start = new StartReport(StartReport.Kind.CLEAN, "", 0, 0);
    StoreStats disk = new StoreStats(state, start, new StoreCounts(), 0, 0, 0, 0, 0, 0, 0);
    return memoryOnly(totals(0, 0, Optional.of(disk), Optional.empty()));
  }

  private static long memoryOnly(RefsTotals totals) {
    return RefsMetrics.ALL.stream()
        .filter(metric -> metric.name().endsWith("memory_only"))
        .collect(MoreCollectors.onlyElement())
        .value()
        .applyAsLong(totals);
  }

  @Test
  void theMetricSaysIfNothingIsKeptOnDisk() {
    assertThat(memoryOnly(StoreState.READY)).isEqualTo(0);
    assertThat(memoryOnly(StoreState.FAILED)).isEqualTo(1);
    assertThat(memoryOnly(totals(0, 0))).isEqualTo(1);
  }

  private static String table(RefsTotals totals) {
    StringWriter out = new StringWriter();
    Problems problems = new Problems(0, ImmutableList.of(), List.of());
    problems.findIn(totals, figures(totals));
    RefsTable.print(
        new Screen(new PrintWriter(out, true), Screen.USUAL_WIDTH),
        figures(totals),
        totals,
        List.of(LARGE, AWAY),
        problems);
    return out.toString();
  }

  /** What the table says, on one line. */
  private static String text(RefsTotals totals) {
    return table(totals).replaceAll("\\s+", " ");
  }

  @Test
  void theTableFitsTheScreen() {
    String table = table(totals(1, 1));
    assertThat(table.lines().filter(line -> line.length() > Screen.USUAL_WIDTH).toList()).isEmpty();
    assertThat(table).contains("a-project-with-a-nam~");
    assertThat(table).containsMatch("away +- +- +- +0");
    assertThat(table).contains("2 projects");
    assertThat(text(totals(1, 1))).contains("another process has the folder");
  }

  @Test
  void theSampleOfThePageHasThisHead() throws Exception {
    String head = table(totals(0, 0)).lines().limit(3).collect(Collectors.joining("\n")) + "\n";
    assertThat(Files.readString(Path.of("resources/Documentation/cmd-refs.md"))).contains(head);
  }

  @Test
  void theReasonIsSaidWhyAFileIsLeftToJGit() {
    String said = "JGit answers for a-project-with-a-name-that-is-too-long: two refs have the same";
    assertThat(text(totals(0, 0))).contains(said);
  }

  /** The page and the command show all problems. */
  @Test
  void whatThisGerritLacksIsAProblem() {
    Problems problems = new Problems(0, ImmutableList.of(), List.of());
    problems.findMissing(Member.BRANCH_RULES);
    assertThat(problems.all().get(0).line())
        .isEqualTo(
            "packed-refs, wrong now: this Gerrit has no"
                + " com.google.gerrit.server.permissions.ProjectControl#access(), so each branch is"
                + " judged alone. Answers are right, but slower. A newer jar may help.");
    JsonObject json = RefsJson.of(figures(totals(0, 0)), totals(0, 0), List.of());
    assertThat(json.getAsJsonArray("missing_members")).isEmpty();
  }

  @Test
  void badRefsAreNamed() {
    assertThat(text(totals(0, 0))).contains("refs/heads/a~: git allows no ref");
    JsonObject json = RefsJson.of(figures(totals(0, 0)), totals(0, 0), List.of(LARGE));
    assertThat(json.getAsJsonObject("totals").get("bad_refs").getAsLong()).isEqualTo(1);
    JsonObject project = json.getAsJsonObject("projects").getAsJsonObject(LARGE.project());
    assertThat(project.getAsJsonArray("bad_refs").get(0).getAsString()).contains("refs/heads/a~");
  }

  @Test
  void faultsAreSaidIfThereAreAny() {
    assertThat(text(totals(0, 0))).doesNotContain("wrong now: files");
    assertThat(text(totals(0, 0))).doesNotContain("wrong now: lists without");
    assertThat(text(totals(0, 3))).contains("lists without memory: 3 since the start");
    assertThat(text(totals(1, 0))).contains("files that only JGit can read: 1 since the start");
    assertThat(text(totals(0, 1))).contains("lookups left to JGit by a fault: 1 since the start");
  }

  @Test
  void jsonHasAllFigures() {
    RefsTotals all = totals(1, 2);
    JsonObject json = RefsJson.of(figures(all), all, List.of(LARGE, AWAY));
    JsonObject totals = json.getAsJsonObject("totals");
    assertThat(totals.get("lookups").getAsLong()).isEqualTo(9_999_999_999L);
    assertThat(totals.get("failures").getAsLong()).isEqualTo(2);
    assertThat(totals.get("process_direct_bytes").getAsLong()).isAtLeast(1);
    assertThat(totals.get("heap_bytes").getAsLong()).isEqualTo(62_000_000);
    assertThat(totals.get("off_heap_bytes").getAsLong()).isAtLeast(1);
    assertThat(totals.get("memory_limit_bytes").getAsLong()).isEqualTo(256 << 20);
    assertThat(totals.get("no_memory").getAsLong()).isEqualTo(2);
    assertThat(totals.get("memory_only_reason").getAsString()).contains("another process");
    assertThat(totals.has("disk")).isFalse();
    JsonObject large = json.getAsJsonObject("projects").getAsJsonObject(LARGE.project());
    assertThat(large.get("bytes_a_ref").getAsDouble()).isEqualTo(31.0);
    assertThat(large.get("left_reason").getAsString()).contains("same name");
    assertThat(large.get("last_parse_micros").getAsLong()).isEqualTo(40_123);
    JsonObject away = json.getAsJsonObject("projects").getAsJsonObject(AWAY.project());
    assertThat(away.get("in_memory").getAsBoolean()).isFalse();
    assertThat(away.has("bytes_a_ref")).isFalse();
  }
}
