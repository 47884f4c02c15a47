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
import static com.google.common.truth.Truth.assertWithMessage;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.base.Throwables;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.util.concurrent.ExecutionError;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.SettableFuture;
import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.google.gerrit.server.cancellation.RequestCancelledException;
import com.google.gerrit.server.cancellation.RequestStateProvider.Reason;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Loads that are slow, fail or never end: who waits for them, and what the others are given. */
@ParameterizedClass
@ValueSource(ints = {0, 1024})
class LoadsTest extends SiteTest {
  private static final long DEADLINE_SECONDS = 30;

  @Parameter int memoryLimit;

  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  /** Ends the loads that a test holds. */
  private final CountDownLatch goOn = new CountDownLatch(1);

  @BeforeEach
  void setMemoryLimit() {
    site.config().setInt("cache", "cache", "memoryLimit", memoryLimit);
  }

  @AfterEach
  void end() {
    goOn.countDown();
    threads.shutdownNow();
  }

  /** The first load of key "a" waits until the test ends it. */
  private final class HeldLoader extends CountingLoader {
    final CountDownLatch begun = new CountDownLatch(1);
    final AtomicReference<Thread> thread = new AtomicReference<>();
    private final AtomicBoolean isFirst = new AtomicBoolean(true);

    @Override
    public String load(String key) throws Exception {
      String value = super.load(key);
      if (key.equals("a") && isFirst.getAndSet(false)) {
        thread.set(Thread.currentThread());
        begun.countDown();
        assertThat(goOn.await(DEADLINE_SECONDS, SECONDS)).isTrue();
      }
      return value;
    }
  }

  /** Before, a change ended the loads of all keys with the same one of 1,024 counters. */
  @Test
  void aSlowLoadIsKeptAndSharedWhateverOtherKeysArePut() throws Exception {
    HeldLoader loader = new HeldLoader();
    LoadingCache<String, String> cache = cache(loader);
    Future<String> first = threads.submit(() -> cache.get("a"));
    assertThat(loader.begun.await(DEADLINE_SECONDS, SECONDS)).isTrue();
    for (int i = 0; i < 10_000; i++) {
      cache.put("other " + i, "x");
    }
    Future<String> second = waiting(() -> cache.get("a"));
    goOn.countDown();
    assertThat(result(first)).isEqualTo(result(second));
    assertThat(cache.get("a")).isEqualTo(result(first));
    assertThat(loader.loads).containsExactly("a");
  }

  private LoadingCache<String, String> cache(CacheLoader<String, String> loader) {
    return site.loading(TestCacheDef.of("cache").loader(loader));
  }

  private static <T> T result(Future<T> future) throws Exception {
    return future.get(DEADLINE_SECONDS, SECONDS);
  }

  private static Throwable failure(Future<?> future) {
    return assertThrows(ExecutionException.class, () -> result(future)).getCause();
  }

  /** Runs a task in a thread of its own, and returns once that thread waits for another one. */
  private <T> Future<T> waiting(Callable<T> task) {
    AtomicReference<Thread> thread = new AtomicReference<>();
    return waiting(task, thread);
  }

  private <T> Future<T> waiting(Callable<T> task, AtomicReference<Thread> thread) {
    Future<T> future =
        threads.submit(
            () -> {
              thread.set(Thread.currentThread());
              return task.call();
            });
    while (!future.isDone() && (thread.get() == null || !isWaiting(thread.get()))) {
      Thread.onSpinWait();
    }
    return future;
  }

  private static boolean isWaiting(Thread thread) {
    return switch (thread.getState()) {
      case WAITING, TIMED_WAITING -> true;
      default -> false;
    };
  }

  // ---- who waits for whom

  /** Caffeine's table would let some of these loads begin only after others have ended. */
  @Test
  void loadsOfDifferentKeysNeverWaitForEachOther() throws Exception {
    int keys = 256;
    CyclicBarrier allLoad = new CyclicBarrier(keys);
    LoadingCache<String, String> cache =
        cache(
            new CountingLoader(
                (key, count) -> {
                  allLoad.await(DEADLINE_SECONDS, SECONDS);
                  return "v" + key;
                }));
    List<Future<String>> results = new ArrayList<>();
    for (int i = 0; i < keys; i++) {
      String key = "k" + i;
      results.add(threads.submit(() -> cache.get(key)));
    }
    for (int i = 0; i < keys; i++) {
      assertThat(result(results.get(i))).isEqualTo("vk" + i);
    }
    assertThat(cache.stats().loadSuccessCount()).isEqualTo(keys);
  }

