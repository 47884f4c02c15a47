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

import com.google.common.base.Throwables;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheLoader.InvalidCacheLoadException;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Iterables;
import com.google.common.util.concurrent.ExecutionError;
import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.server.cache.CacheRemovalListener;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.inject.Key;
import com.google.inject.TypeLiteral;
import com.google.inject.util.Types;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What Gerrit's code may rely on with any persistent cache. Runs against H2 as well, so that it is
 * Gerrit's contract and not ours.
 */
@ParameterizedClass
@EnumSource
class CacheContractTest extends SiteTest {
  /** Who keeps the caches, and how. */
  enum Keeper {
    /** The caches in the store, with a heap tier. */
    STORE,
    /** The same with {@code memoryLimit = 0}: every read goes to disk. */
    STORE_WITHOUT_HEAP,
    /** A cache whose values are written a while after they were put. */
    STORE_WITH_DELAY,
    /** Gerrit's own disk caches, which define what is right. */
    H2
  }

  @Parameter Keeper keeper;

  @Override
  TestSite open(Path folder) {
    TestSite opened =
        new TestSite(
            folder, keeper == Keeper.H2 ? TestSite.Backend.H2 : TestSite.Backend.CHRONICLE);
    if (!heapKeepsValues()) {
      opened.config().setInt("cache", "cache", "memoryLimit", 0);
    }
    return opened;
  }

  /** Whether a value just used is still on the heap. */
  private boolean heapKeepsValues() {
    return keeper != Keeper.STORE_WITHOUT_HEAP;
  }

  /** Whether values are computed anew on request; Gerrit's own disk caches refuse that. */
  private boolean mayRefresh() {
    return heapKeepsValues() && keeper != Keeper.H2;
  }

  @Override
  TestCacheDef<String> def() {
    return TestCacheDef.of(keeper == Keeper.STORE_WITH_DELAY ? "git_tags" : "cache");
  }

  LoadingCache<String, String> loading() {
    return site.loading(def().loader(loader));
  }

  Cache<String, String> plain() {
    return site.build(def());
  }

  // ---- get

  @Test
  void getLoadsOnceAndGetIfPresentNever() throws Exception {
    LoadingCache<String, String> cache = loading();
    assertThat(cache.getIfPresent("a")).isNull();
    assertThat(loader.loads).isEmpty();
    assertThat(cache.get("a")).isEqualTo("loaded a");
    site.settle();
    assertThat(cache.get("a")).isEqualTo("loaded a");
    assertThat(cache.getUnchecked("a")).isEqualTo("loaded a");
    assertThat(loader.loads).containsExactly("a");
    assertThat(cache.getIfPresent("a")).isEqualTo("loaded a");
    site.restart();
    loader.source.put("a", "new");
    assertThat(loading().get("a")).isEqualTo("loaded a");
    assertThat(loader.loads).containsExactly("a");
  }

  @Test
  void getWithCallable() throws Exception {
    Cache<String, String> cache = plain();
    assertThat(cache.get("a", () -> "one")).isEqualTo("one");
    site.settle();
    assertThat(cache.get("a", () -> "two")).isEqualTo("one");
    site.restart();
    assertThat(loading().get("a", () -> "three")).isEqualTo("one");
    assertThat(loading().get("b", () -> "called")).isEqualTo("called");
    site.settle();
    assertThat(loading().get("b")).isEqualTo("called");
    assertThat(loader.loads).isEmpty();
  }

  @Test
  void getAndRefreshWithoutALoaderAreRefused() {
    LoadingCache<String, String> cache = (LoadingCache<String, String>) plain();
    assertThrows(UnsupportedOperationException.class, () -> cache.get("a"));
    assertThrows(UnsupportedOperationException.class, () -> cache.getAll(ImmutableList.of("a")));
    assertThrows(UnsupportedOperationException.class, () -> cache.refresh("a"));
  }

  @Test
  void nullKeysAreRefused() {
    LoadingCache<String, String> cache = loading();
    assertThrows(NullPointerException.class, () -> cache.get(null));
    assertThrows(NullPointerException.class, () -> cache.get(null, () -> "v"));
    assertThrows(NullPointerException.class, () -> cache.put(null, "v"));
    assertThat(loader.loads).isEmpty();
  }

  // ---- getIfPresent

