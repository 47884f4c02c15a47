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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Kind;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Operation;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random operations of a few threads, then a clean stop and a start, again and again: what is found
 * after the start must be what the operations before it can have left, and nothing else. The files
 * take disk meanwhile, and operations begin while the file is being opened.
 *
 * <p>A longer run: {@code -Drestart.rounds=10000}.
 */
@Timeout(value = 300, threadMode = ThreadMode.SEPARATE_THREAD)
class RestartHistoryTest {
  private static final int ROUNDS = Integer.getInteger("restart.rounds", 300);
  private static final int THREADS = 3;
  private static final int OPERATIONS = 12;

  @TempDir Path temp;

  private final ExecutorService pool = Executors.newFixedThreadPool(THREADS);

  /** One count for all, so that it tells what was before what. */
  private final AtomicInteger clock = new AtomicInteger();

  private CheckedStore store;
  private long growths;

  /** An operation on a key between two moments. */
  private record Event(int key, Kind kind, Answer answer, int begun, int ended) {}

  private interface Call {
    Answer run();
  }

  @AfterEach
  void close() throws Exception {
    pool.shutdownNow();
    store.close();
  }

  @Test
  void aStartFindsWhatTheStopLeft() throws Exception {
    store = new CheckedStore(temp.resolve("stores"));
    int[] before = new int[CheckedStore.KEYS];
    for (int round = 0; round < ROUNDS; round++) {
      List<List<Event>> threads = runAll(round);
      store.checkNothingLost();
      store.restart();
      // Of the next server, which reads all keys while it opens its file, or later.
      List<Event> after = new ArrayList<>();
      for (int key = 0; key < CheckedStore.KEYS; key++) {
        int read = key;
        note(after, key, Kind.READ, () -> store.read(read));
      }
      threads.add(after);
      for (int key = 0; key < CheckedStore.KEYS; key++) {
        assertWithMessage("round %s, key %s, before %s: %s", round, key, before[key], threads)
            .that(historyOf(key, threads).isAllowed(before[key]))
            .isTrue();
        before[key] = after.get(key).answer().found();
      }
      if (store.isFullGrown()) {
        growths += store.growths();
        store.close();
        store = new CheckedStore(temp.resolve("stores"));
        before = new int[CheckedStore.KEYS];
      }
    }
    assertThat(growths + store.growths()).isAtLeast(ROUNDS / 60);
  }

  private List<List<Event>> runAll(int round) throws Exception {
    List<Callable<List<Event>>> tasks = new ArrayList<>();
    for (int thread = 0; thread < THREADS; thread++) {
      Random random = new Random(round * 31L + thread);
      tasks.add(() -> run(random));
    }
    List<List<Event>> threads = new ArrayList<>();
    for (Future<List<Event>> done : pool.invokeAll(tasks)) {
      threads.add(done.get());
    }
    return threads;
  }

  private List<Event> run(Random random) {
    List<Event> events = new ArrayList<>();
    for (int i = 0; i < OPERATIONS; i++) {
      int key = random.nextInt(CheckedStore.KEYS);
      switch (random.nextInt(16)) {
        case 0, 1, 2, 3 -> note(events, key, Kind.PUT, () -> store.put(key));
        case 4, 5, 6 -> note(events, key, Kind.REMOVE, () -> store.remove(key));
        case 7, 8, 9, 10 -> note(events, key, Kind.LOAD, () -> store.load(key));
        case 11, 12, 13 -> note(events, key, Kind.READ, () -> store.read(key));
        case 14 -> store.fill();
        default -> clearOrFlush(events, random);
      }
    }
    return events;
  }

  private void clearOrFlush(List<Event> events, Random random) {
    if (random.nextInt(4) > 0) {
      store.flush();
      return;
    }
    int begun = clock.incrementAndGet();
    Answer answer = store.clear();
    int ended = clock.incrementAndGet();
    for (int key = 0; key < CheckedStore.KEYS; key++) {
      events.add(new Event(key, Kind.REMOVE, answer, begun, ended));
    }
  }

  private void note(List<Event> events, int key, Kind kind, Call call) {
    int begun = clock.incrementAndGet();
    Answer answer = call.run();
    events.add(new Event(key, kind, answer, begun, clock.incrementAndGet()));
  }

  private static KeyHistory historyOf(int key, List<List<Event>> threads) {
    List<List<Event>> mine = new ArrayList<>();
    for (List<Event> events : threads) {
      mine.add(events.stream().filter(event -> event.key() == key).toList());
    }
    List<List<Operation>> all = new ArrayList<>();
    for (List<Event> events : mine) {
      all.add(
          events.stream()
              .map(event -> new Operation(event.kind(), event.answer(), seenBy(event, mine)))
              .toList());
    }
    return new KeyHistory(all);
  }

  private static int[] seenBy(Event event, List<List<Event>> threads) {
    return threads.stream()
        .mapToInt(events -> (int) events.stream().filter(e -> e.ended() < event.begun()).count())
        .toArray();
  }
}
