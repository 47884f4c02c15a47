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

import com.google.common.cache.CacheStats;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.DiskOperation;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.Latency;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What the page says of the state of the caches. */
class ProblemsTest {
  private long now = 1_000_000;
  private final List<CacheReport> reports = new ArrayList<>();
  private final History history = new History(() -> reports, () -> null, () -> now);

  private static CacheReport cache(StoreState state, long evicted, long faults, long damaged) {
    CacheReport report = TestCaches.report("a", state, StartReport.Kind.CLEAN, 1, evicted, damaged);
    report.disk().counts().faults.add(faults);
    return report;
  }

  private void sample(CacheReport report) {
    show(report);
    history.sample();
    now += History.INTERVAL.toMillis();
  }

  private void show(CacheReport report) {
    reports.clear();
    reports.add(report);
  }

  private Problems problems(CacheReport report) {
    show(report);
    history.look();
    Problems problems = shownAll();
    problems.findIn(report, Figures.of(CacheMetrics.ALL, report));
    return problems;
  }

  private Problems shownAll() {
    return new Problems(now, history.samples(), history.events());
  }

  private static List<String> shown(Problems problems) {
    return problems.all().stream()
        .map(problem -> problem.level().shown + ": " + problem.subject() + ": " + problem.text())
        .toList();
  }

  @Test
  void allIsFine() {
    sample(cache(StoreState.READY, 0, 0, 0));
    Problems problems = problems(cache(StoreState.READY, 0, 0, 0));
    assertThat(problems.all()).isEmpty();
    assertThat(problems.all()).isEmpty();
  }

  @Test
  void aFaultIsWrongNowAndLaterWas() {
    sample(cache(StoreState.READY, 0, 0, 0));
    // Before a sample has it.
    CacheReport faulty = cache(StoreState.READY, 0, 1, 0);
    assertThat(shown(problems(faulty)))
        .containsExactly("wrong now: a: errors of the disk: 1 since the start");
    long seen = now;
    now += 1;
    sample(faulty);
    assertThat(problems(faulty).all().get(0).level()).isEqualTo(Problems.Level.NOW);
    assertThat(problems(faulty).all().get(0).last()).isEqualTo(seen);
    while (now - seen <= Problems.RECENT.toMillis()) {
      sample(faulty);
    }
    assertThat(shown(problems(faulty)))
        .containsExactly("was wrong: a: errors of the disk: 1 since the start");
    assertThat(problems(faulty).all().get(0).level()).isEqualTo(Problems.Level.WAS);
    assertThat(problems(faulty).all().get(0).last()).isEqualTo(seen);
    // Another one.
    assertThat(shown(problems(cache(StoreState.READY, 0, 2, 0))))
        .containsExactly("wrong now: a: errors of the disk: 2 since the start");
  }

  @Test
  void damageIsWrongAsLongAsItIsThere() {
    CacheReport damaged = cache(StoreState.READY, 0, 0, 2);
    for (int i = 0; i < 30; i++) {
      sample(damaged);
    }
    assertThat(shown(problems(damaged)))
        .containsExactly("wrong now: a: damaged entries in the file: 2");
    assertThat(problems(damaged).all().get(0).repairable()).isTrue();
    assertThat(problems(damaged).all().get(0).line())
        .startsWith(
            "a, wrong now: damaged entries in the file: 2. A read of such an entry finds nothing");
  }

  @Test
  void damageThatIsGoneWasWrong() {
    CacheReport repaired = cache(StoreState.READY, 0, 0, 0);
    repaired.disk().counts().damaged.add(4);
    assertThat(shown(problems(repaired)))
        .containsExactly("was wrong: a: damaged entries found: 4 since the start");
  }

  /** The figure comes from the same moment as its event, or from one before. */
  @Test
  void whatIsFoundHasItsTime() {
    CacheReport faulty = cache(StoreState.READY, 0, 1, 0);
    show(faulty);
    TestCaches caches = new TestCaches(Optional.empty(), Optional.empty(), reports);
    Problems found = Problems.find(history, Optional.of(caches), reports, null, null);
    assertThat(found.all().get(0).last()).isEqualTo(now);
  }

  @Test
  void aFolderThatOthersCanReadIsWrong() {
    CacheInventory exposed =
        new TestCaches(
            Optional.empty(), Optional.empty(), Optional.of("others have rights"), List.of(), null);
    Problems found = Problems.find(history, exposed, List.of());
    assertThat(shown(found)).containsExactly("wrong now: all caches: others have rights");
  }

  /** The figures of a cache that is used, since its start. */
  private static final class Used {
    long hits;
    long misses;
    long evicted;
    long heapHits;
    long heapMisses;
    long heapEvicted;
    long loadNanos;
    long keysInUse;
    long entries = 1000;
    long memoryLimit = 1024;
    long held = 100;
    long readNanos = 12_345;

