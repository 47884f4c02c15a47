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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import static com.google.common.truth.Truth.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.util.SampleBuffer;

/** What {@code bin/bench --json} writes: others read it by name and trust its ratio. */
final class ComparisonTest {
  @Test
  void throughputRatioIsAboveOneIfOursIsFaster() {
    Figure figure = figures(CacheBench.CacheCase.Operation.GET, 8).get(0);

    assertThat(figure)
        .isEqualTo(new Figure("get, 10 KB, 8 threads, vs H2", "ops/s", 3000, 1000, 3));
  }

  @Test
  void latencyRatioIsAboveOneIfOursTakesLess() {
    List<Figure> figures = figures(CacheBench.CacheCase.Operation.MIXED, 1);

    assertThat(figures.get(1))
        .isEqualTo(new Figure("mixed 95/5 p50, 10 KB, 1 thread, vs H2", "us", 2, 20, 10));
    assertThat(figures.get(2))
        .isEqualTo(new Figure("mixed 95/5 p99, 10 KB, 1 thread, vs H2", "us", 4, 512, 128));
    assertThat(figures.get(3).name()).isEqualTo("mixed 95/5 p99.9, 10 KB, 1 thread, vs H2");
  }

  @Test
  void roundsCountTogether() {
    Samples samples = samples(1000, 2_000, 4_000);
    samples.add(2000, buffer(8_000, 16_000).getStatistics(1));

    assertThat(samples.opsPerSecond()).isEqualTo(1500);
    // Of 200 calls 98 took 2 us, 2 took 4, 98 took 8 and 2 took 16.
    assertThat(samples.micros(49)).isEqualTo(2);
    assertThat(samples.micros(98)).isEqualTo(8);
    assertThat(samples.micros(100)).isEqualTo(16);
  }

  @Test
  void lookupsOfRefsAreNamedWithTheirTrust() {
    RefsBench.RefsCase scenario =
        new RefsBench.RefsCase(RefsOperation.EXISTING, 500_000, RefsBench.RefsCase.ALWAYS, 1);
    Samples ours = samples(3000, 2_000, 4_000);
    ours.addGarbage(500);
    Samples theirs = samples(1000, 20_000, 512_000);
    theirs.addGarbage(1000);
    List<? extends Record> figures =
        new Comparison<>(scenario, ours, RefsPeer.REF_DIRECTORY, theirs).figures();

    assertThat(figures.get(0))
        .isEqualTo(
            new Figure(
                "exactRef existing, 500k refs, always, 1 thread, vs RefDirectory",
                "ops/s",
                3000,
                1000,
                3));
    assertThat(figures.get(1).toString())
        .contains("name=exactRef existing p50, 500k refs, always, 1 thread, vs RefDirectory,");
    assertThat(figures.get(4))
        .isEqualTo(
            new Figure(
                "exactRef existing garbage, 500k refs, always, 1 thread, vs RefDirectory",
                "B",
                500,
                1000,
                2));
  }

  @Test
  void whatHappensOnceHasAMedianOnly() {
    RefsBench.RefsCase scenario =
        new RefsBench.RefsCase(RefsOperation.FIRST, 2_000_000, RefsBench.RefsCase.ALWAYS, 1);
    assertThat(
            new Comparison<>(
                    scenario, samples(1, 2_000, 4_000), RefsPeer.GIT, samples(1, 20_000, 512_000))
                .figures())
        .containsExactly(
            new Figure("first read, 2M refs, always, 1 thread, vs git", "us", 2, 20, 10));
  }

  @Test
  void whoStillGetsFasterHasNoRatio() {
    CacheBench.CacheCase scenario =
        new CacheBench.CacheCase(CacheBench.CacheCase.Operation.GET, 10 << 10, 8);
    Samples warm = samples(3000, 2_000, 4_000);
    Samples still = samples(3000, 2_000, 4_000);
    still.neverWarm();

    for (List<Samples> both : List.of(List.of(warm, still), List.of(still, warm))) {
      assertThat(
              new Comparison<>(scenario, both.get(0), CachePeer.H2, both.get(1)).figures().get(0))
          .isEqualTo(new Figure.Alone("get, 10 KB, 8 threads, vs H2", "ops/s", 3000));
    }
  }

  @Test
  void whoseCallsWereAllRefusedHasNoFigures() {
    CacheBench.CacheCase scenario =
        new CacheBench.CacheCase(CacheBench.CacheCase.Operation.GET, 10 << 10, 8);
    Samples refused = new Samples();
    refused.refuse("for a test");

    assertThat(
            new Comparison<>(scenario, samples(3000, 2_000, 4_000), CachePeer.H2, refused)
                .figures())
        .isEmpty();
  }

  private static List<Figure> figures(CacheBench.CacheCase.Operation operation, int threads) {
    CacheBench.CacheCase scenario = new CacheBench.CacheCase(operation, 10 << 10, threads);
    return scenario.figures(
        new Comparison<>(
            scenario, samples(3000, 2_000, 4_000), CachePeer.H2, samples(1000, 20_000, 512_000)));
  }

  /** 98 calls of one latency and two of another, in nanoseconds. */
  private static Samples samples(double opsPerSecond, long most, long few) {
    Samples samples = new Samples();
    samples.add(opsPerSecond, buffer(most, few).getStatistics(1));
    return samples;
  }

  private static SampleBuffer buffer(long most, long few) {
    SampleBuffer buffer = new SampleBuffer();
    for (int i = 0; i < 98; i++) {
      buffer.add(most);
    }
    buffer.add(few);
    buffer.add(few);
    return buffer;
  }
}
