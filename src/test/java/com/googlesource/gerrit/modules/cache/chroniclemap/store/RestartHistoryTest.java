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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Answer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Kind;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.KeyHistory.Operation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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

  /**
   * A store of few keys whose operations return what {@link KeyHistory} wants to know, and which
   * can be made to take disk. Each value is put once.
   */
  private static final class CheckedStore implements AutoCloseable {
    /** Keys that operations are about. */
    static final int KEYS = 3;

    private static final long LIMIT = 16 << 20;

    private static final int FILLERS = 160;
    private static final int FILLER_BYTES = 60_000;

    /** How much one {@link #fill} puts. */
    private static final int FILLERS_AT_ONCE = 8;

    /** Not one that was used before, in any store: a value that comes back must be seen. */
    private static final AtomicInteger values = new AtomicInteger();

    private final Path folder;
    private final AtomicInteger nextFiller = new AtomicInteger();

    /** How often {@link #fill} had the file take disk. */
    private final AtomicInteger growths = new AtomicInteger();

    private StoreDirectory directory;
    private Store store;

    /** Makes a new one. */
    CheckedStore(Path folder) throws Exception {
      this.folder = folder;
      open();
      store.awaitOpened();
    }

    private void open() throws Exception {
      directory = StoreDirectory.open(folder);
      store = directory.openStore(new StoreSettings("cache", 1, LIMIT, Optional.empty()));
    }

    Answer put(int key) {
      int number = values.incrementAndGet();
      store.put(key(key), TestValues.of(number), System.currentTimeMillis());
      return new Answer(number, KeyHistory.NONE, true);
    }

    Answer read(int key) {
      return new Answer(KeyHistory.NONE, TestValues.numberOf(store.read(key(key))), true);
    }

    Answer remove(int key) {
      store.remove(key(key));
      return new Answer(KeyHistory.NONE, KeyHistory.NONE, true);
    }

    Answer clear() {
      store.clear();
      return new Answer(KeyHistory.NONE, KeyHistory.NONE, true);
    }

    /** Reads, and where nothing is found puts what it has computed since it took its ticket. */
    Answer load(int key) {
      Ticket ticket = store.ticket(key(key));
      try (ticket) {
        int found = TestValues.numberOf(store.read(key(key)));
        if (found != KeyHistory.NONE) {
          return new Answer(KeyHistory.NONE, found, true);
        }
        int number = values.incrementAndGet();
        store.putIfCurrent(key(key), TestValues.of(number), System.currentTimeMillis(), ticket);
        return new Answer(number, KeyHistory.NONE, !ticket.hasEnded());
      }
    }

    void flush() {
      store.flush();
    }

    /** Puts values of other keys, so many that segments may take disk. */
    void fill() {
      long before = store.stats().diskBytes();
      for (int i = 0; i < FILLERS_AT_ONCE; i++) {
        byte[] key = ("filler " + nextFiller.getAndIncrement() % FILLERS).getBytes(UTF_8);
        store.put(key, new byte[FILLER_BYTES], System.currentTimeMillis());
      }
      if (store.stats().diskBytes() > before) {
        growths.incrementAndGet();
      }
    }

    /** Whether the file has nearly all of its disk. */
    boolean isFullGrown() {
      return store.stats().diskBytes() > LIMIT * 3 / 4;
    }

    /** How often {@link #fill} had the file take disk. */
    long growths() {
      return growths.get();
    }

    /** Fails unless all that was put could be stored and read: the histories know of no loss. */
    void checkNothingLost() {
      StoreStats stats = store.stats();
      if (stats.state() != StoreState.READY
          || stats.counts().notStored.sum() > 0
          || stats.counts().damaged.sum() > 0) {
        throw new AssertionError("not as it should be: " + stats);
      }
    }

    /** Closes it as a server that stops does, and opens it again. */
    void restart() throws Exception {
      directory.close();
      open();
    }

    /** Closes it and deletes its files. */
    @Override
    public void close() throws IOException {
      directory.close();
      MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
    }
  }
}