  @Test
  void keysOfAnotherTypeAreNotThere() {
    Cache<String, String> cache = plain();
    cache.put("1", "v");
    site.settle();
    Object wrong = 1;
    assertThat(cache.getIfPresent(wrong)).isNull();
    assertThat(cache.getIfPresent(new Object())).isNull();
    cache.invalidate(wrong);
    cache.invalidate(new Object());
    cache.invalidateAll(ImmutableList.of(wrong, 2L));
    assertThat(cache.getIfPresent("1")).isEqualTo("v");
    assertThat(cache.getAllPresent(ImmutableList.of(wrong))).isEmpty();
  }

  @Test
  void getAllPresentFindsBothTiers() {
    plain().put("disk", "d");
    site.restart();
    Cache<String, String> cache = plain();
    cache.put("heap", "h");
    site.settle();
    assertThat(cache.getAllPresent(ImmutableList.of("disk", "heap", "absent")))
        .containsExactly("disk", "d", "heap", "h");
    assertThat(cache.size()).isEqualTo(heapKeepsValues() ? 2 : 0);
  }

  // ---- getAll

  @Test
  void getAllLoadsWhatNoTierHasInOneGo() throws Exception {
    plain().put("disk", "d");
    site.restart();
    CountingLoader.Bulk bulk = new CountingLoader.Bulk();
    LoadingCache<String, String> cache = site.loading(def().loader(bulk));
    cache.put("heap", "h");
    site.settle();
    assertThat(cache.getAll(ImmutableList.of("x", "disk", "y", "heap")))
        .containsExactly("x", "bulk x", "disk", "d", "y", "bulk y", "heap", "h");
    assertThat(bulk.loads).isEmpty();
    assertThat(bulk.bulks).hasSize(1);
    assertThat(bulk.bulks.get(0)).containsExactly("x", "y");
    site.restart();
    CountingLoader.Bulk again = new CountingLoader.Bulk();
    assertThat(site.loading(def().loader(again)).getAll(ImmutableList.of("x", "y")))
        .containsExactly("x", "bulk x", "y", "bulk y");
    assertThat(Iterables.concat(again.bulks)).isEmpty();
  }

  @Test
  void getAllFallsBackToLoad() throws Exception {
    LoadingCache<String, String> cache = loading();
    assertThat(cache.getAll(ImmutableList.of("a", "b", "a")))
        .containsExactly("a", "loaded a", "b", "loaded b");
    assertThat(loader.loads).containsExactly("a", "b");
    site.restart();
    assertThat(loading().getAll(ImmutableList.of("a", "b", "c"))).hasSize(3);
    assertThat(loader.loads).containsExactly("a", "b", "c");
  }

  @Test
  void getAllOfNothing() throws Exception {
    assertThat(loading().getAll(ImmutableList.of())).isEmpty();
    CountingLoader.Bulk bulk = new CountingLoader.Bulk();
    assertThat(site.loading(TestCacheDef.of("bulk").loader(bulk)).getAll(ImmutableList.of()))
        .isEmpty();
    assertThat(Iterables.concat(bulk.bulks)).isEmpty();
  }

  // ---- put

  @Test
  void putReplacesInBothTiers() throws Exception {
    Cache<String, String> cache = plain();
    cache.put("a", "one");
    cache.put("a", "two");
    cache.putAll(ImmutableMap.of("b", "b1", "c", "c1"));
    site.settle();
    assertThat(cache.getIfPresent("a")).isEqualTo("two");
    site.restart();
    assertThat(plain().getAllPresent(ImmutableList.of("a", "b", "c")))
        .containsExactly("a", "two", "b", "b1", "c", "c1");
  }

  // ---- invalidate

  @Test
  void invalidateRemovesFromBothTiers() {
    Cache<String, String> cache = plain();
    cache.putAll(ImmutableMap.of("a", "a1", "b", "b1", "c", "c1", "d", "d1"));
    site.settle();
    cache.invalidate("a");
    cache.invalidate("never there");
    cache.invalidateAll(ImmutableList.of("c", "not there"));
    ImmutableList<String> keys = ImmutableList.of("a", "b", "c", "d");
    assertThat(cache.getAllPresent(keys)).containsExactly("b", "b1", "d", "d1");
    site.restart();
    // What is on disk only.
    plain().invalidate("d");
    assertThat(plain().getAllPresent(keys)).containsExactly("b", "b1");
    site.restart();
    assertThat(plain().getAllPresent(keys)).containsExactly("b", "b1");
  }

