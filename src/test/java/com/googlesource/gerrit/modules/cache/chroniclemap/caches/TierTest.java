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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.cache.CacheLoader.InvalidCacheLoadException;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.gerrit.server.cache.PersistentCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What goes to the heap, what goes to disk, and what the limits of both do. */
class TierTest extends SiteTest {
  @Test
  void whatLeavesTheHeapIsAnsweredFromDisk() throws Exception {
    site.config().setInt("cache", "cache", "memoryLimit", 10);
    LoadingCache<String, String> cache = site.loading(def());
    for (int i = 0; i < 300; i++) {
      assertThat(cache.get("k" + i)).isEqualTo("loaded k" + i);
    }
    cache.cleanUp();
    assertThat(cache.size()).isAtMost(10);
    for (int i = 0; i < 300; i++) {
      assertThat(cache.get("k" + i)).isEqualTo("loaded k" + i);
      assertThat(cache.getIfPresent("k" + i)).isEqualTo("loaded k" + i);
    }
    assertThat(loader.loads).hasSize(300);
    assertThat(((PersistentCache) cache).diskStats().hitCount()).isAtLeast(290L);
    storeOf(cache).flush();
    assertThat(((PersistentCache) cache).diskStats().size()).isEqualTo(300);
  }

  @Test
  void theWeigherSeesPlainValuesAndBoundsTheHeap() throws Exception {
    List<String> weighed = new CopyOnWriteArrayList<>();
    LoadingCache<String, String> cache =
        site.loading(
            def()
                .maximumWeight(1000)
                .weigher(
                    (key, value) -> {
                      weighed.add(key + "=" + value);
                      return value.length();
                    }));
    cache.put("small", "v");
    for (int i = 0; i < 20; i++) {
      cache.put("k" + i, "x".repeat(100));
    }
    cache.cleanUp();
    assertThat(cache.size()).isAtMost(11);
    assertThat(weighed).contains("small=v");
    assertThat(cache.getIfPresent("k0")).hasLength(100);
  }

  @Test
  void changeNotesIsOnDiskUnlessSwitchedOff() throws Exception {
    // Gerrit itself says -1 for this one.
    TestCacheDef<String> notes = TestCacheDef.of("change_notes").diskLimit(-1);
    assertThat(site.build(notes)).isInstanceOf(ChronicleMapCache.class);
    site.config().setString("cache", "change_notes", "diskLimit", "0");
    assertThat(site.build(notes)).isNotInstanceOf(PersistentCache.class);
    site.config().setString("cache", "change_notes", "diskLimit", "-1");
    assertThat(site.build(notes)).isNotInstanceOf(PersistentCache.class);
    site.config().setString("cache", "change_notes", "diskLimit", "1m");
    assertThat(site.build(notes)).isInstanceOf(ChronicleMapCache.class);
  }

  @Test
  void diskLimitTooSmallForAnyFileKeepsTheCacheInMemory() throws Exception {
    LoadingCache<String, String> cache = site.loading(def().diskLimit(65535));
    assertThat(cache).isNotInstanceOf(PersistentCache.class);
    assertThat(cache.get("a")).isEqualTo("loaded a");
  }

  @Test
  void theSmallestDiskLimitHolds() throws Exception {
    LoadingCache<String, String> cache = site.loading(def().diskLimit(65536));
    for (int i = 0; i < 3000; i++) {
      assertThat(cache.get("k" + i)).isEqualTo("loaded k" + i);
    }
    StoreStats stats = report(cache).disk();
    assertThat(stats.diskBytes()).isAtMost(65536);
    assertThat(stats.entries()).isGreaterThan(50);
    assertThat(stats.state()).isEqualTo(StoreState.READY);
    cache.invalidateAll();
    assertThat(report(cache).disk().entries()).isEqualTo(0);
    assertThat(cache.get("k1")).isEqualTo("loaded k1");
  }

  @Test
  void aLoaderWithoutAnAnswerIsRefused() {
    CountingLoader none = new CountingLoader((key, count) -> null);
    LoadingCache<String, String> cache = site.loading(def().loader(none));
    assertThrows(InvalidCacheLoadException.class, () -> cache.get("a"));
    assertThrows(InvalidCacheLoadException.class, () -> cache.get("a", () -> null));
    assertThrows(InvalidCacheLoadException.class, () -> cache.getAll(ImmutableList.of("a", "b")));
    site.config().setInt("cache", "heapless", "memoryLimit", 0);
    LoadingCache<String, String> heapless = site.loading(TestCacheDef.of("heapless").loader(none));
    assertThrows(InvalidCacheLoadException.class, () -> heapless.get("a"));
    assertThrows(InvalidCacheLoadException.class, () -> heapless.get("a", () -> null));
    assertThat(report(cache).disk().entries()).isEqualTo(0);
    assertThat(report(heapless).disk().entries()).isEqualTo(0);
  }

  @Test
  @SuppressWarnings("NullArgumentForNonNullParameter")
  void aNullValueIsRefused() {
    LoadingCache<String, String> cache = site.loading(def());
    cache.put("a", "v");
    assertThrows(NullPointerException.class, () -> cache.put("a", null));
    assertThat(cache.getIfPresent("a")).isEqualTo("v");
    assertThrows(NullPointerException.class, () -> cache.get("a", null));
  }

  @Test
  void aMissAsksTheDiskOnce() throws Exception {
    LoadingCache<String, String> cache = site.loading(def());
    assertThat(cache.getAll(ImmutableList.of("a", "b", "c"))).hasSize(3);
    PersistentCache.DiskStats stats = ((PersistentCache) cache).diskStats();
    assertThat(stats.requestCount()).isEqualTo(3);
    assertThat(stats.hitCount()).isEqualTo(0);
  }

  @Test
  void aLoaderThatAsksForOtherKeys() throws Exception {
    for (int memoryLimit : new int[] {0, 1024}) {
      site.config().setInt("cache", "sum" + memoryLimit, "memoryLimit", memoryLimit);
      AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
      CountingLoader sum =
          new CountingLoader(
              (key, count) -> {
                int n = Integer.parseInt(key);
                int before = n == 0 ? 0 : Integer.parseInt(self.get().get(String.valueOf(n - 1)));
                return String.valueOf(n + before);
              });
      int depth = 40;
      LoadingCache<String, String> cache =
          site.loading(TestCacheDef.of("sum" + memoryLimit).loader(sum));
      self.set(cache);
      assertThat(cache.get(String.valueOf(depth)))
          .isEqualTo(String.valueOf(depth * (depth + 1) / 2));
      assertThat(sum.loads).hasSize(depth + 1);
    }
  }

  @Test
  void loadAllMayAnswerMoreThanAsked() throws Exception {
    CountingLoader generous =
        new CountingLoader.Bulk(keys -> ImmutableMap.of("a", "a1", "extra", "e1"));
    LoadingCache<String, String> cache = site.loading(def().loader(generous));
    assertThat(cache.getAll(ImmutableList.of("a"))).containsEntry("a", "a1");
  }
}
