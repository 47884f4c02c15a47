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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.common.cache.Cache;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Once an invalidation or a put has returned, nobody who begins later sees the value from before:
 * not from the heap, not from disk, not after a restart. Each test stops a thread that has the old
 * value in its hands, changes the key, and lets the thread go on.
 */
class StaleValueTest extends SiteTest {
  private static final long DEADLINE_SECONDS = 30;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final StopPoint stop = new StopPoint();

  @AfterEach
  void end() {
    stop.goOn.countDown();
    threads.shutdownNow();
  }

  /** Where a thread waits while the test changes the cache. The first to pass is stopped. */
  private static final class StopPoint {
    private final AtomicReference<String> armed = new AtomicReference<>();
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);

    void arm(String where) {
      armed.set(where);
    }

    void pass(String where) {
      String wanted = armed.get();
      if (where.equals(wanted) && armed.compareAndSet(wanted, null)) {
        reached.countDown();
        try {
          assertThat(goOn.await(DEADLINE_SECONDS, SECONDS)).isTrue();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    }

    void awaitReached() throws InterruptedException {
      assertThat(reached.await(DEADLINE_SECONDS, SECONDS)).isTrue();
    }
  }

  private final CountingLoader stopping =
      new CountingLoader() {
        @Override
        public String load(String key) throws Exception {
          String value = super.load(key);
          stop.pass("source was read " + value);
          return value;
        }
      };

  private final CacheSerializer<String> serializer =
      TestCacheDef.serializer(
          value -> stop.pass("write " + value),
          value -> {
            stop.pass("read " + value);
            return value;
          });

  private LoadingCache<String, String> cache(int memoryLimit) {
    site.config().setInt("cache", "cache", "memoryLimit", memoryLimit);
    return site.loading(TestCacheDef.of("cache").loader(stopping).valueSerializer(serializer));
  }

  private <T> Future<T> inThread(Callable<T> task) {
    return threads.submit(task);
  }

  private Future<Void> inThread(Runnable task) {
    return threads.submit(task, null);
  }

  private static <T> T result(Future<T> future) throws Exception {
    return future.get(DEADLINE_SECONDS, SECONDS);
  }

  /**
   * Changes the cache while a thread is stopped. The heap tier may make the change wait for that
   * thread, but the change has reached the disk before it goes on.
   */
  private void changeWhileStopped(LoadingCache<String, String> cache, Runnable change)
      throws Exception {
    stop.awaitReached();
    Ticket ticket = storeOf(cache).ticket("a".getBytes(UTF_8));
    stopping.source.put("a", "new");
    Future<Void> changed = inThread(change);
    await(() -> ticket.hasEnded());
    stop.goOn.countDown();
    result(changed);
    ticket.close();
  }

  private void expect(LoadingCache<String, String> cache, String value) throws Exception {
    assertThat(cache.get("a")).isEqualTo(value);
    assertThat(cache.get("a")).isEqualTo(value);
    assertThat(cache.getIfPresent("a")).isEqualTo(value);
    assertThat(cache.getAll(ImmutableList.of("a"))).containsExactly("a", value);
    site.restart();
    stopping.source.put("a", value);
    assertThat(site.loading(TestCacheDef.of("cache").loader(stopping)).get("a")).isEqualTo(value);
  }

  private static final ImmutableMap<String, Consumer<Cache<String, String>>> CHANGES =
      ImmutableMap.of(
          "invalidate", cache -> cache.invalidate("a"),
          "invalidateAll", Cache::invalidateAll,
          "put", cache -> cache.put("a", "new"));

  /** At which point of a load, and with which memoryLimit, which change overtakes which read. */
  static Stream<Arguments> loadsAndChanges() {
    return Stream.of("source was read old 1024", "source was read old 0", "write old 1024")
        .flatMap(point -> changes(point, "get", "getAll", "callable"));
  }

  static Stream<Arguments> diskReadsAndChanges() {
    return Stream.of("read old 1024", "read old 0")
        .flatMap(point -> changes(point, "get", "getAll", "callable", "getIfPresent"));
  }

  private static Stream<Arguments> changes(String point, String... reads) {
    int space = point.lastIndexOf(' ');
    int memoryLimit = Integer.parseInt(point.substring(space + 1));
    return Stream.of(reads)
        .flatMap(
            read ->
                CHANGES.keySet().stream()
                    .map(
                        change ->
                            Arguments.of(point.substring(0, space), memoryLimit, read, change)));
  }

  private Future<?> read(String how, LoadingCache<String, String> cache) {
    return switch (how) {
      case "get" -> inThread(() -> cache.get("a"));
      case "getAll" -> inThread(() -> cache.getAll(ImmutableList.of("b", "a")));
      case "getIfPresent" -> inThread(() -> cache.getIfPresent("a"));
      case "callable" -> inThread(() -> cache.get("a", () -> stopping.load("a")));
      default -> throw new IllegalArgumentException(how);
    };
  }

  /** Changes the key when a reader is at a point. Returns what the reader was answered with. */
  private Object changeWhile(
      String point, LoadingCache<String, String> cache, String read, String change)
      throws Exception {
    stop.arm(point);
    Future<?> reading = read(read, cache);
    changeWhileStopped(cache, () -> CHANGES.get(change).accept(cache));
    Object answer = result(reading);
    expect(cache, "new");
    return answer;
  }

  /** Also while a loaded value is turned into bytes for the disk. */
  @ParameterizedTest
  @MethodSource("loadsAndChanges")
  void whileAValueIsLoaded(String point, int memoryLimit, String read, String change)
      throws Exception {
    stopping.source.put("a", "old");
    assertThat(changeWhile(point, cache(memoryLimit), read, change)).isNotNull();
  }

  @ParameterizedTest
  @MethodSource("diskReadsAndChanges")
  void whileAValueIsReadFromDisk(String point, int memoryLimit, String read, String change)
      throws Exception {
    cache(memoryLimit).put("a", "old");
    site.restart();
    var unused = changeWhile(point, cache(memoryLimit), read, change);
  }

  /** Which of two puts at once wins is open, but both tiers must agree on it. */
  @Test
  void twoPutsAtOnce() throws Exception {
    LoadingCache<String, String> cache = cache(1024);
    stop.arm("write one");
    Future<Void> one = inThread(() -> cache.put("a", "one"));
    stop.awaitReached();
    cache.put("a", "two");
    assertThat(cache.get("a")).isEqualTo("two");
    stop.goOn.countDown();
    result(one);
    String winner = cache.get("a");
    site.restart();
    assertThat(cache(1024).get("a")).isEqualTo(winner);
    assertThat(stopping.loads).isEmpty();
  }

  @Test
  void aPutThatWasOvertakenByAnInvalidation() throws Exception {
    LoadingCache<String, String> cache = cache(1024);
    stop.arm("write one");
    Future<Void> one = inThread(() -> cache.put("a", "one"));
    stop.awaitReached();
    cache.invalidate("a");
    stop.goOn.countDown();
    result(one);
    // The put ends after the invalidation, so it counts.
    assertThat(cache.getIfPresent("a")).isEqualTo("one");
    cache.invalidate("a");
    assertThat(cache.getIfPresent("a")).isNull();
    site.restart();
    assertThat(cache(1024).getIfPresent("a")).isNull();
  }

  /** Who asks after the invalidation must not be given what a thread from before it loads. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1024})
  void whoComesAfterTheInvalidationDoesNotShareAnEarlierLoad(int memoryLimit) throws Exception {
    LoadingCache<String, String> cache = cache(memoryLimit);
    stopping.source.put("a", "old");
    stop.arm("source was read old");
    Future<String> before = inThread(() -> cache.get("a"));
    stop.awaitReached();
    stopping.source.put("a", "new");
    // Not through the heap tier, which would wait for the load.
    storeOf(cache).remove("a".getBytes(UTF_8));
    AtomicReference<Thread> later = new AtomicReference<>();
    Future<String> after =
        inThread(
            () -> {
              later.set(Thread.currentThread());
              return cache.get("a");
            });
    await(() -> later.get() != null && isWaiting(later.get()));
    stop.goOn.countDown();
    assertThat(result(after)).isEqualTo("new");
    // Its own load began before the invalidation, but after it asked.
    assertThat(result(before)).isAnyOf("old", "new");
    expect(cache, "new");
  }

  private static boolean isWaiting(Thread thread) {
    return switch (thread.getState()) {
      case WAITING, TIMED_WAITING, BLOCKED -> true;
      default -> false;
    };
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1024})
  void aKeyChangedWhileManyAreLoadedIsLoadedOnce(int memoryLimit) throws Exception {
    AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
    CountingLoader.Bulk overtaken =
        new CountingLoader.Bulk() {
          @Override
          public Map<String, String> loadAll(Iterable<? extends String> keys) throws Exception {
            storeOf(self.get()).remove("a".getBytes(UTF_8));
            return super.loadAll(keys);
          }
        };
    site.config().setInt("cache", "cache", "memoryLimit", memoryLimit);
    self.set(site.loading(TestCacheDef.of("cache").loader(overtaken)));
    assertThat(self.get().getAll(ImmutableList.of("a", "b")))
        .containsExactly("a", "bulk a", "b", "bulk b");
    assertThat(overtaken.bulks).hasSize(1);
    assertThat(overtaken.loads).isEmpty();
    // It was answered with, and not kept.
    assertThat(self.get().getAll(ImmutableList.of("a", "b"))).hasSize(2);
    assertThat(overtaken.bulks.get(1)).contains("a");
  }
}
