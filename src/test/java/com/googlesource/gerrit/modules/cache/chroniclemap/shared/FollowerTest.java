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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static com.google.common.truth.Truth.assertThat;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.openjdk.jmh.annotations.State;

/** Where a follower begins, and when it goes back, on a log in memory. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FollowerTest {
  private static final String SECRET = "0123456789abcdef";
  private static final String NAME = "log";

  @TempDir Path temp;
  private final MemoryLog log = new MemoryLog();
  private final MemoryCache cache = new MemoryCache(1, StartReport.Kind.CLEAN);
  private final Seal publisher = new Seal(SECRET, NAME);
  private final SharedCounts counts = new SharedCounts();
  private final List<Runnable> stops = new ArrayList<>();

  /** A log in memory that tells from where it was read. */
  private static final class MemoryLog implements RecordLog {
    final ConcurrentSkipListMap<StreamId, byte[]> records = new ConcurrentSkipListMap<>();
    final List<StreamId> reads = Collections.synchronizedList(new ArrayList<>());
    final AtomicInteger appended = new AtomicInteger();
    volatile StreamId last = StreamId.START;

    /** Called by each read, which others may append before. */
    volatile Runnable aboutToRead = () -> {};

    /** A record that cannot be brought here, if there is one. */
    volatile StreamId tooLarge = StreamId.START;

    /** The millisecond of the first record is one later. */
    volatile long clock;

    @Override
    public void append(byte[] record) {
      last = new StreamId(clock + appended.incrementAndGet(), 0);
      records.put(last, record);
    }

    @Override
    public List<Entry> read(StreamId after, int most) throws IOException {
      aboutToRead.run();
      reads.add(after);
      List<Entry> entries =
          records.tailMap(after, false).entrySet().stream()
              .limit(most)
              .map(each -> new Entry(each.getKey(), each.getValue()))
              .toList();
      if (entries.stream().anyMatch(each -> each.position().equals(tooLarge))) {
        throw new TooLargeException("of a test", null);
      }
      return entries;
    }

    @Override
    public State state() {
      return new State(last, records.size(), appended.get(), 0);
    }

    @Override
    public void check(CheckReport report) {}

    @Override
    public void close() {}
  }

  private void publish(int from, int to) {
    for (int i = from; i < to; i++) {
      publish(i, /* created= */ 1000L + i);
    }
  }

  private void publish(int number, long created) {
    byte[] key = ("key" + number).getBytes(UTF_8);
    byte[] bytes = ("value" + number).getBytes(UTF_8);
    SharedValue value = new SharedValue(MemoryCache.NAME, 1, key, bytes, created);
    log.append(publisher.close(Batch.encode(List.of(value))));
  }

  /** Starts a follower of a process that stops at the end of the test, or when it is told to. */
  private Runnable follow(MemoryCache cache, String name) {
    var unused = follower(name, cache);
    return stops.getLast();
  }

  private Follower follower(String name, MemoryCache... caches) {
    CountDownLatch stopped = new CountDownLatch(1);
    Seal seal = new Seal(SECRET, NAME);
    Follower follower =
        new Follower(
            seal,
            name,
            new Reconnection(() -> log, counts, "", stopped),
            new Flushes(temp.resolve("flushes")),
            counts,
            Duration.ofMillis(1),
            stopped);
    List.of(caches).forEach(follower::add);
    Thread thread = Thread.ofPlatform().daemon().start(follower);
    Runnable stop =
        () -> {
          stopped.countDown();
          try {
            thread.join();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        };
    stops.add(stop);
    return follower;
  }

  @AfterEach
  void stop() {
    stops.forEach(Runnable::run);
  }

  private static void awaitAll(MemoryCache cache, int count) {
    await(() -> cache.values.size() == count);
  }

  /** Waits until the note is that of the newest record. */
  private void awaitNoted() {
    await(() -> Checkpoint.ofText(cache.note, NAME).position().equals(log.last));
  }

  @Test
  void aNextProcessGoesOnFromTheNote() {
    publish(0, 100);
    Runnable stop = follow(cache, NAME);
    awaitAll(cache, 100);
    awaitNoted();
    stop.run();
    log.reads.clear();
    publish(100, 110);
    follow(cache, NAME);
    awaitAll(cache, 110);
    assertThat(log.reads.get(0)).isEqualTo(new StreamId(100, 0));
    assertThat(counts.missed.sum()).isEqualTo(0);
    assertThat(counts.rereads.sum()).isEqualTo(0);
  }

  @Test
  void aNoteOfAnotherLogOrSecretDoesNotCount() {
    publish(0, 10);
    Runnable stop = follow(cache, NAME);
    awaitNoted();
    stop.run();
    cache.values.clear();
    follow(cache, "another name");
    awaitAll(cache, 10);
  }

  @Test
  void aNoteThatMakesNoSenseIsNone() {
    for (String note : List.of("", "log", "log\nx\n1", "log\n1-1\n", "log\n1-1-1\n5")) {
      assertThat(Checkpoint.ofText(note.getBytes(UTF_8), "log")).isEqualTo(Checkpoint.START);
    }
    Checkpoint place = new Checkpoint(new StreamId(5, 6), 7);
    assertThat(Checkpoint.ofText(place.toText("log"), "log")).isEqualTo(place);
  }

  @Test
  void whatWasDroppedBeforeItWasReadIsCounted() {
    publish(0, 10);
    Runnable stop = follow(cache, NAME);
    awaitNoted();
    stop.run();
    publish(10, 30);
    log.records.headMap(new StreamId(15, 0), true).clear();
    follow(cache, NAME);
    awaitAll(cache, 25);
    await(() -> counts.missed.sum() == 5);
  }

  @Test
  void aStoreThatLosesItsFileGetsWhatItMissed() {
    publish(0, 10);
    follow(cache, NAME);
    awaitAll(cache, 10);
    awaitNoted();
    cache.isOpen = false;
    publish(10, 20);
    await(() -> counts.skipped.sum() >= 10);
    log.reads.clear();
    cache.start = new StartReport(StartReport.Kind.RECOVERED, "", 0, 0);
    cache.isOpen = true;
    awaitAll(cache, 20);
    // Not from the start of the log.
    assertThat(log.reads).contains(new StreamId(10, 0));
    assertThat(log.reads).doesNotContain(StreamId.START);
  }

  @Test
  void aFlushedCacheTakesInWhatIsNewAlsoInALaterProcess() {
    publish(0, 10);
    new Flushes(temp.resolve("flushes")).add(MemoryCache.NAME);
    follow(cache, NAME);
    await(() -> counts.skipped.sum() == 10);
    publish(10, System.currentTimeMillis() + 1);
    awaitAll(cache, 1);
    assertThat(cache.values).containsExactly("key10", "value10");
  }

  /** Gerrit interrupts the command of a client that has gone. */
  @Test
  void aFlushIsNotedThoughItsThreadIsInterrupted() {
    Thread.currentThread().interrupt();
    new Flushes(temp.resolve("flushes")).add(MemoryCache.NAME);
    assertThat(Thread.interrupted()).isTrue();
    SharedValue old = new SharedValue(MemoryCache.NAME, 1, new byte[1], new byte[1], 1000);
    assertThat(new Flushes(temp.resolve("flushes")).covers(old)).isTrue();
  }

  @Test
  void flushesThatCannotBeReadMayBeOfAnyCache() throws Exception {
    SharedValue old = new SharedValue(MemoryCache.NAME, 1, new byte[1], new byte[1], 1000);
    assertThat(new Flushes(temp.resolve("none")).covers(old)).isFalse();
    assertThat(new Flushes(Files.createDirectory(temp.resolve("folder"))).covers(old)).isTrue();
  }

  @Test
  void anotherVersionOfTheCacheIsLeft() {
    MemoryCache other = new MemoryCache(2, StartReport.Kind.CLEAN);
    publish(0, 3);
    follow(other, NAME);
    await(() -> counts.skipped.sum() == 3);
    assertThat(other.values).isEmpty();
  }

  @Test
  void anEmptiedStoreGetsAllAgain() {
    publish(0, 10);
    follow(cache, NAME);
    awaitAll(cache, 10);
    awaitNoted();
    empty();
    awaitAll(cache, 10);
    assertThat(counts.rereads.sum()).isEqualTo(1);
  }

  private void empty() {
    cache.values.clear();
    cache.note = null;
    cache.start = new StartReport(StartReport.Kind.REPLACED, "", 0, 0);
  }

  /** A record that is read again and again is not taken for one that cannot be handled. */
  @Test
  void theOnlyRecordIsReadAsOftenAsItIsNeeded() {
    publish(0, 1);
    follow(cache, NAME);
    for (int i = 0; i < 10; i++) {
      awaitAll(cache, 1);
      awaitNoted();
      empty();
    }
    awaitAll(cache, 1);
    assertThat(counts.refused.sum()).isEqualTo(0);
  }

  @Test
  void aRecordThatCannotBeHandledDoesNotEndTheRest() {
    cache.poison = "key5";
    publish(0, 10);
    follow(cache, NAME);
    awaitAll(cache, 9);
    assertThat(counts.skipped.sum()).isEqualTo(1);
  }

  /** Where something is always new, what was dropped is counted all the same. */
  @Test
  void theIndexIsCorrectedInABusyLog() {
    cache.note =
        new Checkpoint(new StreamId(5, 0), -1).toText(NAME); // of a server that did not count
    publish(0, 10);
    AtomicInteger next = new AtomicInteger(10);
    log.aboutToRead = () -> publish(next.get(), next.incrementAndGet());
    Follower follower = follower(NAME, cache);
    await(() -> Checkpoint.ofText(cache.note, NAME).index() > 10);
    assertThat(follower.behindRecords()).isAtLeast(0L);
  }

  @Test
  void recordsThatCannotBeReadArePassed() {
    publish(0, 10);
    log.tooLarge = new StreamId(8, 0);
    Follower follower = follower(NAME, cache);
    await(() -> counts.missed.sum() == 1);
    assertThat(follower.ignored()).startsWith("7-0 to 10-0 could not be read: of a test");
    assertThat(cache.values).hasSize(7);
    publish(10, 20);
    awaitAll(cache, 17);
    // Nothing tells that the secret is wrong.
    assertThat(follower.isRefusing()).isFalse();
    assertThat(counts.refused.sum()).isEqualTo(0);
  }

  @Test
  void onlyWhatHasAnotherSealIsRefused() {
    log.append(new byte[4 << 20]);
    log.append(publisher.close(new byte[] {1, 2, 3}));
    publish(0, 1);
    Follower follower = follower(NAME, cache);
    awaitAll(cache, 1);
    assertThat(counts.missed.sum()).isEqualTo(2);
    assertThat(counts.refused.sum()).isEqualTo(0);
    assertThat(follower.isRefusing()).isFalse();
    log.append(new Seal("another secret", NAME).close(new byte[] {1, 2, 3}));
    await(() -> counts.refused.sum() == 1);
    assertThat(follower.isRefusing()).isTrue();
    assertThat(follower.ignored()).contains("4-0 has not the seal of this site's secret");
    assertThat(counts.missed.sum()).isEqualTo(2);
  }

  /** Nothing tells where the log begins if its first record can't be read. */
  @Test
  void afterAFirstRecordThatCannotBeReadOnlyWhatIsNewIsRead() {
    MemoryCache fresh = new MemoryCache(1, StartReport.Kind.NEW);
    log.clock = 1_700_000_000_000L;
    publish(0, 1);
    log.tooLarge = log.last;
    follow(fresh, NAME);
    await(() -> counts.missed.sum() == 1);
    publish(1, 10);
    awaitAll(fresh, 9);
    assertThat(counts.missed.sum()).isEqualTo(1);
  }
}
