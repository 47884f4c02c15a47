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

import com.google.common.base.Throwables;
import com.google.common.cache.Cache;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Keys and values that can't be turned into bytes or back, or that are too large: no request fails.
 */
class SerializerFaultsTest extends SiteTest {
  static Stream<Throwable> failures() {
    return Stream.of(
        new IllegalArgumentException("refused"),
        new NullPointerException(),
        new StackOverflowError(),
        new NoClassDefFoundError("gone"));
  }

  /** Refuses, on write or on read, what contains "bad". */
  private static CacheSerializer<String> refusing(
      Throwable failure, boolean onWrite, boolean onRead) {
    return TestCacheDef.serializer(
        text -> refuse(failure, onWrite, text),
        text -> {
          refuse(failure, onRead, text);
          return text;
        });
  }

  private static void refuse(Throwable failure, boolean isAsked, String text) {
    if (isAsked && text.contains("bad")) {
      Throwables.throwIfUnchecked(failure);
    }
  }

  @ParameterizedTest
  @MethodSource("failures")
  void aValueThatCannotBeWrittenStaysOnTheHeap(Throwable failure) throws Exception {
    TestCacheDef<String> def = def().valueSerializer(refusing(failure, true, false));
    LoadingCache<String, String> cache = site.loading(def);
    loader.source.put("a", "bad");
    assertThat(cache.get("a")).isEqualTo("bad");
    assertThat(cache.get("a")).isEqualTo("bad");
    assertThat(cache.getAll(ImmutableList.of("a", "b")))
        .containsExactly("a", "bad", "b", "loaded b");
    cache.put("c", "bad too");
    assertThat(cache.getIfPresent("c")).isEqualTo("bad too");
    assertThat(loader.loads).containsExactly("a", "b");
    assertThat(report(cache).serializerErrors()).isEqualTo(2);
    site.restart();
    cache = site.loading(def);
    assertThat(cache.getIfPresent("c")).isNull();
    assertThat(cache.get("a")).isEqualTo("bad");
    assertThat(loader.loads).containsExactly("a", "b", "a");
  }

  @Test
  void aValueThatCannotBeWrittenTakesTheOlderOneFromDisk() {
    TestCacheDef<String> def =
        def().valueSerializer(refusing(new ArithmeticException(), true, false));
    LoadingCache<String, String> cache = site.loading(def);
    cache.put("a", "good");
    cache.put("a", "bad");
    assertThat(cache.getIfPresent("a")).isEqualTo("bad");
    site.restart();
    assertThat(site.loading(def).getIfPresent("a")).isNull();
  }

  @Test
  void aRefreshedValueThatIsNotWrittenTakesTheOlderOneFromDisk() throws Exception {
    TestCacheDef<String> def =
        def().valueSerializer(refusing(new ArithmeticException(), true, false));
    for (String refreshed : List.of("bad", "x".repeat(HUGE))) {
      LoadingCache<String, String> cache = site.loading(def);
      cache.put("a", "good");
      loader.source.put("a", refreshed);
      cache.refresh("a");
      assertThat(cache.get("a")).isEqualTo(refreshed);
      site.restart();
      assertThat(site.loading(def).getIfPresent("a")).isNull();
    }
  }

  @ParameterizedTest
  @MethodSource("failures")
  void aValueThatCannotBeReadIsLoadedOnceAndReplaced(Throwable failure) throws Exception {
    for (int memoryLimit : new int[] {0, 1024}) {
      site.config().setInt("cache", "cache", "memoryLimit", memoryLimit);
      Cache<String, String> before = site.build(def());
      before.putAll(Map.of("a", "bad a", "b", "bad b", "c", "bad c", "d", "bad d"));
      site.restart();
      loader.loads.clear();
      TestCacheDef<String> refusing = def().valueSerializer(refusing(failure, false, true));
      LoadingCache<String, String> cache = site.loading(refusing);
      assertThat(cache.get("a")).isEqualTo("loaded a");
      assertThat(cache.getIfPresent("b")).isNull();
      assertThat(cache.get("c", () -> "called")).isEqualTo("called");
      assertThat(cache.getAll(ImmutableList.of("d"))).containsExactly("d", "loaded d");
      assertThat(cache.get("a")).isEqualTo("loaded a");
      assertThat(loader.loads).containsExactly("a", "d");
      // Without a heap tier, a load reads before it waits for others, and again.
      assertThat(report(cache).serializerErrors()).isEqualTo(memoryLimit == 0 ? 7 : 4);
      site.restart();
      assertThat(site.loading(refusing).get("a")).isEqualTo("loaded a");
      assertThat(loader.loads).containsExactly("a", "d");
      site.restart();
    }
  }

  @Test
  void aValueReadAsNothingIsLoaded() throws Exception {
    site.build(def()).put("a", "v");
    site.restart();
    TestCacheDef<String> nothing =
        def().valueSerializer(TestCacheDef.serializer(text -> {}, text -> null));
    LoadingCache<String, String> cache = site.loading(nothing);
    assertThat(cache.getIfPresent("a")).isNull();
    assertThat(cache.get("a")).isEqualTo("loaded a");
    assertThat(loader.loads).containsExactly("a");
  }

  @ParameterizedTest
  @MethodSource("failures")
  void aKeyThatCannotBeWrittenIsKeptOnTheHeap(Throwable failure) throws Exception {
    TestCacheDef<String> def = def().keySerializer(refusing(failure, true, false));
    LoadingCache<String, String> cache = site.loading(def);
    assertThat(cache.getIfPresent("bad")).isNull();
    assertThat(cache.get("bad")).isEqualTo("loaded bad");
    assertThat(cache.get("bad")).isEqualTo("loaded bad");
    assertThat(cache.getAll(ImmutableList.of("bad", "fine"))).hasSize(2);
    assertThat(loader.loads).containsExactly("bad", "fine");
    cache.put("bad", "put");
    assertThat(cache.getIfPresent("bad")).isEqualTo("put");
    cache.refresh("bad");
    assertThat(cache.get("bad")).isEqualTo("loaded bad");
    cache.invalidate("bad");
    assertThat(cache.getIfPresent("bad")).isNull();
    assertThat(report(cache).serializerErrors()).isGreaterThan(0);
    site.restart();
    cache = site.loading(def);
    assertThat(cache.getIfPresent("bad")).isNull();
    assertThat(cache.getIfPresent("fine")).isEqualTo("loaded fine");
  }

  // ---- large values

  private static final int HUGE = 50 << 20;

  @Test
  void aHugeValueIsLeftOutOfASmallStoreAndCounted() throws Exception {
    loader.source.put("huge", "x".repeat(HUGE));
    LoadingCache<String, String> cache = site.loading(def());
    cache.put("huge", "small before");
    cache.invalidate("other");
    assertThat(cache.getIfPresent("huge")).isEqualTo("small before");
    cache.put("huge", "x".repeat(HUGE));
    assertThat(cache.getIfPresent("huge").length()).isEqualTo(HUGE);
    assertThat(report(cache).disk().counts().notStored.sum()).isEqualTo(1);
    site.restart();
    cache = site.loading(def());
    assertThat(cache.getIfPresent("huge")).isNull();
    assertThat(cache.get("huge").length()).isEqualTo(HUGE);
    assertThat(report(cache).disk().counts().notStored.sum()).isEqualTo(1);
    assertThat(report(cache).serializerErrors()).isEqualTo(0);
  }
}
