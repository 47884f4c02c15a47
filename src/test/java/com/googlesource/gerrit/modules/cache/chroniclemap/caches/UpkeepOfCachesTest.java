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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static com.google.common.truth.Truth.assertThat;

import com.google.common.cache.Cache;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What an administrator has done to a cache by its name. */
class UpkeepOfCachesTest extends SiteTest {
  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.walk(temp)) {
      return files.sorted().toList();
    }
  }

  @Test
  void withoutAFolderAllIsInMemoryOnly() throws Exception {
    List<Path> before = files();
    site.config().unset("cache", null, "directory");
    site.restart();
    Cache<String, String> cache = site.build(TestCacheDef.of("c"));
    cache.put("a", "b");
    assertThat(cache.getIfPresent("a")).isEqualTo("b");
    assertThat(site.inventory().memoryOnlyReason().get()).contains("cache.directory is not set");
    assertThat(site.inventory().reports()).isEmpty();
    assertThat(files()).isEqualTo(before);
  }

  @Test
  void aVerifyThatIsInterruptedSaysThatItIsNotComplete() throws Exception {
    Cache<String, String> cache = site.build(TestCacheDef.of("a"));
    cache.put("k", "v");
    storeOf(cache).flush();
    Progress interrupting = (done, total) -> Thread.currentThread().interrupt();
    assertThat(site.inventory().verify("a", true, interrupting).complete()).isFalse();
    assertThat(Thread.interrupted()).isTrue();
    VerifyReport report = site.inventory().verify("a", true, Progress.NONE);
    assertThat(report.complete()).isTrue();
    assertThat(report.values()).isEqualTo(1);
    assertThat(site.inventory().verify("unknown", false, Progress.NONE).complete()).isFalse();
  }

  private Latency latency(DiskOperation operation) {
    return site.inventory().reports().get(0).latencies().get(operation);
  }

  @Test
  void theMemoryLimitAndWhatItDrivesOutAreTold() throws Exception {
    site.config().setInt("cache", "a", "memoryLimit", 10);
    Cache<String, String> cache = site.build(TestCacheDef.of("a"));
    for (int i = 0; i < 100; i++) {
      String value = "v" + i;
      assertThat(cache.get("k" + i, () -> value)).isEqualTo(value);
    }
    cache.cleanUp();
    CacheReport report = site.inventory().reports().get(0);
    assertThat(report.memoryLimit()).isEqualTo(10);
    assertThat(report.heap().evictionCount()).isEqualTo(90);
    assertThat(report.heap().totalLoadTime()).isGreaterThan(0);
  }

  /** Each put is, the others are now and then; a reader who finds nothing is not. */
  @Test
  void putsReadsAndSerializersAreTimed() {
    site.config().setInt("cache", "a", "memoryLimit", 0);
    Cache<String, String> cache = site.build(TestCacheDef.of("a"));
    DiskTier<String, String> disk = ((ChronicleMapCache<String, String>) cache).disk;
    DiskKey<String> key = disk.key("k");
    for (int i = 0; i < 1000; i++) {
      assertThat(cache.getIfPresent("k")).isNull();
    }
    assertThat(latency(DiskOperation.READ).count()).isEqualTo(0);
    for (int i = 0; i < 1000; i++) {
      cache.put("k", "v");
      assertThat(disk.read(key, disk.ticket(key), true).value).isEqualTo("v");
    }
    assertThat(latency(DiskOperation.PUT).count()).isEqualTo(1000);
    assertThat(latency(DiskOperation.PUT).max()).isGreaterThan(0);
    for (DiskOperation sampled :
        List.of(DiskOperation.READ, DiskOperation.SERIALIZE, DiskOperation.DESERIALIZE)) {
      Latency latency = latency(sampled);
      assertThat(latency.count()).isGreaterThan(0);
      assertThat(latency.count()).isLessThan(1000);
      assertThat(latency.p50()).isGreaterThan(0);
      assertThat(latency.p50()).isAtMost(latency.p99());
      assertThat(latency.p99()).isAtMost(latency.p999());
      assertThat(latency.p999()).isAtMost(latency.max());
    }
    assertThat(latency(DiskOperation.READ).count())
        .isEqualTo(latency(DiskOperation.DESERIALIZE).count());
  }
}
