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

import com.google.gson.JsonObject;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The history of figures, and the events that are found in it. */
@Tag("locale")
class HistoryTest {
  private long now = 1_000_000;
  private final List<CacheReport> reports = new ArrayList<>();
  private final History history = new History(() -> reports, () -> null, () -> now);

  private void sample(CacheReport... all) {
    reports.clear();
    reports.addAll(List.of(all));
    history.sample();
    now += History.INTERVAL.toMillis();
  }

  private static CacheReport quiet(String name, long hits) {
    return TestCaches.report(name, StoreState.READY, StartReport.Kind.CLEAN, hits, 0, 0);
  }

  @Test
  void figuresOfOneCacheAndOfAll() {
    sample(quiet("a", 1));
    sample(quiet("a", 5), quiet("b", 7));
    JsonObject all = history.json();
    assertThat(all.get("interval_millis").getAsLong()).isEqualTo(30_000);
    assertThat(all.get("times").toString())
        .isEqualTo("[\"1970-01-01 00:16:40.000000000\",\"1970-01-01 00:17:10.000000000\"]");
    assertThat(all.getAsJsonObject("caches").get("hits").toString()).isEqualTo("[1,12]");
    assertThat(all.getAsJsonObject("caches").get("disk_bytes").toString()).isEqualTo("[30,60]");
    // A latency of all caches is that of the slowest one.
    assertThat(all.getAsJsonObject("caches").get("read_latency_p99").toString()).isEqualTo("[1,7]");
    // Scripts and the page read them by these names.
    assertThat(all.getAsJsonObject("caches").keySet())
        .containsExactly(
            "heap_hits",
            "heap_misses",
            "heap_evicted",
            "load_nanos",
            "keys_in_use",
            "entries",
            "live_bytes",
            "disk_bytes",
            "limit_bytes",
            "failed",
            "hits",
            "misses",
            "puts",
            "read_latency_p99",
            "put_latency_p99",
            "evicted",
            "damaged",
            "unrepaired",
            "faults",
            "not_stored",
            "serializer_errors",
            "queued",
            "flushes");
    assertThat(all.getAsJsonObject("refs").size()).isEqualTo(0);
    assertThat(all.getAsJsonObject("process").getAsJsonArray("heap_bytes").get(1).getAsLong())
        .isGreaterThan(0);
    JsonObject one = history.json("b");
    assertThat(one.getAsJsonObject("caches").get("hits").toString()).isEqualTo("[null,7]");
    assertThat(history.json("none").getAsJsonObject("caches").size()).isEqualTo(0);
  }

  /** While a plugin is loaded again, its cache is there twice. */
  @Test
  void theNewerOneOfTwoCachesOfOneNameCounts() {
    sample(quiet("a", 1), quiet("a", 5));
    assertThat(history.json("a").getAsJsonObject("caches").get("hits").toString()).isEqualTo("[5]");
  }

  @Test
  void whatIsNormalLeavesBeforeWhatIsNot() {
    sample(TestCaches.report("a", StoreState.READY, StartReport.Kind.CLEAN, 1, 0, 1));
    for (int i = 1; i <= Events.MAX_EVENTS + 5; i++) {
      now += Duration.ofHours(1).toMillis();
      sample(TestCaches.report("a", StoreState.READY, StartReport.Kind.CLEAN, 1, i, 1));
    }
    assertThat(history.events()).hasSize(Events.MAX_EVENTS);
    assertThat(history.events().get(Events.MAX_EVENTS - 1).kind()).isEqualTo("damaged");
  }

  /** REST clients look for the end of what they have started. */
  @Test
  void theNewestStays() {
    for (int i = 0; i < Events.MAX_EVENTS; i++) {
      history.add(new Events.Event(i, i, "a", "faults", "", 1));
    }
    history.add(new Events.Event(1000, 1000, "a", "verify", "", 1));
    assertThat(history.events().get(0).kind()).isEqualTo("verify");
    for (int i = 0; i < Events.MAX_EVENTS; i++) {
      history.add(new Events.Event(i, i, "a", i % 2 == 0 ? "verify" : "evicted", "", 1));
    }
    // Neither pushes the other out.
    assertThat(history.events().stream().filter(e -> e.kind().equals("verify")).count())
        .isEqualTo(Events.MAX_WORK);
  }

