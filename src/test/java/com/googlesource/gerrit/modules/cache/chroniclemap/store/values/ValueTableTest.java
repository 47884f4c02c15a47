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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import static com.google.common.truth.Truth.assertThat;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable.Evict;
import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Values in the way of others, and values that are too long by now. */
@Timeout(60)
class ValueTableTest {
  @TempDir Path temp;
  @AutoClose private RecordMap file;

  @Test
  void aPutEndsWhereWhatIsInItsWayCanNotBeRemoved() throws Exception {
    Geometry geometry =
        Geometry.forFileOf(Geometry.MIN_FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
    file = TestStores.file(temp.resolve("file"), geometry);
    byte[] payload = new byte[file.geometry.maxPayload()];
    for (int i = 0; i < 1000; i++) {
      // No value is stored like this, so none that is removed is this one.
      byte[] key = {(byte) i, (byte) (i >> 8), 7};
      var unused =
          file.put(key, Envelope.wrap(key, Envelope.WHOLE, 1, payload, 0, payload.length), false);
    }
    long records = file.state.counts.records();
    assertThat(records).isAtLeast(10);
    ValueTable values = values(file.geometry.dataBytes());
    assertThat(values.put(new byte[] {1}, payload, 2, Evict.LEAST_USED)).isFalse();
    assertThat(file.state.counts.records()).isEqualTo(records);
  }

  @Test
  void thePartsOfAValueThatIsTooLongByNowGoWithIt() throws Exception {
    Geometry geometry = Geometry.forFileOf(4 << 20, Geometry.DEFAULT_BYTES_PER_SLOT);
    file = TestStores.file(temp.resolve("file"), geometry);
    byte[] key = {1};
    byte[] value = new byte[1 << 19];
    assertThat(values(2 << 20).put(key, value, 2, Evict.LEAST_USED)).isTrue();
    assertThat(file.state.counts.records()).isAtLeast(10);
    ValueTable after = values(100_000);
    assertThat(after.read(key).payload()).hasLength(value.length);
    after.remove(key);
    assertThat(file.state.counts.records()).isEqualTo(0);
  }

  private ValueTable values(long maxValue) {
    return ContentChunksTest.table(file, maxValue, temp, new LongAdder());
  }
}
