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
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
    Problems problems = new Problems(now, history.samples(), history.events());
    problems.findIn(report, Figures.of(CacheMetrics.ALL, report));
    return problems;
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
    assertThat(Problems.verdict(problems.all())).isEqualTo("fine");
  }

  @Test
  void aFaultIsWrongNowAndLaterWas() {
    sample(cache(StoreState.READY, 0, 0, 0));
    // Before a sample has it.
    CacheReport faulty = cache(StoreState.READY, 0, 1, 0);
    assertThat(shown(problems(faulty)))
        .containsExactly("wrong now: a: 1 error of the disk since the start");
    long seen = now;
    now += 1;
    sample(faulty);
    assertThat(Problems.verdict(problems(faulty).all())).isEqualTo("now");
    assertThat(problems(faulty).all().get(0).last()).isEqualTo(seen);
    while (now - seen <= Problems.RECENT.toMillis()) {
      sample(faulty);
    }
    assertThat(shown(problems(faulty)))
        .containsExactly("was wrong: a: 1 error of the disk since the start");
    assertThat(Problems.verdict(problems(faulty).all())).isEqualTo("was");
    assertThat(problems(faulty).all().get(0).last()).isEqualTo(seen);
    // Another one.
    assertThat(shown(problems(cache(StoreState.READY, 0, 2, 0))))
        .containsExactly("wrong now: a: 2 errors of the disk since the start");
  }

  @Test
  void damageIsWrongAsLongAsItIsThere() {
    CacheReport damaged = cache(StoreState.READY, 0, 0, 2);
    for (int i = 0; i < 30; i++) {
      sample(damaged);
    }
    assertThat(shown(problems(damaged)))
        .containsExactly("wrong now: a: 2 damaged entries in the file");
    assertThat(problems(damaged).all().get(0).repairable()).isTrue();
    assertThat(problems(damaged).all().get(0).line())
        .startsWith(
            "a, wrong now: 2 damaged entries in the file. A read of such an entry finds nothing");
  }

  @Test
  void damageThatIsGoneWasWrong() {
    CacheReport repaired = cache(StoreState.READY, 0, 0, 0);
    repaired.disk().counts().damaged.add(4);
    assertThat(shown(problems(repaired)))
        .containsExactly("was wrong: a: 4 damaged entries found since the start");
  }

  /** The figure comes from the same moment as its event, or from one before. */
  @Test
  void whatIsFoundHasItsTime() {
    CacheReport faulty = cache(StoreState.READY, 0, 1, 0);
    show(faulty);
    TestCaches caches = new TestCaches(Optional.empty(), Optional.empty(), reports);
    Problems found = Problems.find(history, Optional.of(caches), reports, null, null);
    assertThat(found.of("a").get(0).last()).isEqualTo(now);
  }

  @Test
  void aFullCacheIsAtItsLimitAndNotWrong() {
    sample(cache(StoreState.READY, 1, 0, 0));
    Problems problems = problems(cache(StoreState.READY, 3, 0, 0));
    assertThat(shown(problems))
        .containsExactly("at its limit: a: full: old values are evicted for new ones");
    assertThat(Problems.verdict(problems.all())).isEqualTo("fine");
    now += Problems.RECENT.toMillis();
    sample(cache(StoreState.READY, 3, 0, 0));
    now += Problems.RECENT.toMillis();
    // Nobody puts anything now.
    assertThat(problems(cache(StoreState.READY, 3, 0, 0)).of("a")).isEmpty();
  }

  @Test
  void aFailedFileComesBeforeLimits() {
    sample(cache(StoreState.READY, 0, 0, 0));
    Problems problems = problems(cache(StoreState.FAILED, 1, 0, 0));
    assertThat(problems.all().stream().map(Problems.Problem::level))
        .containsExactly(Problems.Level.NOW, Problems.Level.LIMIT)
        .inOrder();
    assertThat(problems.all().get(0).text()).startsWith("kept in memory only");
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
    assertThat(Problems.verdict(problems.all())).isEqualTo("now");
  }

  private static SharedReport shared(String failure, long behindMillis) {
    return new SharedReport(
        "a:1", failure, false, false, 0, 0, behindMillis, 0, new SharedCounts());
  }

  @Test
  void figuresThatAreNotSampledAreReported() {
    sample(cache(StoreState.READY, 0, 0, 0));
    Problems soon = new Problems(now, history.samples(), history.events());
    soon.findMissingSamples();
    assertThat(soon.all()).isEmpty();
    now += 10 * History.INTERVAL.toMillis();
    Problems late = new Problems(now, history.samples(), history.events());
    late.findMissingSamples();
    assertThat(late.all()).hasSize(1);
  }
}
