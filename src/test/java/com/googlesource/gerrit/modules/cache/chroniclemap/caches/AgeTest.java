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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.cache.Cache;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.SettableFuture;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** {@code maxAge} and {@code refreshAfterWrite}, for values that were made long ago. */
class AgeTest extends SiteTest {
  /** Puts a value on disk as if it had been made some time ago. */
  private static void age(Cache<String, String> cache, String key, String value, Duration age) {
    storeOf(cache)
        .put(
            key.getBytes(UTF_8),
            value.getBytes(UTF_8),
            System.currentTimeMillis() - age.toMillis());
  }

  private static long createdOf(Cache<String, String> cache, String key) {
    Value value = storeOf(cache).read(key.getBytes(UTF_8));
    return value == null ? 0 : value.created();
  }

  @Test
  void maxAgeOfTheConfiguration() throws Exception {
    site.config().setString("cache", "cache", "maxAge", "1 hour");
    LoadingCache<String, String> cache = site.loading(def());
    age(cache, "old", "disk", Duration.ofMinutes(61));
    age(cache, "young", "disk", Duration.ofMinutes(59));
    assertThat(cache.getIfPresent("old")).isNull();
    assertThat(report(cache).disk().counts().expired.sum()).isEqualTo(1);
    assertThat(cache.get("old")).isEqualTo("loaded old");
    assertThat(cache.get("young")).isEqualTo("disk");
    assertThat(cache.getAll(ImmutableList.of("old", "young")))
        .containsExactly("old", "loaded old", "young", "disk");
    assertThat(loader.loads).containsExactly("old");
  }

  @Test
  void maxAgeOfTheDefinition() throws Exception {
    TestCacheDef<String> def = def().expireAfterWrite(Duration.ofHours(1));
    LoadingCache<String, String> cache = site.loading(def);
    age(cache, "old", "disk", Duration.ofMinutes(61));
    age(cache, "young", "disk", Duration.ofMinutes(59));
    assertThat(cache.get("old")).isEqualTo("loaded old");
    assertThat(cache.get("young")).isEqualTo("disk");
    // The configuration's wins.
    site.config().setString("cache", "cache", "maxAge", "10 days");
    site.restart();
    cache = site.loading(def);
    age(cache, "old", "disk", Duration.ofDays(9));
    assertThat(cache.get("old")).isEqualTo("disk");
    // Without any, values are kept for ever.
    LoadingCache<String, String> ageless = site.loading(TestCacheDef.of("ageless").loader(loader));
    age(ageless, "old", "disk", Duration.ofDays(4000));
    assertThat(ageless.get("old")).isEqualTo("disk");
  }

  /** The heap tier counts from the moment a value came to the heap, the cache from its making. */
  @Test
  void aValueFromDiskDoesNotBecomeYoungOnTheHeap() throws Exception {
    site.config().setString("cache", "cache", "maxAge", "20 s");
    LoadingCache<String, String> cache = site.loading(def());
    age(cache, "a", "disk", Duration.ofSeconds(19));
    long made = System.currentTimeMillis();
    long expires = made + 1000;
    while (System.currentTimeMillis() <= expires) {
      // As long as it is found it is on the heap, whose own clock would keep it until made + 20 s.
      var unused = cache.getIfPresent("a");
      Thread.onSpinWait();
    }
    assertThat(cache.getIfPresent("a")).isNull();
    assertThat(cache.get("a")).isEqualTo("loaded a");
    assertThat(System.currentTimeMillis()).isLessThan(made + 20_000);
  }

  @Test
  void refreshAfterWriteRenewsAnOldValueOfTheDisk() throws Exception {
    site.config().setString("cache", "cache", "refreshAfterWrite", "1 hour");
    LoadingCache<String, String> cache = site.loading(def());
    age(cache, "old", "disk", Duration.ofMinutes(61));
    age(cache, "young", "disk", Duration.ofMinutes(59));
    assertThat(cache.get("old")).isEqualTo("disk");
    // The refresh ran in this thread, but its value is for the next one.
    assertThat(loader.loads).containsExactly("old");
    assertThat(cache.get("old")).isEqualTo("loaded old");
    assertThat(cache.get("young")).isEqualTo("disk");
    assertThat(loader.loads).containsExactly("old");
    site.restart();
    cache = site.loading(def());
    assertThat(cache.get("old")).isEqualTo("loaded old");
    assertThat(createdOf(cache, "old"))
        .isGreaterThan(System.currentTimeMillis() - Duration.ofMinutes(10).toMillis());
    assertThat(loader.loads).containsExactly("old");
  }