  @Test
  void aLookFindsEachRiseOnce() throws Exception {
    AtomicLong faults = new AtomicLong();
    History busy =
        new History(
            () -> {
              CacheReport report = quiet("a", 1);
              report.disk().counts().faults.add(faults.incrementAndGet());
              return List.of(report);
            },
            () -> null,
            () -> 1_000_000);
    Threads.together(
        4,
        thread -> {
          Runnable work = thread % 2 == 0 ? busy::look : busy::sample;
          for (int n = 0; n < 1000; n++) {
            work.run();
          }
        });
    assertThat(busy.events().get(0).count()).isEqualTo(faults.get());
    assertThat(busy.samples()).hasSize(History.MAX_SAMPLES);
  }

  @Test
  void figuresThatCannotBeReadFailNobody() {
    AtomicBoolean fails = new AtomicBoolean(true);
    History history =
        new History(
            () -> {
              if (fails.get()) {
                throw new IllegalStateException("thrown by a test");
              }
              return List.of(
                  TestCaches.report("a", StoreState.READY, StartReport.Kind.CLEAN, 1, 0, 1));
            },
            () -> null,
            () -> now);
    history.look();
    assertThat(history.json().getAsJsonArray("events").size()).isEqualTo(0);
    fails.set(false);
    history.look();
    assertThat(history.events().get(0).kind()).isEqualTo("damaged");
  }

  @Test
  void theOldestSamplesLeave() {
    for (int i = 0; i < History.MAX_SAMPLES + 5; i++) {
      sample(quiet("a", i));
    }
    assertThat(history.samples()).hasSize(History.MAX_SAMPLES);
    assertThat(history.samples().get(0).caches().get("a").get("hits")).isEqualTo(5);
  }

  @Test
  void risesAreEvents() {
    sample(quiet("a", 1), quiet("b", 1));
    assertThat(history.events()).isEmpty();
    sample(
        TestCaches.report("a", StoreState.READY, StartReport.Kind.CLEAN, 1, 3, 0),
        TestCaches.report("b", StoreState.FAILED, StartReport.Kind.CLEAN, 1, 0, 2));
    assertThat(history.events().stream().map(e -> e.subject() + " " + e.kind() + " " + e.count()))
        .containsExactly("a evicted 3", "b failed 1", "b damaged 2");
    // The next ones of the same kind soon after are the same event.
    sample(
        TestCaches.report("a", StoreState.READY, StartReport.Kind.CLEAN, 1, 10, 0),
        TestCaches.report("b", StoreState.FAILED, StartReport.Kind.CLEAN, 1, 0, 2));
    Events.Event evicted = history.events().get(0);
    assertThat(evicted.kind()).isEqualTo("evicted");
    assertThat(evicted.count()).isEqualTo(10);
    assertThat(evicted.from()).isEqualTo(1_030_000);
    assertThat(evicted.to()).isEqualTo(1_060_000);
    now += Duration.ofHours(1).toMillis();
    sample(TestCaches.report("a", StoreState.READY, StartReport.Kind.CLEAN, 1, 11, 0));
    assertThat(history.events().get(0).count()).isEqualTo(1);
    assertThat(history.events()).hasSize(4);
    // The cache of a plugin that was loaded again starts from 0.
    sample(TestCaches.report("a", StoreState.READY, StartReport.Kind.CLEAN, 1, 2, 0));
    assertThat(history.events().get(0).count()).isEqualTo(3);
    assertThat(history.json("a").getAsJsonArray("events").size()).isEqualTo(2);
    assertThat(history.json().getAsJsonArray("events").size()).isEqualTo(4);
  }

  @Test
  void unusualStartsAreEvents() {
    sample(
        TestCaches.report("a", StoreState.OPENING, StartReport.Kind.PENDING, 0, 0, 0),
        quiet("b", 0));
    assertThat(history.events()).isEmpty();
    sample(
        TestCaches.report("a", StoreState.READY, StartReport.Kind.RECOVERED, 0, 0, 0),
        quiet("b", 0));
    sample(
        TestCaches.report("a", StoreState.READY, StartReport.Kind.RECOVERED, 0, 0, 0),
        quiet("b", 0));
    assertThat(history.events()).hasSize(1);
    assertThat(history.events().get(0).text())
        .isEqualTo("was recovered after a crash: killed; entries: 1");
  }
}