  @Test
  void aLoadThatNeverEndsKeepsNobodyElse() throws Exception {
    HeldLoader held = new HeldLoader();
    LoadingCache<String, String> cache = cache(held);
    Future<String> hanging = threads.submit(() -> cache.get("a"));
    held.begun.await();
    for (int i = 0; i < 1000; i++) {
      assertThat(cache.get("k" + i)).isEqualTo("loaded k" + i);
    }
    assertThat(cache.getIfPresent("a")).isNull();
    assertThat(cache.getAll(ImmutableList.of("k1", "k2"))).hasSize(2);
    assertThat(hanging.isDone()).isFalse();
    // An invalidation does not wait, and who asks after it does not either.
    cache.invalidate("a");
    assertThat(cache.get("a")).isEqualTo("loaded a");
    assertThat(held.loads.stream().filter("a"::equals).count()).isEqualTo(2);
    // Nor does a put.
    cache.put("a", "put");
    assertThat(cache.getIfPresent("a")).isEqualTo("put");
    cache.invalidateAll();
    cache.cleanUp();
    assertThat(hanging.isDone()).isFalse();
    goOn.countDown();
    assertThat(result(hanging)).isEqualTo("loaded a");
    assertThat(cache.getIfPresent("a")).isNull();
  }

  @Test
  void aServerStopsWhileLoadsAreUnderWay() throws Exception {
    HeldLoader held = new HeldLoader();
    LoadingCache<String, String> cache = cache(held);
    Future<String> hanging = threads.submit(() -> cache.get("a"));
    held.begun.await();
    Future<String> waiter = waiting(() -> cache.get("a"));
    site.restart();
    goOn.countDown();
    assertThat(result(hanging)).isEqualTo("loaded a");
    assertThat(result(waiter)).isEqualTo("loaded a");
    assertThat(cache(held).get("a")).isEqualTo("loaded a");
  }

  // ---- loads that fail

