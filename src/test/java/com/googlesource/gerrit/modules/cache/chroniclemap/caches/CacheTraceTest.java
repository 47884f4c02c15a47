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

import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.server.cancellation.RequestCancelledException;
import com.google.gerrit.server.cancellation.RequestStateContext;
import com.google.gerrit.server.cancellation.RequestStateProvider.Reason;
import com.google.gerrit.server.logging.Metadata;
import com.google.gerrit.server.logging.PerformanceLogContext;
import com.google.gerrit.server.logging.PerformanceLogger;
import com.google.gerrit.server.logging.TraceContext;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Loads are in Gerrit's performance log as those of its own disk caches are. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class CacheTraceTest {
  @TempDir Path temp;

  private record Logged(String operation, Optional<String> cacheName, Optional<String> cacheKey) {}

  private interface Request {
    void run() throws Exception;
  }

  /** What Gerrit's performance log has of a request, in the order in which it ended. */
  private static List<Logged> log(Request request) throws Exception {
    List<Logged> result = new ArrayList<>();
    DynamicSet<PerformanceLogger> loggers = new DynamicSet<>();
    PerformanceLogger logger =
        new PerformanceLogger() {
          @Override
          public void logNanos(
              String operation, long durationNanos, Instant endTime, Metadata metadata) {
            result.add(new Logged(operation, metadata.cacheName(), metadata.cacheKey()));
          }
        };
    var unused = loggers.add("test", logger);
    Config config = new Config();
    config.setBoolean("tracing", null, "performanceLogging", true);
    PerformanceLogContext context = new PerformanceLogContext(config, loggers);
    try (context) {
      request.run();
    }
    return result;
  }

  /** Uses a cache in all ways in which a caller may wait for the disk or for the source. */
  private static void use(TestSite site) throws Exception {
    LoadingCache<String, String> one =
        site.loading(TestCacheDef.of("one").loader(new CountingLoader()));
    Object unused = one.get("absent");
    unused = one.get("absent");
    one.put("c", "v");
    unused = one.get("c");
    unused = one.getIfPresent("d");
    one.invalidate("c");
    unused = one.get("c");
    unused = one.get("e", () -> "called");
    LoadingCache<String, String> many =
        site.loading(TestCacheDef.of("many").loader(new CountingLoader.Bulk()));
    unused = many.getAll(ImmutableList.of("x", "y"));
    unused = many.getAll(ImmutableList.of("x", "y"));
    unused = many.get("z");
    site.settle();
    site.restart();
    LoadingCache<String, String> again =
        site.loading(TestCacheDef.of("one").loader(new CountingLoader()));
    unused = again.get("absent");
    unused = again.getIfPresent("b");
    unused = again.get("f");
  }

  private List<Logged> logOf(TestSite.Backend backend, int memoryLimit) throws Exception {
    try (TestSite site = new TestSite(temp.resolve(backend.name()), backend)) {
      site.config().setInt("cache", "one", "memoryLimit", memoryLimit);
      return log(() -> use(site));
    }
  }

  /** Ours say besides which cache it was. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1024})
  void loadsAreLoggedAsWithH2(int memoryLimit) throws Exception {
    List<Logged> ofH2 =
        logOf(TestSite.Backend.H2, memoryLimit).stream()
            .filter(logged -> !logged.operation().equals("Build bloom filter"))
            // Of the threads that H2 writes in, from Gerrit 3.14 on.
            .filter(logged -> !logged.operation().equals("Runnable"))
            .toList();
    List<Logged> ours = logOf(TestSite.Backend.CHRONICLE, memoryLimit);
    assertThat(ofH2).isNotEmpty();
    assertThat(ours.stream().map(one -> one.operation() + one.cacheKey()).toList())
        .containsExactlyElementsIn(
            ofH2.stream().map(one -> one.operation() + one.cacheKey()).toList())
        .inOrder();
    assertThat(ours.stream().flatMap(one -> one.cacheName().stream()).toList())
        .containsAtLeast("one", "many");
  }

  @Test
  void aRefreshThatLoadsIsLogged() throws Exception {
    try (TestSite site = new TestSite(temp, TestSite.Backend.CHRONICLE)) {
      LoadingCache<String, String> cache =
          site.loading(TestCacheDef.of("cache").loader(new CountingLoader()));
      assertThat(log(() -> cache.refresh("a"))).hasSize(1);
    }
  }

  @Test
  void thereIsATimerOnlyWhereSomebodyLooks() throws Exception {
    CacheTrace trace = new CacheTrace("cache");
    Object key =
        new Object() {
          @Override
          public String toString() {
            throw new AssertionError("described a key for nobody");
          }
        };
    assertThat(trace.loading(key)).isNull();
    assertThat(trace.loading(null)).isNull();
    TraceContext forced = TraceContext.open().forceLogging();
    try (forced) {
      assertThat(trace.loading("a")).isNotNull();
    }
    assertThat(trace.loading(key)).isNull();
  }

  /** Whether it is traced or not, and as with H2. */
  @ParameterizedTest
  @EnumSource(TestSite.Backend.class)
  void aCancelledRequestLoadsNothing(TestSite.Backend backend) throws Exception {
    try (TestSite site = new TestSite(temp, backend)) {
      CountingLoader loader = new CountingLoader();
      LoadingCache<String, String> cache = site.loading(TestCacheDef.of("cache").loader(loader));
      site.config().setInt("cache", "heapless", "memoryLimit", 0);
      LoadingCache<String, String> heapless =
          site.loading(TestCacheDef.of("heapless").loader(loader));
      heapless.put("b", "on disk");
      RequestStateContext cancelled =
          RequestStateContext.open()
              .addRequestStateProvider(
                  onCancelled -> onCancelled.onCancel(Reason.CLIENT_CLOSED_REQUEST, null));
      try (cancelled) {
        Exception e = assertThrows(Exception.class, () -> cache.get("a"));
        assertThat(e).hasCauseThat().isInstanceOf(RequestCancelledException.class);
        e = assertThrows(Exception.class, () -> log(() -> cache.get("a")));
        assertThat(e).hasCauseThat().isInstanceOf(RequestCancelledException.class);
        e = assertThrows(Exception.class, () -> heapless.get("b"));
        assertThat(e).hasCauseThat().isInstanceOf(RequestCancelledException.class);
      }
      assertThat(loader.loads).isEmpty();
      assertThat(cache.get("a")).isEqualTo("loaded a");
    }
  }
}
