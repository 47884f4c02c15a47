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
import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Kind;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Operation;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/**
 * Random operations of a few threads, then a clean stop and a start, again and again: what is found
 * after the start must be what the operations before it can have left, and nothing else. The files
 * take disk meanwhile, and operations begin while the file is being opened.
 *
 * <p>A longer run: {@code -Drestart.rounds=10000}.
 */
@Timeout(value = 300, threadMode = ThreadMode.SEPARATE_THREAD)
class RestartHistoryTest extends FolderTest {
  private static final int ROUNDS = Integer.getInteger("restart.rounds", 300);
  private static final int THREADS = 3;
  private static final int OPERATIONS = 12;

  /** Keys that operations are about. */
  private static final int KEYS = 3;

  private static final long LIMIT = 16 << 20;
  private static final StoreSettings SETTINGS = settings("cache", LIMIT);
  private static final Answer CHANGED = new Answer(KeyHistory.NONE, KeyHistory.NONE, true);

  private final ExecutorService pool = Executors.newFixedThreadPool(THREADS);

  /** One count for all, so that it tells what was before what. */
  private final AtomicInteger clock = new AtomicInteger();

  /** Each is put once, in whatever store: one that comes back must be seen. */
  private final AtomicInteger values = new AtomicInteger();

  private final AtomicInteger fillers = new AtomicInteger();

  /** How often {@link #fill} had the file take disk. */
  private final AtomicInteger growths = new AtomicInteger();

  /** An operation on a key between two moments. */
  private record Event(int key, Kind kind, Answer answer, int begun, int ended) {}

  @AfterEach
  void stop() {
    pool.shutdownNow();
  }

  @Test
  void aStartFindsWhatTheStopLeft() throws Exception {
    start(SETTINGS);
    int[] before = new int[KEYS];
    for (int round = 0; round < ROUNDS; round++) {
      List<List<Event>> threads = runAll(round);
      checkNothingLost();
      boolean isSure = stopOfAll();
      begin(Disk.REAL, SETTINGS);
      // Of the next server, which reads all keys while it opens its file, or later.
      List<Event> after = new ArrayList<>();
      for (int key = 0; key < KEYS; key++) {
        int read = key;
        note(after, key, Kind.READ, () -> readOfNext(read));
      }
      threads.add(after);
      for (int key = 0; key < KEYS; key++) {
        assertWithMessage("round %s, key %s, before %s: %s", round, key, before[key], threads)
            .that(!isSure || historyOf(key, threads).isAllowed(before[key]))
            .isTrue();
        before[key] = after.get(key).answer().found();
      }
      if (store.stats().diskBytes() > LIMIT * 3 / 4) {
        directory.close();
        MoreFiles.deleteRecursively(folder(), RecursiveDeleteOption.ALLOW_INSECURE);
        start(SETTINGS);
        before = new int[KEYS];
      }
    }
    assertThat(growths.get()).isAtLeast(ROUNDS / 60);
  }

  /**
   * Stops; returns whether all that was queued was surely written: a stop spends 0.4 seconds on
   * that, in which a busy machine may do something else.
   */
  private boolean stopOfAll() {
    boolean isQueued = store.stats().queued() > 0;
    long begun = System.nanoTime();
    directory.close();
    return !isQueued || System.nanoTime() - begun < TimeUnit.MILLISECONDS.toNanos(400);
  }

  /** The histories know of no loss. */
  private void checkNothingLost() {
    StoreStats stats = store.stats();
    assertWithMessage("%s", stats).that(stats.state()).isEqualTo(StoreState.READY);
    assertWithMessage("%s", stats).that(stats.counts().notStored.sum()).isEqualTo(0);
    assertWithMessage("%s", stats).that(stats.counts().damaged.sum()).isEqualTo(0);
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
      int key = random.nextInt(KEYS);
      switch (random.nextInt(16)) {
        case 0, 1, 2, 3 -> note(events, key, Kind.PUT, () -> put(key));
        case 4, 5, 6 -> note(events, key, Kind.REMOVE, () -> remove(key));
        case 7, 8, 9, 10 -> note(events, key, Kind.LOAD, () -> load(key));
        case 11, 12, 13 -> note(events, key, Kind.READ, () -> read(key));
        case 14 -> fill();
        default -> {
          if (random.nextInt(4) > 0) {
            store.flush();
          } else {
            clear(events);
          }
        }
      }
    }
    return events;
  }

  private Answer put(int key) {
    int number = values.incrementAndGet();
    store.put(key(key), TestValues.of(number), now());
    return new Answer(number, KeyHistory.NONE, true);
  }

  private Answer read(int key) {
    return new Answer(KeyHistory.NONE, TestValues.numberOf(store.read(key(key))), true);
  }

  /** A read waits a second for the file to be opened, which may take longer on a busy machine. */
  private Answer readOfNext(int key) {
    Answer found = read(key);
    if (found.found() != KeyHistory.NONE || store.isOpen()) {
      return found;
    }
    awaitUninterruptibly(store.current.opened);
    return read(key);
  }

  private Answer remove(int key) {
    store.remove(key(key));
    return CHANGED;
  }

  /** Reads, and where nothing is found puts what it has computed since it took its ticket. */
  private Answer load(int key) {
    Ticket ticket = store.ticket(key(key));
    try (ticket) {
      Answer found = read(key);
      if (found.found() != KeyHistory.NONE) {
        return found;
      }
      int number = values.incrementAndGet();
      store.putIfCurrent(key(key), TestValues.of(number), now(), ticket);
      return new Answer(number, KeyHistory.NONE, !ticket.hasEnded());
    }
  }

  private void clear(List<Event> events) {
    int begun = clock.incrementAndGet();
    store.clear();
    int ended = clock.incrementAndGet();
    for (int key = 0; key < KEYS; key++) {
      events.add(new Event(key, Kind.REMOVE, CHANGED, begun, ended));
    }
  }

  /** Puts values of other keys, so many that segments may take disk. */
  private void fill() {
    long before = store.stats().diskBytes();
    for (int i = 0; i < 8; i++) {
      byte[] key = ("filler " + fillers.getAndIncrement() % 160).getBytes(UTF_8);
      store.put(key, new byte[60_000], now());
    }
    if (store.stats().diskBytes() > before) {
      growths.incrementAndGet();
    }
  }

  private void note(List<Event> events, int key, Kind kind, Supplier<Answer> operation) {
    int begun = clock.incrementAndGet();
    Answer answer = operation.get();
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