  @Test
  void invalidateAllEmptiesBothTiers() throws Exception {
    LoadingCache<String, String> cache = loading();
    for (int i = 0; i < 50; i++) {
      cache.get("key " + i);
    }
    site.settle();
    cache.invalidateAll();
    assertThat(cache.size()).isEqualTo(0);
    loader.loads.clear();
    loader.source.put("key 7", "new");
    assertThat(cache.get("key 7")).isEqualTo("new");
    site.restart();
    assertThat(plain().getIfPresent("key 8")).isNull();
    assertThat(plain().getIfPresent("key 7")).isEqualTo("new");
  }

  // ---- refreshes

  /** Asks for a refresh of key "a"; returns the value that is to be found afterwards. */
  private String refresh(LoadingCache<String, String> cache, String before) {
    loader.source.put("a", "new");
    if (mayRefresh()) {
      cache.refresh("a");
      return "new";
    }
    assertThrows(UnsupportedOperationException.class, () -> cache.refresh("a"));
    return before;
  }

  @Test
  void refreshOfAnAbsentKey() throws Exception {
    LoadingCache<String, String> cache = loading();
    String expected = refresh(cache, "new");
    assertThat(cache.get("a")).isEqualTo(expected);
    assertThat(loader.loads).containsExactly("a");
  }

  @Test
  void refreshOfAValueInUse() throws Exception {
    LoadingCache<String, String> cache = loading();
    assertThat(cache.get("a")).isEqualTo("loaded a");
    site.settle();
    String expected = refresh(cache, "loaded a");
    assertThat(cache.get("a")).isEqualTo(expected);
    site.restart();
    assertThat(plain().getIfPresent("a")).isEqualTo(expected);
  }

  @Test
  void refreshOfWhatIsOnlyOnDisk() throws Exception {
    assertThat(loading().get("a")).isEqualTo("loaded a");
    site.restart();
    LoadingCache<String, String> cache = loading();
    String expected = refresh(cache, "loaded a");
    assertThat(cache.get("a")).isEqualTo(expected);
  }

  @Test
  void refreshOfACacheWithoutDisk() throws Exception {
    site.config().setString("cache", def().name(), "diskLimit", "0");
    LoadingCache<String, String> cache = loading();
    assertThat(cache.get("a")).isEqualTo("loaded a");
    loader.source.put("a", "new");
    cache.refresh("a");
    assertThat(cache.get("a")).isEqualTo("new");
  }

  /** Only where there is an old value to serve meanwhile. */
  @Test
  void aReadRefreshesAnOldValue() throws Exception {
    LoadingCache<String, String> cache =
        site.loading(def().loader(loader).refreshAfterWrite(Duration.ofNanos(1)));
    assertThat(cache.get("a")).isEqualTo("loaded a");
    site.settle();
    loader.source.put("a", "new");
    if (!heapKeepsValues()) {
      assertThat(cache.get("a")).isEqualTo("loaded a");
      assertThat(loader.loads).containsExactly("a");
      return;
    }
    while (!cache.get("a").equals("new")) {
      Thread.onSpinWait();
    }
  }

  // ---- loaders that fail

  private void assertFails(Class<? extends Throwable> wrapped, Throwable cause) {
    CountingLoader failing =
        new CountingLoader(
            (key, count) -> {
              Throwables.throwIfInstanceOf(cause, Error.class);
              throw (Exception) cause;
            });
    LoadingCache<String, String> cache = site.loading(def().loader(failing));
    assertThat(assertThrows(wrapped, () -> cache.get("a"))).hasCauseThat().isSameInstanceAs(cause);
    assertThat(assertThrows(wrapped, () -> cache.get("a", () -> failing.load("a"))))
        .hasCauseThat()
        .isSameInstanceAs(cause);
    assertThat(cache.getIfPresent("a")).isNull();
    site.restart();
  }

  @Test
  void whatALoaderThrowsIsWrappedByItsKind() {
    assertFails(ExecutionException.class, new IOException("checked"));
    assertFails(UncheckedExecutionException.class, new IllegalStateException("unchecked"));
    assertFails(ExecutionError.class, new NoClassDefFoundError("error"));
  }

  @Test
  void aBulkLoadThatLacksAKeyIsRefused() throws Exception {
    LoadingCache<String, String> cache =
        site.loading(def().loader(new CountingLoader.Bulk(keys -> ImmutableMap.of("a", "v"))));
    assertThrows(InvalidCacheLoadException.class, () -> cache.getAll(ImmutableList.of("a", "b")));
  }

  // ---- many at once

