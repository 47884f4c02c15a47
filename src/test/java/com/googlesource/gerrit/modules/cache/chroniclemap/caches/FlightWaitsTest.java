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
import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** Computations that ask for each other's keys at the same time all end, with the right results. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class FlightWaitsTest {
  private static final long DEADLINE_SECONDS = 30;

  @TempDir Path temp;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final SingleFlight<Object, String> flights = new SingleFlight<>();
  private final SingleFlight<Object, String> others = new SingleFlight<>();

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  private static String result(Future<String> future) throws Exception {
    return future.get(DEADLINE_SECONDS, SECONDS);
  }

  private interface Join {
    String join(Callable<String> computation) throws Exception;
  }

  /**
   * Lets one thread for each key compute it, and when all do, ask for the next one's key.
   *
   * @return how often keys were computed, besides by those threads
   */
  private int inACircle(List<Join> keys) throws Exception {
    CyclicBarrier allCompute = new CyclicBarrier(keys.size());
    AtomicInteger again = new AtomicInteger();
    List<Future<String>> results = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      Join own = keys.get(i);
      Join next = keys.get((i + 1) % keys.size());
      String ownValue = "value " + i;
      String nextValue = "value " + (i + 1) % keys.size();
      results.add(
          threads.submit(
              () ->
                  own.join(
                      () -> {
                        allCompute.await();
                        String asked =
                            next.join(
                                () -> {
                                  again.incrementAndGet();
                                  return nextValue;
                                });
                        return asked.equals(nextValue) ? ownValue : "wrong: " + asked;
                      })));
    }
    for (int i = 0; i < keys.size(); i++) {
      assertThat(result(results.get(i))).isEqualTo("value " + i);
    }
    return again.get();
  }

  /** All but one of a circle wait: it is broken in one place only. */
  @Test
  void aCircleOfTwoKeys() throws Exception {
    assertThat(
            inACircle(
                ImmutableList.of(
                    computation -> flights.join("a", computation),
                    computation -> flights.join("b", computation))))
        .isEqualTo(1);
  }

  @Test
  void aCircleOfThreeKeys() throws Exception {
    assertThat(
            inACircle(
                ImmutableList.of(
                    computation -> flights.join("a", computation),
                    computation -> flights.join("b", computation),
                    computation -> flights.join("c", computation))))
        .isEqualTo(1);
  }

  @Test
  void aCircleOverTwoCaches() throws Exception {
    assertThat(
            inACircle(
                ImmutableList.of(
                    computation -> flights.join("a", computation),
                    computation -> others.join("a", computation))))
        .isEqualTo(1);
  }

  /** A flight that is not good enough is waited for too, until it is gone. */
  @Test
  void aCircleOfWhoWantsNewerResults() throws Exception {
    CountDownLatch bothCompute = new CountDownLatch(2);
    List<Future<String>> results = new ArrayList<>();
    for (String key : ImmutableList.of("a", "b")) {
      String other = key.equals("a") ? "b" : "a";
      results.add(
          threads.submit(
              () ->
                  flights.join(
                      key,
                      () -> {
                        bothCompute.countDown();
                        bothCompute.await();
                        return flights.joinSince(other, System.nanoTime(), () -> other) + key;
                      })));
    }
    assertThat(result(results.get(0))).isEqualTo("ba");
    assertThat(result(results.get(1))).isEqualTo("ab");
  }

  /** A pilot may be held up by what can't be seen here; who waits for it must not be for ever. */
  @Test
  void patienceEnds() throws Exception {
    SingleFlight<Object, String> impatient = new SingleFlight<>(new FlightWaits(Duration.ZERO));
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch otherIsBack = new CountDownLatch(1);
    Future<String> pilot =
        threads.submit(
            () ->
                impatient.join(
                    "a",
                    () -> {
                      begun.countDown();
                      otherIsBack.await();
                      return "pilot's";
                    }));
    begun.await();
    assertThat(impatient.join("a", () -> "mine")).isEqualTo("mine");
    otherIsBack.countDown();
    assertThat(result(pilot)).isEqualTo("pilot's");
  }

  /** Who waited for a flight that has ended is about to go on: that makes no circle. */
  @Test
  void sharingGoesOnAfterACircle() throws Exception {
    aCircleOfTwoKeys();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Future<String> pilot =
        threads.submit(
            () ->
                flights.join(
                    "a",
                    () -> {
                      begun.countDown();
                      goOn.await();
                      return "pilot's";
                    }));
    begun.await();
    Thread[] waiter = new Thread[1];
    CountDownLatch started = new CountDownLatch(1);
    Future<String> passenger =
        threads.submit(
            () -> {
              waiter[0] = Thread.currentThread();
              started.countDown();
              return flights.join("a", () -> "mine");
            });
    started.await();
    while (waiter[0].getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    goOn.countDown();
    assertThat(result(passenger)).isEqualTo("pilot's");
    assertThat(result(pilot)).isEqualTo("pilot's");
  }

  /** Computations that ask for up to three more keys, of any cache, at each of three levels. */
  private String compute(Random random, List<SingleFlight<Object, String>> caches, int depth)
      throws Exception {
    int cache = random.nextInt(caches.size());
    int key = random.nextInt(4);
    String expected = cache + "/" + key;
    Callable<String> computation =
        () -> {
          for (int i = depth == 0 ? 0 : random.nextInt(4); i > 0; i--) {
            var unused = compute(random, caches, depth - 1);
          }
          return expected;
        };
    String found =
        random.nextInt(4) == 0
            ? caches.get(cache).joinSince(key, System.nanoTime(), computation)
            : caches.get(cache).join(key, computation);
    assertThat(found).isEqualTo(expected);
    return found;
  }

  @Test
  void manyThreadsAtRandom() throws Exception {
    List<SingleFlight<Object, String>> caches = ImmutableList.of(flights, others);
    List<Future<Void>> all = new ArrayList<>();
    for (int thread = 0; thread < 16; thread++) {
      Random random = new Random(thread);
      all.add(
          threads.submit(
              () -> {
                for (int i = 0; i < 300; i++) {
                  var unused = compute(random, caches, 3);
                }
                return null;
              }));
    }
    for (Future<Void> one : all) {
      var unused = one.get(DEADLINE_SECONDS, SECONDS);
    }
  }

  /** A cache whose loader asks the other cache, once both loaders run. */
  private static final class AskingLoader extends CountingLoader {
    private final CountDownLatch bothLoad;
    LoadingCache<String, String> other;

    AskingLoader(CountDownLatch bothLoad) {
      this.bothLoad = bothLoad;
    }

    @Override
    public String load(String key) throws Exception {
      String value = super.load(key);
      if (bothLoad.getCount() == 0) {
        return value;
      }
      bothLoad.countDown();
      bothLoad.await();
      return value + ", " + other.get(key).substring(0, "loaded".length());
    }
  }

  /** Of whole caches: what is computed in place of waiting is kept on disk like the rest. */
  @Test
  void loadersThatAskEachOthersCache() throws Exception {
    try (TestSite site = new TestSite(temp, TestSite.Backend.CHRONICLE)) {
      CountDownLatch bothLoad = new CountDownLatch(2);
      AskingLoader ofOne = new AskingLoader(bothLoad);
      AskingLoader ofTwo = new AskingLoader(bothLoad);
      LoadingCache<String, String> one = withoutHeap(site, "one", ofOne);
      LoadingCache<String, String> two = withoutHeap(site, "two", ofTwo);
      ofOne.other = two;
      ofTwo.other = one;
      Future<String> fromOne = threads.submit(() -> one.get("a"));
      Future<String> fromTwo = threads.submit(() -> two.get("a"));
      assertThat(result(fromOne)).isEqualTo("loaded a, loaded");
      assertThat(result(fromTwo)).isEqualTo("loaded a, loaded");
      assertThat(ofOne.loads.size() + ofTwo.loads.size()).isEqualTo(3);
      for (LoadingCache<String, String> cache : ImmutableList.of(one, two)) {
        assertThat(cache.getIfPresent("a")).startsWith("loaded a");
        assertThat(cache.getAll(ImmutableList.of("a")))
            .isEqualTo(ImmutableMap.of("a", cache.get("a")));
      }
      assertThat(ofOne.loads.size() + ofTwo.loads.size()).isEqualTo(3);
    }
  }

  private static LoadingCache<String, String> withoutHeap(
      TestSite site, String name, CountingLoader loader) {
    site.config().setInt("cache", name, "memoryLimit", 0);
    return site.loading(new TestCacheDef(name).loader(loader));
  }
}