  @Test
  void theFailureOfALoadIsThatOfAllWhoWaitForIt() throws Exception {
    for (Throwable cause :
        List.of(
            new IOException("checked"),
            new IllegalStateException("unchecked"),
            new AssertionError("error"))) {
      CountDownLatch fail = new CountDownLatch(1);
      CountingLoader failing =
          new CountingLoader(
              (key, count) -> {
                if (count > 1) {
                  return "second";
                }
                assertThat(fail.await(DEADLINE_SECONDS, SECONDS)).isTrue();
                Throwables.throwIfUnchecked(cause);
                throw (Exception) cause;
              });
      LoadingCache<String, String> cache = cache(failing);
      cache.invalidateAll();
      List<Future<String>> results = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        results.add(waiting(() -> cache.get("a")));
      }
      fail.countDown();
      Class<? extends Throwable> wrapped =
          cause instanceof Error
              ? ExecutionError.class
              : cause instanceof RuntimeException
                  ? UncheckedExecutionException.class
                  : ExecutionException.class;
      for (Future<String> result : results) {
        Throwable thrown = failure(result);
        assertThat(thrown).isInstanceOf(wrapped);
        assertThat(thrown).hasCauseThat().isSameInstanceAs(cause);
      }
      assertThat(failing.loads).hasSize(1);
      assertThat(cache.stats().loadExceptionCount()).isEqualTo(1);
      assertThat(cache.get("a")).isEqualTo("second");
    }
  }

  /** The others' requests were not. */
  @Test
  void aCancelledRequestFailsNoOther() throws Exception {
    Exception failure = new RequestCancelledException(Reason.CLIENT_CLOSED_REQUEST, null);
    CountingLoader failing =
        new CountingLoader(
            (key, count) -> {
              if (count > 1) {
                return "value";
              }
              assertThat(goOn.await(DEADLINE_SECONDS, SECONDS)).isTrue();
              throw failure;
            });
    LoadingCache<String, String> cache = cache(failing);
    Future<String> first = waiting(() -> cache.get("a"));
    List<Future<String>> others = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      others.add(waiting(() -> cache.get("a")));
    }
    goOn.countDown();
    assertThat(Throwables.getCausalChain(failure(first))).contains(failure);
    for (Future<String> other : others) {
      assertThat(result(other)).isEqualTo("value");
    }
    assertThat(failing.loads).hasSize(2);
  }

  @Test
  void aLoaderThatIsInterruptedStaysSo() throws Exception {
    HeldLoader held = new HeldLoader();
    LoadingCache<String, String> cache = cache(held);
    AtomicBoolean isStill = new AtomicBoolean();
    Future<String> interrupted =
        threads.submit(
            () -> {
              try {
                return cache.get("a");
              } finally {
                isStill.set(Thread.interrupted());
              }
            });
    held.begun.await();
    Future<String> other = waiting(() -> cache.get("a"));
    held.thread.get().interrupt();
    assertThat(failure(interrupted)).hasCauseThat().isInstanceOf(InterruptedException.class);
    assertThat(isStill.get()).isTrue();
    assertThat(result(other)).isEqualTo("loaded a");
  }

  @Test
  void anInterruptedWaiterWaitsOn() throws Exception {
    HeldLoader held = new HeldLoader();
    LoadingCache<String, String> cache = cache(held);
    Future<String> first = threads.submit(() -> cache.get("a"));
    held.begun.await();
    AtomicReference<Thread> waiter = new AtomicReference<>();
    AtomicBoolean isStill = new AtomicBoolean();
    Future<String> second =
        waiting(
            () -> {
              String value = cache.get("a");
              isStill.set(Thread.interrupted());
              return value;
            },
            waiter);
    waiter.get().interrupt();
    goOn.countDown();
    assertThat(result(second)).isEqualTo("loaded a");
    assertThat(isStill.get()).isTrue();
    assertThat(result(first)).isEqualTo("loaded a");
    assertThat(held.loads).containsExactly("a");
  }

  // ---- loaders that use the cache

  @Test
  void aLoaderThatInvalidatesItsKeyIsAnsweredWithOnce() throws Exception {
    AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
    CountingLoader loader =
        new CountingLoader(
            (key, count) -> {
              self.get().invalidate(key);
              return "v" + count;
            });
    self.set(cache(loader));
    assertThat(self.get().get("a")).isEqualTo("v1");
    assertThat(self.get().getIfPresent("a")).isNull();
    assertThat(self.get().get("a")).isEqualTo("v2");
    assertThat(self.get().get("a", () -> loader.load("a"))).isEqualTo("v3");
    assertThat(loader.loads).hasSize(3);
  }

  @Test
  void aLoaderThatPutsItsKeyIsOvertaken() throws Exception {
    AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
    self.set(
        cache(
            new CountingLoader(
                (key, count) -> {
                  self.get().put(key, "put");
                  return "loaded";
                })));
    assertThat(self.get().get("a")).isAnyOf("put", "loaded");
    assertThat(self.get().get("a")).isEqualTo("put");
    site.restart();
    assertThat(cache(loader).get("a")).isEqualTo("put");
  }

  @Test
  void aLoaderThatAsksForItsOwnKeyIsRefused() {
    AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
    CountingLoader recursive =
        new CountingLoader(
            (key, count) -> {
              if (key.equals("changed")) {
                // So that its own load is out of date.
                self.get().invalidate(key);
              }
              return self.get().get(key);
            });
    self.set(cache(recursive));
    for (String key : List.of("a", "changed")) {
      Exception e = assertThrows(UncheckedExecutionException.class, () -> self.get().get(key));
      assertThat(Throwables.getRootCause(e)).isInstanceOf(IllegalStateException.class);
      assertThat(Throwables.getRootCause(e)).hasMessageThat().contains("key " + key);
    }
    assertThat(recursive.loads).containsExactly("a", "changed");
  }

  /** Each needs the value of the next one, so none can have a value; but none waits for ever. */
  @Test
  void loadersThatAskForEachOthersKeysAreRefused() throws Exception {
    for (int size = 2; size <= 5; size++) {
      int keys = size;
      CyclicBarrier allLoad = new CyclicBarrier(keys);
      ConcurrentHashMap<String, Boolean> begun = new ConcurrentHashMap<>();
      List<LoadingCache<String, String>> caches = new ArrayList<>();
      for (int i = 0; i < keys; i++) {
        int next = (i + 1) % keys;
        String name = "circle" + keys + i;
        site.config().setInt("cache", name, "memoryLimit", memoryLimit);
        caches.add(
            site.loading(
                TestCacheDef.of(name)
                    .loader(
                        new CountingLoader(
                            (key, count) -> {
                              if (begun.putIfAbsent(name, true) == null) {
                                allLoad.await(DEADLINE_SECONDS, SECONDS);
                              }
                              return caches.get(next).get("k");
                            }))));
      }
      List<Future<String>> results = new ArrayList<>();
      for (LoadingCache<String, String> cache : caches) {
        results.add(threads.submit(() -> cache.get("k")));
      }
      for (Future<String> result : results) {
        assertThat(Throwables.getRootCause(failure(result)))
            .isInstanceOf(IllegalStateException.class);
      }
    }
  }

  /** Two bulk loads which ask for one key of the other each: no value needs itself. */
  @Test
  void aCircleThatOnlyBulkLoadsMakeIsNone() throws Exception {
    AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
    CyclicBarrier bothLoad = new CyclicBarrier(2);
    CountingLoader bulk =
        new CountingLoader.Bulk(
            list -> {
              bothLoad.await(DEADLINE_SECONDS, SECONDS);
              String other = self.get().get(list.contains("a") ? "d" : "b");
              return ImmutableMap.of(list.get(0), "bulk " + other, list.get(1), "bulk " + other);
            });
    self.set(cache(bulk));
    Future<ImmutableMap<String, String>> one =
        threads.submit(() -> self.get().getAll(ImmutableList.of("a", "b")));
    Future<ImmutableMap<String, String>> two =
        threads.submit(() -> self.get().getAll(ImmutableList.of("c", "d")));
    assertThat(result(one)).hasSize(2);
    assertThat(result(two)).hasSize(2);
  }

  @Test
  void aBulkLoaderMayAskForItsKeysOneByOne() throws Exception {
    AtomicReference<LoadingCache<String, String>> self = new AtomicReference<>();
    CountingLoader bulk =
        new CountingLoader.Bulk(
            keys -> {
              ImmutableMap.Builder<String, String> result = ImmutableMap.builder();
              for (String key : keys) {
                result.put(key, self.get().get(key));
              }
              return result.buildOrThrow();
            });
    self.set(cache(bulk));
    assertThat(self.get().getAll(ImmutableList.of("a", "b")))
        .containsExactly("a", "loaded a", "b", "loaded b");
    assertThat(bulk.loads).containsExactly("a", "b");
  }

  // ---- many keys at once

  /** A loader whose bulk operation waits, if it is for key "a". */
  private class HeldBulkLoader extends CountingLoader.Bulk {
    final CountDownLatch begun = new CountDownLatch(1);

    @Override
    public Map<String, String> loadAll(Iterable<? extends String> keys) throws Exception {
      Map<String, String> values = super.loadAll(keys);
      if (values.containsKey("a")) {
        begun.countDown();
        assertThat(goOn.await(DEADLINE_SECONDS, SECONDS)).isTrue();
      }
      return values;
    }
  }

  @Test
  void singleAndBulkLoadsWaitForABulkLoad() throws Exception {
    HeldBulkLoader bulk = new HeldBulkLoader();
    LoadingCache<String, String> cache = cache(bulk);
    Future<ImmutableMap<String, String>> first =
        threads.submit(() -> cache.getAll(ImmutableList.of("a", "b")));
    bulk.begun.await();
    Future<String> single = waiting(() -> cache.get("b"));
    Future<ImmutableMap<String, String>> second =
        waiting(() -> cache.getAll(ImmutableList.of("b", "c")));
    // The other one's own key is there, though its bulk load waits for "b".
    assertThat(cache.get("c")).isEqualTo("bulk c");
    goOn.countDown();
    assertThat(result(first)).containsExactly("a", "bulk a", "b", "bulk b");
    assertThat(result(single)).isEqualTo("bulk b");
    assertThat(result(second)).containsExactly("b", "bulk b", "c", "bulk c");
    assertThat(bulk.loads).isEmpty();
    assertThat(bulk.bulks).containsExactly(ImmutableList.of("a", "b"), ImmutableList.of("c"));
  }

  @Test
  void aBulkLoadWaitsForASingleOne() throws Exception {
    CountDownLatch loadsB = new CountDownLatch(1);
    HeldBulkLoader bulk =
        new HeldBulkLoader() {
          @Override
          public String load(String key) throws Exception {
            loadsB.countDown();
            assertThat(goOn.await(DEADLINE_SECONDS, SECONDS)).isTrue();
            return super.load(key);
          }
        };
    LoadingCache<String, String> cache = cache(bulk);
    Future<String> single = threads.submit(() -> cache.get("b"));
    loadsB.await();
    Future<ImmutableMap<String, String>> all =
        waiting(() -> cache.getAll(ImmutableList.of("b", "c")));
    goOn.countDown();
    assertThat(result(single)).isEqualTo("loaded b");
    assertThat(result(all)).containsExactly("b", "loaded b", "c", "bulk c");
    assertThat(bulk.loads).containsExactly("b");
    assertThat(bulk.bulks).containsExactly(ImmutableList.of("c"));
  }

  @Test
  void aBulkLoadThatFailsFailsNoSingleLoad() throws Exception {
    AtomicBoolean fails = new AtomicBoolean(true);
    IOException cause = new IOException("bulk");
    HeldBulkLoader bulk =
        new HeldBulkLoader() {
          @Override
          public Map<String, String> loadAll(Iterable<? extends String> keys) throws Exception {
            Map<String, String> result = super.loadAll(keys);
            if (fails.get()) {
              throw cause;
            }
            return result;
          }
        };
    LoadingCache<String, String> cache = cache(bulk);
    Future<ImmutableMap<String, String>> all =
        threads.submit(() -> cache.getAll(ImmutableList.of("a", "b")));
    bulk.begun.await();
    Future<String> single = waiting(() -> cache.get("b"));
    goOn.countDown();
    assertThat(failure(all)).hasCauseThat().isSameInstanceAs(cause);
    // Another key may be to blame.
    assertThat(result(single)).isEqualTo("loaded b");
    fails.set(false);
    assertThat(cache.getAll(ImmutableList.of("a", "b"))).hasSize(2);
    assertThat(bulk.loads).containsExactly("b");
  }

  // ---- values that are out of date

  /** Keys without a stored form, and servers that do not change their disk caches. */
  private void assertInvalidationWins(TestCacheDef<String> def) throws Exception {
    HeldLoader held = new HeldLoader();
    held.source.put("a", "old");
    LoadingCache<String, String> cache = site.loading(def.loader(held));
    Future<String> before = threads.submit(() -> cache.get("a"));
    held.begun.await();
    held.source.put("a", "new");
    cache.invalidate("a");
    goOn.countDown();
    assertThat(result(before)).isEqualTo("old");
    assertThat(cache.get("a")).isEqualTo("new");
  }

  @Test
  void anInvalidationDuringALoadWinsForKeysThatAreNotStored() throws Exception {
    CacheSerializer<String> failing =
        TestCacheDef.serializer(
            key -> {
              throw new IllegalArgumentException("cannot be stored: " + key);
            },
            key -> key);
    assertInvalidationWins(TestCacheDef.of("cache").keySerializer(failing));
  }

  @Test
  void anInvalidationDuringALoadWinsWhileTheDiskIsReadOnly() throws Exception {
    site.readOnly().set(true);
    assertInvalidationWins(TestCacheDef.of("cache"));
  }

  /** Who has asked before the change ended may be given the value from before, and no new load. */
  @Test
  void whoWaitsWhenTheKeyChangesDoesNotLoadAgain() throws Exception {
    HeldLoader held = new HeldLoader();
    LoadingCache<String, String> cache = cache(held);
    List<Future<String>> results = new ArrayList<>();
    results.add(threads.submit(() -> cache.get("a")));
    held.begun.await();
    for (int i = 0; i < 20; i++) {
      results.add(waiting(() -> cache.get("a")));
    }
    cache.invalidate("a");
    goOn.countDown();
    for (Future<String> result : results) {
      assertThat(result(result)).isEqualTo("loaded a");
    }
    assertThat(held.loads).containsExactly("a");
    assertThat(cache.getIfPresent("a")).isNull();
  }

  // ---- refreshes

  @Test
  void theOldValueIsServedWhileARefreshIsUnderWay() throws Exception {
    if (memoryLimit == 0) {
      // There is no old value to serve, so nothing is refreshed.
      return;
    }
    SettableFuture<String> reloaded = SettableFuture.create();
    List<String> reloads = new ArrayList<>();
    CountDownLatch begun = new CountDownLatch(1);
    CountingLoader slow =
        new CountingLoader() {
          @Override
          public ListenableFuture<String> reload(String key, String old) {
            reloads.add(key);
            begun.countDown();
            return reloaded;
          }
        };
    // Gerrit's default: refreshes run in threads of their own.
    site.config().unset("cache", null, "threads");
    site.restart();
    LoadingCache<String, String> cache = cache(slow);
    assertThat(cache.get("a")).isEqualTo("loaded a");
    cache.refresh("a");
    begun.await();
    for (int i = 0; i < 100; i++) {
      cache.refresh("a");
      assertThat(cache.get("a")).isEqualTo("loaded a");
    }
    reloaded.set("new");
    while (!cache.get("a").equals("new")) {
      Thread.onSpinWait();
    }
    assertWithMessage("reloads").that(reloads).containsExactly("a");
  }
}
