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
import com.google.common.util.concurrent.Callables;
import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.extensions.registration.PrivateInternals_DynamicMapImpl;
import com.google.gerrit.extensions.registration.RegistrationHandle;
import com.google.gerrit.server.config.GerritRuntime;
import com.google.gerrit.server.plugins.Plugin;
import com.google.gerrit.server.plugins.ReloadPluginListener;
import com.google.gerrit.server.plugins.ServerPlugin;
import com.google.inject.Key;
import com.google.inject.TypeLiteral;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Caches of plugins, which come and go while the server runs. */
class PluginCachesTest extends SiteTest {
  @Override
  TestCacheDef<String> def() {
    return TestCacheDef.of("plugin.cache");
  }

  private ChronicleMapCache<String, String> build(TestCacheDef<String> def) {
    return (ChronicleMapCache<String, String>) site.build(def);
  }

  /** What Gerrit does when a plugin starts: its caches can be found by the plugin's name. */
  private RegistrationHandle bind(Cache<String, String> cache) {
    PrivateInternals_DynamicMapImpl<Cache<?, ?>> caches =
        (PrivateInternals_DynamicMapImpl<Cache<?, ?>>)
            site.get(Key.get(new TypeLiteral<DynamicMap<Cache<?, ?>>>() {}));
    return caches.put("plugin", "cache", () -> cache);
  }

  /** What Gerrit says of a reload, after the new caches were bound and before the old ones stop. */
  private void sayReloaded() throws Exception {
    // As much of a plugin as the listener looks at.
    Plugin plugin =
        new ServerPlugin(
            "plugin", null, null, null, null, null, null, null, null, GerritRuntime.DAEMON);
    ((ReloadPluginListener) site.factory()).onReloadPlugin(plugin, plugin);
  }

  private static StoreState stateOf(ChronicleMapCache<?, ?> cache) {
    return cache.report().disk().state();
  }

  @Test
  void aPluginThatIsStoppedAndStartedFindsItsValues() throws Exception {
    ChronicleMapCache<String, String> first = build(def());
    RegistrationHandle handle = bind(first);
    first.put("a", "v");
    site.factory().onStop("plugin");
    handle.remove();
    assertThat(stateOf(first)).isEqualTo(StoreState.CLOSED);
    assertThat(site.inventory().reports()).isEmpty();

    ChronicleMapCache<String, String> second = build(def());
    bind(second);
    assertThat(second.getIfPresent("a")).isEqualTo("v");
    assertThat(site.inventory().reports()).hasSize(1);
  }

  /** Whoever still holds a cache of a plugin that is gone has a memory cache. */
  @Test
  void aCacheOfAStoppedPluginStillAnswers() throws Exception {
    ChronicleMapCache<String, String> cache = build(def());
    RegistrationHandle handle = bind(cache);
    cache.put("a", "v");
    site.factory().onStop("plugin");
    handle.remove();
    assertThat(cache.get("a", Callables.returning("loaded"))).isEqualTo("v");
    cache.put("b", "w");
    assertThat(cache.getIfPresent("b")).isEqualTo("w");
    cache.invalidate("b");
    assertThat(cache.getIfPresent("b")).isNull();
    assertThat(cache.get("c", Callables.returning("loaded"))).isEqualTo("loaded");
    cache.invalidateAll();
    assertThat(cache.getIfPresent("c")).isNull();
  }

  /** A reload makes the new caches first, puts them in place, and then stops the old plugin. */
  @Test
  void aReloadLeavesTheNewCacheOpen() throws Exception {
    ChronicleMapCache<String, String> current = build(def());
    RegistrationHandle handle = bind(current);
    current.put("a", "v0");
    for (int reload = 1; reload <= 3; reload++) {
      ChronicleMapCache<String, String> fresh = build(def());
      handle.remove();
      handle = bind(fresh);
      sayReloaded();
      site.factory().onStop("plugin");
      assertThat(fresh.getIfPresent("a")).isEqualTo("v" + (reload - 1));
      fresh.put("a", "v" + reload);
      assertThat(stateOf(fresh)).isEqualTo(StoreState.READY);
      assertThat(site.inventory().reports()).hasSize(1);
      // The figures are those of the cache in use.
      assertThat(site.inventory().reports().get(0).heapEntries()).isEqualTo(1);
      assertThat(site.inventory().reports().get(0).heap()).isEqualTo(fresh.stats());
      current = fresh;
    }
    site.factory().onStop("plugin");
    handle.remove();
    assertThat(stateOf(current)).isEqualTo(StoreState.CLOSED);
    assertThat(site.inventory().reports()).isEmpty();
    site.restart();
    assertThat(build(def()).getIfPresent("a")).isEqualTo("v3");
  }

  /** The old plugin's request gets its value; the new cache is not told an old value. */
  @Test
  void aReloadDuringALoadKeepsNoOldValue() throws Exception {
    CountDownLatch loads = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    ChronicleMapCache<String, String> old = build(def());
    RegistrationHandle handle = bind(old);
    CompletableFuture<String> loading =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return old.get(
                    "a",
                    () -> {
                      loads.countDown();
                      assertThat(goOn.await(30, TimeUnit.SECONDS)).isTrue();
                      return "old";
                    });
              } catch (ExecutionException e) {
                throw new CompletionException(e);
              }
            });
    loads.await();
    ChronicleMapCache<String, String> fresh = build(def());
    handle.remove();
    bind(fresh);
    sayReloaded();
    fresh.invalidate("a");
    site.factory().onStop("plugin");
    assertThat(fresh.get("a", () -> "new")).isEqualTo("new");
    goOn.countDown();
    assertThat(loading.get(30, TimeUnit.SECONDS)).isEqualTo("old");
    assertThat(fresh.getIfPresent("a")).isEqualTo("new");
    site.restart();
    assertThat(build(def()).getIfPresent("a")).isEqualTo("new");
  }

  /** A new release of a plugin may want another limit or age for the same values. */
  @Test
  void aReloadWithOtherLimitsNeverMapsTheFileTwice() throws Exception {
    ChronicleMapCache<String, String> old = build(def());
    RegistrationHandle handle = bind(old);
    old.put("a", "old");
    ChronicleMapCache<String, String> fresh = build(def().diskLimit(8 << 20));
    handle.remove();
    bind(fresh);
    sayReloaded();
    fresh.put("b", "fresh");
    old.put("c", "late");
    site.factory().onStop("plugin");
    assertThat(fresh.getIfPresent("b")).isEqualTo("fresh");
    assertThat(fresh.getIfPresent("a")).isAnyOf("old", null);
    assertThat(stateOf(fresh)).isEqualTo(StoreState.READY);
    site.restart();
    fresh = build(def().diskLimit(8 << 20));
    assertThat(fresh.getIfPresent("b")).isEqualTo("fresh");
    assertThat(fresh.getIfPresent("a")).isEqualTo("old");
  }

  @Test
  void anotherVersionStartsEmptyWhileTheOldOneIsInUse() throws Exception {
    ChronicleMapCache<String, String> old = build(def());
    RegistrationHandle handle = bind(old);
    old.put("a", "old");
    ChronicleMapCache<String, String> fresh = build(def().version(2));
    assertThat(fresh.getIfPresent("a")).isNull();
    fresh.put("a", "fresh");
    assertThat(old.getIfPresent("a")).isEqualTo("old");
    handle.remove();
    bind(fresh);
    sayReloaded();
    site.factory().onStop("plugin");
    assertThat(fresh.getIfPresent("a")).isEqualTo("fresh");
    site.restart();
    assertThat(build(def().version(2)).getIfPresent("a")).isEqualTo("fresh");
  }
}
