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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope.NewRecord;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A file in which most puts find no room, against a model: its counts and its index stay true. */
class FullFileTest {
  private static final int KEYS = 60;

  @TempDir Path temp;

  private static byte[] key(int number) {
    return StoredKey.ofValue(ByteBuffer.allocate(4).putInt(number).array());
  }

  private static byte[] value(Random random, int maxLength) {
    byte[] out = new byte[random.nextInt(maxLength)];
    random.nextBytes(out);
    return out;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void recordsThatGrowWhereThereIsNoRoom(int seed) throws Exception {
    Random random = new Random(seed);
    Geometry geometry =
        Geometry.forFileOf(Geometry.MIN_FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    RecordMap file = TestStores.file(temp.resolve("file.chm"), geometry);
    try {
      Map<Integer, byte[]> model = new HashMap<>();
      int refused = 0;
      for (int round = 0; round < 3000; round++) {
        int number = random.nextInt(KEYS);
        if (random.nextInt(8) == 0) {
          assertThat(file.contains(key(number))).isEqualTo(model.remove(number) != null);
          file.remove(key(number));
        } else {
          byte[] value = value(random, file.geometry.maxPayload());
          NewRecord record =
              Envelope.wrap(key(number), Envelope.WHOLE, round, value, 0, value.length);
          model.remove(number);
          if (file.put(key(number), record, false).fitted()) {
            model.put(number, value);
          } else {
            refused++;
          }
        }
        if (round % 50 == 0) {
          check(file, model, "round " + round);
        }
      }
      check(file, model, "the end");
      assertThat(refused).isGreaterThan(100);
    } finally {
      file.close();
    }
  }

  private void check(RecordMap file, Map<Integer, byte[]> model, String when) throws Exception {
    for (int number = 0; number < KEYS; number++) {
      StoredValue stored = file.read(key(number));
      assertWithMessage("key %s at %s", number, when)
          .that(stored == null ? null : stored.payload())
          .isEqualTo(model.get(number));
    }
    assertWithMessage("records at %s", when)
        .that(file.state.counts.records())
        .isEqualTo(model.size());
    Map<Integer, byte[]> visited = new HashMap<>();
    SegmentReader reader = file.reader(temp.resolve("file.chm"));
    for (int i = 0; i < file.geometry.segments(); i++) {
      long damaged =
          reader.read(
              i,
              record ->
                  visited.put(ByteBuffer.wrap(record.storedKey()).getInt(), record.payload()));
      assertThat(damaged).isEqualTo(0);
    }
    assertWithMessage("visited at %s", when).that(visited.keySet()).isEqualTo(model.keySet());
    visited.forEach((number, value) -> assertThat(value).isEqualTo(model.get(number)));
  }

  /** The same for whole values, which are split, over the real way in. */
  @Test
  void clearEmptiesAStoreWhosePutsFoundNoRoom() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(temp.resolve("stores"))) {
      Store store =
          TestStores.open(
              directory, new StoreSettings("full", 1, Geometry.MIN_FILE_BYTES, Optional.empty()));
      Random random = new Random(9);
      for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 300; i++) {
          store.put(bytes("key " + random.nextInt(KEYS)), value(random, 20_000), 1);
        }
        store.flush();
        assertThat(store.stats().counts().evicted.sum()).isGreaterThan(0);
        store.clear();
        for (int i = 0; i < KEYS; i++) {
          assertThat(store.read(bytes("key " + i))).isNull();
        }
        assertThat(store.stats().entries()).isEqualTo(0);
        assertThat(store.stats().state()).isEqualTo(StoreState.READY);
      }
      byte[] whole = new byte[15_000];
      Arrays.fill(whole, (byte) 7);
      store.put(bytes("after"), whole, 1);
      store.flush();
      assertThat(store.read(bytes("after")).bytes()).isEqualTo(whole);
      assertThat(store.stats().liveBytes()).isLessThan(20_000);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