  @Test
  void concurrentMissesLoadOnce() throws Exception {
    int threads = 50;
    CountDownLatch allAsked = new CountDownLatch(threads);
    CountingLoader slow =
        new CountingLoader(
            (key, count) -> {
              // Held until all have at least begun; who comes later finds the value.
              assertThat(allAsked.await(30, TimeUnit.SECONDS)).isTrue();
              return "loaded " + key;
            });
    LoadingCache<String, String> cache = site.loading(def().loader(slow));
    Threads.together(
        threads,
        thread -> {
          allAsked.countDown();
          assertThat(cache.get("a")).isEqualTo("loaded a");
        });
    assertThat(slow.loads).containsExactly("a");
  }

  // ---- settings

  @Test
  void aDiskLimitOfTheConfigurationWins() {
    site.config().setString("cache", "other", "diskLimit", "-1");
    assertThat(site.build(TestCacheDef.of("other"))).isNotInstanceOf(PersistentCache.class);
    assertThat(site.build(def().diskLimit(-1))).isNotInstanceOf(PersistentCache.class);
    site.config().setString("cache", def().name(), "diskLimit", "1m");
    assertThat(site.build(def().diskLimit(0))).isInstanceOf(PersistentCache.class);
  }

  @Test
  void diskLimitOfZeroKeepsTheCacheInMemory() throws Exception {
    site.config().setString("cache", def().name(), "diskLimit", "0");
    LoadingCache<String, String> cache = loading();
    assertThat(cache).isNotInstanceOf(PersistentCache.class);
    assertThat(cache.get("a")).isEqualTo("loaded a");
    site.restart();
    assertThat(loading().get("a")).isEqualTo("loaded a");
    assertThat(loader.loads).containsExactly("a", "a");
  }

  @Test
  @SuppressWarnings("rawtypes")
  void removalListenersHearOfInvalidations() {
    List<String> heard = new ArrayList<>();
    DynamicSet<CacheRemovalListener> listeners = site.get(listenersKey());
    CacheRemovalListener<?, ?> listener =
        (plugin, cache, notification) ->
            heard.add(plugin + " " + cache + " " + notification.getKey());
    listeners.add("gerrit", listener);
    Cache<String, String> cache = plain();
    cache.put("a", "v");
    site.settle();
    cache.invalidate("a");
    cache.cleanUp();
    assertThat(heard).containsExactly("gerrit " + def().name() + " a");
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Key<DynamicSet<CacheRemovalListener>> listenersKey() {
    return (Key<DynamicSet<CacheRemovalListener>>)
        Key.get(
            TypeLiteral.get(
                Types.newParameterizedType(DynamicSet.class, CacheRemovalListener.class)));
  }

  // ---- figures

  @Test
  void heapAndDiskFiguresAreTrue() throws Exception {
    LoadingCache<String, String> cache = loading();
    cache.get("a");
    cache.get("b");
    site.restart();
    cache = loading();
    PersistentCache disk = (PersistentCache) cache;
    assertThat(cache.get("a")).isEqualTo("loaded a");
    assertThat(cache.get("a")).isEqualTo("loaded a");
    assertThat(disk.diskStats().size()).isEqualTo(2);
    assertThat(disk.diskStats().space()).isGreaterThan(0);
    int diskReads = heapKeepsValues() ? 1 : 2;
    assertThat(disk.diskStats().hitCount()).isEqualTo(diskReads);
    assertThat(disk.diskStats().requestCount()).isEqualTo(diskReads);
    assertThat(cache.size()).isEqualTo(heapKeepsValues() ? 1 : 0);
    if (heapKeepsValues()) {
      assertThat(cache.stats().hitCount()).isEqualTo(1);
      assertThat(cache.stats().missCount()).isEqualTo(1);
      // A value that is read from disk counts as a load.
      assertThat(cache.stats().loadSuccessCount()).isEqualTo(1);
      assertThat(cache.stats().totalLoadTime()).isGreaterThan(0);
    } else {
      assertThat(cache.get("c")).isEqualTo("loaded c");
      assertThat(disk.diskStats().requestCount()).isEqualTo(3);
      assertThat(cache.stats().loadSuccessCount()).isEqualTo(1);
    }
    Cache<String, String> same = cache;
    Callable<String> failing =
        () -> {
          throw new IOException("failed");
        };
    assertThrows(ExecutionException.class, () -> same.get("fails", failing));
    assertThat(cache.stats().loadExceptionCount()).isEqualTo(1);
  }
}
