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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a store has for values that other servers have computed: {@link Store#putIfAbsent}, and a
 * note of how far they were read.
 */
class StoreTakeInTest extends FolderTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);
  private static final byte[] OTHER = "other value".getBytes(UTF_8);

  private final AtomicLong clock = new AtomicLong(System.currentTimeMillis());

  @Override
  long now() {
    return clock.get();
  }

  @BeforeEach
  void open() throws Exception {
    openFolder(Disk.REAL);
  }

  private Store store(String name, long maxBytes, OldValues oldValues) throws Exception {
    return TestStores.open(
        directory,
        new StoreSettings(name, 1, maxBytes, Optional.of(Duration.ofDays(1)), oldValues));
  }

  private Store pure() throws Exception {
    return store("pure", 4 << 20, OldValues.PURE);
  }

  private static ImportResult putIfAbsent(Store store, byte[] key, byte[] value) {
    return putIfAbsent(store, key, value, System.currentTimeMillis());
  }

  private static ImportResult putIfAbsent(Store store, byte[] key, byte[] value, long created) {
    Ticket ticket = store.ticket(key);
    try (ticket) {
      return store.putIfAbsent(key, value, created, ticket);
    }
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(20).putInt(number).array();
  }

  @Test
  void whatIsMissingIsTakenInAndWhatIsThereStays() throws Exception {
    Store store = pure();
    long created = System.currentTimeMillis() - 1000;
    assertThat(putIfAbsent(store, KEY, VALUE, created)).isEqualTo(ImportResult.STORED);
    assertThat(store.read(KEY).bytes()).isEqualTo(VALUE);
    assertThat(store.read(KEY).created()).isEqualTo(created);
    assertThat(putIfAbsent(store, KEY, OTHER)).isEqualTo(ImportResult.KNOWN);
    assertThat(store.read(KEY).bytes()).isEqualTo(VALUE);
    assertThat(store.contains(KEY)).isTrue();
    assertThat(store.contains(OTHER)).isFalse();
  }

  @Test
  void aChangeSinceTheTicketWasTakenWins() throws Exception {
    Store store = pure();
    Ticket before = store.ticket(KEY);
    try (before) {
      store.remove(KEY);
      assertThat(store.putIfAbsent(KEY, VALUE, System.currentTimeMillis(), before))
          .isEqualTo(ImportResult.OVER);
    }
    Ticket beforeClear = store.ticket(KEY);
    try (beforeClear) {
      store.clear();
      assertThat(store.putIfAbsent(KEY, VALUE, System.currentTimeMillis(), beforeClear))
          .isEqualTo(ImportResult.OVER);
    }
    assertThat(store.read(KEY)).isNull();
  }

  @Test
  void aValueThatIsTooOldOrTooLargeIsLeft() throws Exception {
    Store store = pure();
    long old = System.currentTimeMillis() - Duration.ofDays(2).toMillis();
    assertThat(putIfAbsent(store, KEY, VALUE, old)).isEqualTo(ImportResult.TOO_OLD);
    assertThat(putIfAbsent(store, KEY, new byte[8 << 20])).isEqualTo(ImportResult.TOO_LARGE);
  }

  @Test
  void aStoreWhoseOldValuesAreWrongTakesInNothing() throws Exception {
    for (OldValues oldValues : new OldValues[] {OldValues.MUTABLE, OldValues.SECRET}) {
      Store store = store(oldValues.name(), 4 << 20, oldValues);
      assertThat(putIfAbsent(store, KEY, VALUE)).isEqualTo(ImportResult.OVER);
      assertThat(store.read(KEY)).isNull();
    }
  }

  /** Until it is known what is in use, all may be. */
  @Test
  void nothingIsEvictedSoonAfterUsageIsCounted() throws Exception {
    Store store = pure();
    byte[] value = new byte[1000];
    int i = 0;
    while (store.stats().counts().evicted.sum() == 0) {
      store.put(key(i++), value, System.currentTimeMillis());
      store.flush();
    }
    long evicted = store.stats().counts().evicted.sum();
    ImportResult result = ImportResult.STORED;
    for (int j = 0; j < 10_000 && result != ImportResult.NO_ROOM; j++) {
      result = putIfAbsent(store, key(1_000_000 + j), value);
    }
    assertThat(result).isEqualTo(ImportResult.NO_ROOM);
    assertThat(store.stats().counts().evicted.sum()).isEqualTo(evicted);
  }

  @Test
  void anExpiredValueGivesWayToANewOne() throws Exception {
    Store store = pure();
    assertThat(putIfAbsent(store, KEY, VALUE, clock.get())).isEqualTo(ImportResult.STORED);
    clock.addAndGet(Duration.ofDays(2).toMillis());
    assertThat(store.contains(KEY)).isFalse();
    assertThat(putIfAbsent(store, KEY, OTHER, clock.get())).isEqualTo(ImportResult.STORED);
    assertThat(store.read(KEY).bytes()).isEqualTo(OTHER);
  }

  @Test
  void whatWasTakenInIsThereAfterARestart() throws Exception {
    assertThat(putIfAbsent(pure(), KEY, VALUE)).isEqualTo(ImportResult.STORED);
    open();
    assertThat(pure().read(KEY).bytes()).isEqualTo(VALUE);
  }

  // ---- the note

  private static final byte[] NOTE = "a place in a log\n1-0\n17".getBytes(UTF_8);
  private static final byte[] LONGER = "another place in a log\n1234567-8\n17".getBytes(UTF_8);

  private static void assertCounted(Store store, long entries, long puts) throws Exception {
    store.flush();
    StoreStats stats = store.stats();
    VerifyReport verified = store.verify(/* repair= */ false, Progress.NONE);
    String figures = stats + " " + verified;
    assertWithMessage(figures).that(stats.entries()).isEqualTo(entries);
    assertWithMessage(figures).that(stats.liveBytes()).isEqualTo(verified.bytes());
    assertWithMessage(figures).that(verified.values()).isEqualTo(entries);
    assertWithMessage(figures).that(stats.counts().puts.sum()).isEqualTo(puts);
    assertWithMessage(figures).that(stats.counts().hits.sum()).isEqualTo(0);
    assertWithMessage(figures).that(stats.counts().misses.sum()).isEqualTo(0);
    if (entries == 0) {
      assertWithMessage(figures).that(stats.liveBytes()).isEqualTo(0);
    }
  }

  @Test
  void noFigureCountsIt() throws Exception {
    Store store = pure();
    assertThat(store.note()).isNull();
    store.setNote(NOTE);
    assertThat(store.note().bytes()).isEqualTo(NOTE);
    assertCounted(store, 0, 0);
    store.setNote(LONGER);
    store.put(key(1), new byte[100], 1);
    store.setNote(NOTE);
    assertCounted(store, 1, 1);
    // The start reads the counts that the stop has written.
    open();
    store = pure();
    assertThat(store.note().bytes()).isEqualTo(NOTE);
    assertThat(store.stats().start().entries()).isEqualTo(1);
    assertCounted(store, 1, 0);
    store.clear();
    assertThat(store.note()).isNull();
    assertCounted(store, 0, 0);
  }

  @Test
  void aFileThatIsCheckedAnewCountsAsBefore() throws Exception {
    Store store = pure();
    store.setNote(NOTE);
    store.put(key(1), new byte[100], 1);
    directory.close();
    TestStores.leaveToCrash(folder());
    open();
    store = pure();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.RECOVERED);
    assertThat(store.note().bytes()).isEqualTo(NOTE);
    // Checks all segments before it counts.
    VerifyReport unused = store.verify(/* repair= */ false, Progress.NONE);
    assertCounted(store, 1, 0);
  }

  @Test
  void itIsNotEvicted() throws Exception {
    Store store = pure();
    store.setNote(NOTE);
    int number = 0;
    while (store.stats().counts().evicted.sum() < 20_000) {
      store.put(key(number++), new byte[1000], System.currentTimeMillis());
      store.flush();
    }
    assertThat(store.note().bytes()).isEqualTo(NOTE);
    assertCounted(store, number - store.stats().counts().evicted.sum(), number);
  }
}