    CacheReport report() {
      StoreCounts counts = new StoreCounts();
      counts.hits.add(hits);
      counts.misses.add(misses);
      counts.evicted.add(evicted);
      StartReport start = new StartReport(StartReport.Kind.CLEAN, "", 1, 1);
      StoreStats disk =
          new StoreStats(
              StoreState.READY, start, counts, entries, 20, 30, 128 << 20, 0, 0, keysInUse);
      Latency latency = new Latency(1, 2, readNanos, 4, 5);
      return new CacheReport(
          "diff",
          memoryLimit,
          10 << 10,
          held,
          new CacheStats(heapHits, heapMisses, 1, 0, loadNanos, heapEvicted),
          disk,
          0,
          ImmutableMap.copyOf(Maps.toMap(List.of(DiskOperation.values()), operation -> latency)));
    }
  }

  private final Used used = new Used();

  /** Has the cache used for so many samples, by what is added to its figures for each. */
  private void use(int samples, Consumer<Used> each) {
    for (int i = 0; i < samples; i++) {
      each.accept(used);
      sample(used.report());
    }
  }

  /** The same where memory has nothing to do with it. */
  private void use(int samples, int hits, int misses, int evicted) {
    use(
        samples,
        each -> {
          each.hits += hits;
          each.misses += misses;
          each.evicted += evicted;
        });
  }

  private static String pageOfDocumentation() throws IOException {
    return Files.readString(Path.of("resources/Documentation/page.md"));
  }

  private void idle(int samples) {
    use(samples, none -> {});
  }

  /**
   * Each half minute: 300 reads, of which two of five find nothing, as more is in use than fits.
   */
  private static void losesTwoOfFive(Used used) {
    used.hits += 180;
    used.misses += 120;
    used.evicted += 120;
    used.loadNanos += 120 * 20_000_000L;
    used.keysInUse = 1700;
  }

  @Test
  void aCacheThatLosesTwoOfFiveReadsIsAtItsLimit() throws Exception {
    idle(1);
    use(40, ProblemsTest::losesTwoOfFive);
    Problems problems = problems(used.report());
    assertThat(problems.all().get(0).level()).isEqualTo(Problems.Level.LIMIT);
    assertThat(shown(problems))
        .containsExactly(
            "at its limit: diff: diskLimit too small: in 20 minutes, 4800 values evicted, 40% of"
                + " 12000 reads found nothing, loads took 96 s (20 ms each)");
    assertThat(problems.all().get(0).meaning())
        .isEqualTo(
            "About 1700 keys are in use, and 1000 fit. cache.diff.diskLimit is 128m: try 256m.");
    // After a flush, as many fit as before.
    used.entries = 100;
    assertThat(problems(used.report()).all().get(0).meaning()).contains("and 1000 fit");
    used.entries = 1000;
    assertThat(problems.all().get(0).paragraph()).isEqualTo("full-caches");
    assertThat(pageOfDocumentation()).contains("\n### Full caches\n");
  }

  @Test
  void theMorningTellsOfTheNight() {
    idle(1);
    use(120, ProblemsTest::losesTwoOfFive);
    long last = now - History.INTERVAL.toMillis();
    // Seven hours in which nobody works.
    idle(830);
    Problems problems = problems(used.report());
    Problems.Problem was = problems.all().get(0);
    assertThat(was.level()).isEqualTo(Problems.Level.WAS);
    assertThat(was.last()).isEqualTo(last);
    assertThat(was.text())
        .isEqualTo(
            "diskLimit too small: in 60 minutes, 14400 values evicted, 40% of 36000 reads found"
                + " nothing, loads took 288 s (20 ms each)");
    assertThat(was.meaning()).endsWith("cache.diff.diskLimit is 128m: try 256m.");
    idle(History.MAX_SAMPLES);
    assertThat(problems(used.report()).all()).isEmpty();
  }

  @Test
  void howMuchIsMissedMattersWhereMoreIsInUseThanFits() {
    idle(1);
    use(40, 240, 60, 60);
    // A pass over values that nobody needs again.
    assertThat(problems(used.report()).all()).isEmpty();
    used.keysInUse = 5000;
    use(40, 240, 60, 60);
    assertThat(problems(used.report()).all().get(0).meaning()).contains("try 1g.");
    used.keysInUse = 0;
    // Far more than the limit in turns, each too seldom for the usage to be remembered.
    use(40, 0, 400, 400);
    assertThat(problems(used.report()).all().get(0).meaning())
        .isEqualTo(
            "What is missed is read again seldom, or only after many others. cache.diff.diskLimit"
                + " is 128m: try 256m.");
  }

  @Test
  void aLimitThatCostsLittleIsNoProblem() {
    idle(1);
    // Eight times what fits, all read for the first time.
    use(20, 0, 400, 400);
    idle(20);
    // A new cache.
    use(30, 0, 500, 0);
    idle(20);
    // Values that make room for others.
    use(30, 0, 0, 500);
    // Hardly used.
    use(30, 0, 10, 10);
    // Values that were invalidated.
    used.keysInUse = 5000;
    use(30, 100, 400, 10);
    assertThat(problems(used.report()).all()).isEmpty();
  }

  /** 30 lookups a second, of which memory has none. */
  private static void readsFromDisk(Used used) {
    used.heapMisses += 900;
    used.heapEvicted += 900;
    used.hits += 900;
  }