  @Test
  void refreshAfterWriteOfTheDefinition() throws Exception {
    LoadingCache<String, String> cache = site.loading(def().refreshAfterWrite(Duration.ofHours(1)));
    age(cache, "old", "disk", Duration.ofMinutes(61));
    assertThat(cache.getAll(ImmutableList.of("old"))).containsExactly("old", "disk");
    assertThat(cache.getAll(ImmutableList.of("old"))).containsExactly("old", "loaded old");
  }

  @Test
  void aRefreshThatFailsKeepsTheValue() throws Exception {
    CountingLoader failing =
        new CountingLoader(
            (key, count) -> {
              throw new IOException("source is down");
            });
    LoadingCache<String, String> cache =
        site.loading(def().loader(failing).refreshAfterWrite(Duration.ofHours(1)));
    age(cache, "old", "disk", Duration.ofMinutes(61));
    assertThat(cache.get("old")).isEqualTo("disk");
    assertThat(cache.get("old")).isEqualTo("disk");
    assertThat(failing.loads).hasSize(2);
  }

  @Test
  void aRefreshThatFindsNothingNeverAnswersNull() throws Exception {
    CountingLoader empty = new CountingLoader((key, count) -> count == 1 ? null : "second");
    LoadingCache<String, String> cache =
        site.loading(def().loader(empty).refreshAfterWrite(Duration.ofHours(1)));
    age(cache, "old", "disk", Duration.ofMinutes(61));
    assertThat(cache.get("old")).isEqualTo("disk");
    assertThat(cache.get("old")).isAnyOf("disk", "second");
    assertThat(report(cache).serializerErrors()).isEqualTo(0);
  }

  /** A source whose reloads take as long as the test wants. */
  private static final class SlowReloads extends CountingLoader {
    final CountDownLatch begun = new CountDownLatch(1);
    final SettableFuture<String> reloaded = SettableFuture.create();

    @Override
    public ListenableFuture<String> reload(String key, String old) {
      begun.countDown();
      return reloaded;
    }

    /** Begins a refresh, and ends it with a value after something else was done to the cache. */
    void during(LoadingCache<String, String> cache, Runnable change, String value)
        throws Exception {
      CompletableFuture<Void> refresh = CompletableFuture.runAsync(() -> cache.refresh("a"));
      assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
      change.run();
      reloaded.set(value);
      refresh.get(30, TimeUnit.SECONDS);
    }
  }

  @Test
  void aChangeWhileARefreshIsOnItsWayWins() throws Exception {
    for (boolean isPut : new boolean[] {false, true}) {
      SlowReloads slow = new SlowReloads();
      LoadingCache<String, String> cache = site.loading(def().loader(slow));
      String before = cache.get("a");
      slow.source.put("a", "after " + isPut);
      slow.during(
          cache, isPut ? () -> cache.put("a", "after true") : () -> cache.invalidate("a"), before);
      assertThat(cache.get("a")).isEqualTo("after " + isPut);
      site.restart();
      assertThat(site.loading(def().loader(slow)).get("a")).isEqualTo("after " + isPut);
    }
  }

  /** The refresh that the old value caused must not have the new one taken for valid. */
  @Test
  void aRefreshThatWasOvertakenIsNotConfirmedByTheNextOne() throws Exception {
    AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
    AtomicBoolean overtaken = new AtomicBoolean();
    AtomicBoolean fails = new AtomicBoolean();
    AtomicReference<String> value = new AtomicReference<>("old");
    CountingLoader source =
        new CountingLoader(
            (key, count) -> {
              String loaded = value.get();
              if (count == 2) {
                value.set("new");
                self.get().invalidate("a");
                overtaken.set(true);
              } else if (fails.get()) {
                throw new IOException("source is down");
              }
              return loaded;
            });
    self.set(site.loading(def().loader(source).refreshAfterWrite(Duration.ofNanos(1))));
    assertThat(self.get().get("a")).isEqualTo("old");
    // This read computes the value anew, which an invalidation overtakes.
    var unused = self.get().get("a");
    assertThat(overtaken.get()).isTrue();
    fails.set(true);
    try {
      assertThat(self.get().get("a")).isEqualTo("new");
    } catch (ExecutionException e) {
      // There is no value, as its source is down.
      assertThat(e).hasCauseThat().hasMessageThat().isEqualTo("source is down");
    }
  }
}
