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
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Callers of one key share one computation, and only those who came while it ran. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class SingleFlightTest {
  private final SingleFlight<Object, String> flights = new SingleFlight<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicInteger computations = new AtomicInteger();

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  private String compute() {
    return "value " + computations.incrementAndGet();
  }

  /** Returns when the task waits for somebody. */
  private Future<String> submitAndAwaitWaiting(Callable<String> task) throws Exception {
    Thread[] waiter = new Thread[1];
    CountDownLatch started = new CountDownLatch(1);
    Future<String> passenger =
        threads.submit(
            () -> {
              waiter[0] = Thread.currentThread();
              started.countDown();
              return task.call();
            });
    started.await();
    while (waiter[0].getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    return passenger;
  }

  @Test
  void oneAfterTheOtherComputeEach() throws Exception {
    assertThat(flights.join("a", this::compute)).isEqualTo("value 1");
    assertThat(flights.join("a", this::compute)).isEqualTo("value 2");
  }

  /** Else a value that was computed before a change would be an answer to who asks after it. */
  @Test
  void aComputationThatBeganBeforeIsNoAnswer() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Future<String> pilot =
        threads.submit(
            () ->
                flights.join(
                    "a",
                    () -> {
                      String old = compute();
                      begun.countDown();
                      goOn.await();
                      return old;
                    }));
    begun.await();
    long since = System.nanoTime();
    Future<String> late = threads.submit(() -> flights.joinSince("a", since, this::compute));
    goOn.countDown();
    assertThat(pilot.get(30, SECONDS)).isEqualTo("value 1");
    assertThat(late.get(30, SECONDS)).isEqualTo("value 2");
  }

  @Test
  void oneThatBeganSinceIsShared() throws Exception {
    long since = System.nanoTime() - 1;
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Future<String> pilot =
        threads.submit(
            () ->
                flights.joinSince(
                    "a",
                    since,
                    () -> {
                      begun.countDown();
                      goOn.await();
                      return compute();
                    }));
    begun.await();
    Future<String> passenger =
        submitAndAwaitWaiting(() -> flights.joinSince("a", since, this::compute));
    goOn.countDown();
    assertThat(pilot.get(30, SECONDS)).isEqualTo("value 1");
    assertThat(passenger.get(30, SECONDS)).isEqualTo("value 1");
  }

  @Test
  void whoComesMeanwhileGetsTheSame() throws Exception {
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
                      return compute();
                    }));
    begun.await();
    Future<String> passenger = submitAndAwaitWaiting(() -> flights.join("a", this::compute));
    assertThat(flights.join("b", this::compute)).isEqualTo("value 1");
    goOn.countDown();
    assertThat(pilot.get(30, SECONDS)).isEqualTo("value 2");
    assertThat(passenger.get(30, SECONDS)).isEqualTo("value 2");
  }

  @Test
  void failuresAreThrownAndForgotten() throws Exception {
    IOException failure = new IOException();
    assertThat(
            assertThrows(
                IOException.class,
                () ->
                    flights.join(
                        "a",
                        () -> {
                          throw failure;
                        })))
        .isSameInstanceAs(failure);
    assertThrows(
        NoClassDefFoundError.class,
        () ->
            flights.join(
                "a",
                () -> {
                  throw new NoClassDefFoundError();
                }));
    assertThat(flights.join("a", this::compute)).isEqualTo("value 1");
  }

  /** A failure may be of the other caller's own, such as a deadline of its request. */
  @Test
  void whoWaitedForAFailureComputes() throws Exception {
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
                      throw new IOException();
                    }));
    begun.await();
    Future<String> passenger = submitAndAwaitWaiting(() -> flights.join("a", this::compute));
    goOn.countDown();
    assertThat(passenger.get(30, SECONDS)).isEqualTo("value 1");
    assertThat(assertThrows(ExecutionException.class, pilot::get))
        .hasCauseThat()
        .isInstanceOf(IOException.class);
  }

  @Test
  void aComputationMayAskForItsOwnKey() throws Exception {
    assertThat(flights.join("a", () -> "outer " + flights.join("a", this::compute)))
        .isEqualTo("outer value 1");
  }

  @Test
  void nothingIsAnAnswer() throws Exception {
    assertThat(flights.join("a", () -> null)).isNull();
  }

  /** A key at whose third look-up, which is its flight's removal, the thread is held up. */
  private static final class SlowKey {
    final AtomicInteger lookups = new AtomicInteger();
    final CountDownLatch passengerIsBack = new CountDownLatch(1);
    volatile Thread pilot;

    @Override
    public int hashCode() {
      if (Thread.currentThread() == pilot && lookups.incrementAndGet() == 2) {
        try {
          // In vain if the passenger can't be back yet, as it should be.
          var unused = passengerIsBack.await(300, MILLISECONDS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
      return 7;
    }

    @Override
    public boolean equals(Object other) {
      return this == other;
    }
  }

  /** Or else it would be given the same, perhaps outdated, value as often as it asks. */
  @Test
  void whoGotAResultDoesNotMeetItAgain() throws Exception {
    SlowKey key = new SlowKey();
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<String> goOn = new CompletableFuture<>();
    Executor executor = threads;
    CompletableFuture<String> pilot =
        CompletableFuture.supplyAsync(
            () -> {
              key.pilot = Thread.currentThread();
              try {
                return flights.join(
                    key,
                    () -> {
                      begun.countDown();
                      return goOn.get(30, SECONDS);
                    });
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            },
            executor);
    begun.await();
    Thread[] waiter = new Thread[1];
    CountDownLatch started = new CountDownLatch(1);
    Future<String> passenger =
        threads.submit(
            () -> {
              waiter[0] = Thread.currentThread();
              started.countDown();
              String first = flights.join(key, this::compute);
              String second = flights.join(key, this::compute);
              key.passengerIsBack.countDown();
              return first + ", " + second;
            });
    started.await();
    while (waiter[0].getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    goOn.complete("old");
    assertThat(passenger.get(30, SECONDS)).isEqualTo("old, value 1");
    assertThat(pilot.get(30, SECONDS)).isEqualTo("old");
  }
}