  @Test
  void aMemoryLimitThatIsTooSmallIsReported() throws Exception {
    idle(1);
    use(20, ProblemsTest::readsFromDisk);
    Problems problems = problems(used.report());
    assertThat(problems.all().get(0).level()).isEqualTo(Problems.Level.LIMIT);
    assertThat(shown(problems))
        .containsExactly(
            "at its limit: diff: memoryLimit too small: in 10 minutes, 100% of 18000 lookups found"
                + " nothing in memory, and a read from the file took up to 12 µs (99 %)");
    assertThat(problems.all().get(0).meaning())
        .isEqualTo(
            "1000 values are in the file, 100 in memory. cache.diff.memoryLimit is 1024: try"
                + " 10k.");
    assertThat(problems.all().get(0).paragraph()).isEqualTo("small-memory");
    assertThat(pageOfDocumentation()).contains("\n### Small memory\n");
    long last = now - History.INTERVAL.toMillis();
    // Nothing is read, so no time is measured.
    used.readNanos = 0;
    idle(5);
    assertThat(shown(problems(used.report()))).isEqualTo(shown(problems));
    idle(100);
    Problems.Problem was = problems(used.report()).all().get(0);
    assertThat(was.level()).isEqualTo(Problems.Level.WAS);
    assertThat(was.text()).isEqualTo(problems.all().get(0).text());
    assertThat(was.last()).isEqualTo(last);
    use(20, ProblemsTest::readsFromDisk);
    assertThat(problems(used.report()).all().get(0).text()).endsWith("nothing in memory");
  }

  private String proposal(long memoryLimit, long held) {
    used.memoryLimit = memoryLimit;
    used.held = held;
    String meaning = problems(used.report()).all().get(0).meaning();
    return meaning.substring(meaning.indexOf("memoryLimit is"));
  }

  @Test
  void aMemoryLimitIsProposedThatHelpsInOneStep() {
    idle(1);
    use(20, ProblemsTest::readsFromDisk);
    assertThat(proposal(100, 0)).isEqualTo("memoryLimit is 100: try 10k.");
    assertThat(proposal(1000, 200)).isEqualTo("memoryLimit is 1000: try 8192.");
    assertThat(proposal(4096, 2)).isEqualTo("memoryLimit is 4096: try 16k.");
    assertThat(proposal(200 << 10, 500)).isEqualTo("memoryLimit is 200k: try 512k.");
    assertThat(proposal(5 << 20, 10)).isEqualTo("memoryLimit is 5m: try 20m.");
  }

  @Test
  void aMemoryTierThatCouldNotDoBetterIsNoProblem() {
    idle(1);
    // A pass over values that each are read once.
    used.entries = 50_000;
    use(40, ProblemsTest::readsFromDisk);
    // After a start: memory is not full.
    use(20, used -> used.heapMisses += (used.hits += 900) > 0 ? 900 : 0);
    // Half of them is found.
    use(
        20,
        used -> {
          readsFromDisk(used);
          used.heapHits += 900;
        });
    used.entries = 1000;
    // Hardly used.
    use(
        20,
        used -> {
          used.heapMisses += 100;
          used.heapEvicted += 100;
          used.hits += 100;
        });
    idle(20);
    // Neither tier has them.
    use(
        20,
        used -> {
          used.heapMisses += 900;
          used.heapEvicted += 900;
          used.misses += 900;
        });
    assertThat(problems(used.report()).all()).isEmpty();
  }

  @Test
  void aFailedFileComesBeforeLimits() {
    idle(1);
    use(40, ProblemsTest::losesTwoOfFive);
    Problems problems = problems(used.report());
    problems.findMemoryOnly("no folder");
    assertThat(problems.all().stream().map(Problems.Problem::level))
        .containsExactly(Problems.Level.NOW, Problems.Level.LIMIT)
        .inOrder();
    assertThat(problems.all().get(0).level()).isEqualTo(Problems.Level.NOW);
  }

  @Test
  void aServerThatFallsBehindTheOthersIsReported() {
    Problems problems = new Problems(now, ImmutableList.of(), List.of());
    problems.findIn(shared("", 59_000));
    assertThat(problems.all()).isEmpty();
    problems.findIn(shared("", 61_000));
    assertThat(shown(problems))
        .containsExactly("at its limit: shared values: this server is 61.0 s behind the others");
    problems.findIn(shared("refused", 0));
    assertThat(problems.all().get(0).level()).isEqualTo(Problems.Level.NOW);
  }

  private static SharedReport shared(String failure, long behindMillis) {
    return new SharedReport(
        "a:1", failure, false, false, 0, 0, behindMillis, 0, new SharedCounts());
  }

  @Test
  void figuresThatAreNotSampledAreReported() {
    sample(cache(StoreState.READY, 0, 0, 0));
    Problems soon = shownAll();
    soon.findMissingSamples();
    assertThat(soon.all()).isEmpty();
    now += 10 * History.INTERVAL.toMillis();
    Problems late = shownAll();
    late.findMissingSamples();
    assertThat(late.all()).hasSize(1);
  }
}
