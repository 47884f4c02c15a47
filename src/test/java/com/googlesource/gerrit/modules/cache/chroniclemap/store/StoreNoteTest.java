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
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store's note of its own: it stays as long as the file, and no figure counts it. */
class StoreNoteTest {
  private static final byte[] NOTE = "a place in a log\n1-0\n17".getBytes(UTF_8);
  private static final byte[] LONGER = "another place in a log\n1234567-8\n17".getBytes(UTF_8);

  @TempDir Path temp;
  private StoreDirectory directory;

  @BeforeEach
  void open() throws Exception {
    directory = StoreDirectory.open(temp.resolve("stores"));
  }

  @AfterEach
  void close() {
    directory.close();
  }

  private Store store() throws Exception {
    return TestStores.open(
        directory, new StoreSettings("cache", 1, 4 << 20, Optional.empty(), OldValues.PURE));
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(20).putInt(number).array();
  }

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
    Store store = store();
    assertThat(store.note()).isNull();
    store.setNote(NOTE);
    assertThat(store.note().bytes()).isEqualTo(NOTE);
    assertCounted(store, 0, 0);
    store.setNote(LONGER);
    store.put(key(1), new byte[100], 1);
    store.setNote(NOTE);
    assertCounted(store, 1, 1);
    // The start reads the counts that the stop has written.
    directory.close();
    open();
    store = store();
    assertThat(store.note().bytes()).isEqualTo(NOTE);
    assertThat(store.stats().start().entries()).isEqualTo(1);
    assertCounted(store, 1, 0);
    store.clear();
    assertThat(store.note()).isNull();
    assertCounted(store, 0, 0);
  }

  @Test
  void aFileThatIsCheckedAnewCountsAsBefore() throws Exception {
    Store store = store();
    store.setNote(NOTE);
    store.put(key(1), new byte[100], 1);
    directory.close();
    TestStores.leaveToCrash(temp.resolve("stores"));
    open();
    store = store();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.RECOVERED);
    assertThat(store.note().bytes()).isEqualTo(NOTE);
    // Checks all segments before it counts.
    VerifyReport unused = store.verify(/* repair= */ false, Progress.NONE);
    assertCounted(store, 1, 0);
  }

  @Test
  void itIsNotEvicted() throws Exception {
    Store store = store();
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
