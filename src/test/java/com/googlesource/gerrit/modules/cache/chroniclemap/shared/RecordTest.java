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
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Records: batches of values and their seals. */
class RecordTest {
  private static final String SECRET = "0123456789abcdef";

  private static List<SharedValue> values(int count, int bytes) {
    Random random = new Random(count);
    List<SharedValue> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] value = new byte[bytes];
      random.nextBytes(value);
      values.add(
          new SharedValue("cache" + i % 3, i, ("key" + i).getBytes(UTF_8), value, 1000L + i));
    }
    return values;
  }

  private static void assertSame(List<SharedValue> there, List<SharedValue> expected) {
    assertThat(there).hasSize(expected.size());
    for (int i = 0; i < there.size(); i++) {
      assertThat(there.get(i).cache()).isEqualTo(expected.get(i).cache());
      assertThat(there.get(i).version()).isEqualTo(expected.get(i).version());
      assertThat(there.get(i).created()).isEqualTo(expected.get(i).created());
      assertThat(there.get(i).key()).isEqualTo(expected.get(i).key());
      assertThat(there.get(i).value()).isEqualTo(expected.get(i).value());
    }
  }

  @Test
  void aBatchIsReadAsItWasWritten() throws Exception {
    for (List<SharedValue> values :
        List.of(values(1, 0), values(Batch.MAX_VALUES, 1000), values(1, 1 << 20))) {
      assertSame(Batch.decode(Batch.encode(values)), values);
    }
  }

  @Test
  void whatIsNoBatchIsRefused() throws Exception {
    byte[] bytes = Batch.encode(values(10, 100));
    // The last bytes only say that the deflated ones end.
    for (int i = 0; i < bytes.length - 16; i++) {
      byte[] cut = Arrays.copyOf(bytes, i);
      assertThrows(IOException.class, () -> Batch.decode(cut));
    }
    assertThrows(IOException.class, () -> Batch.decode(Batch.encode(values(65, 1))));
    List<SharedValue> tooMany = values(2, 1 << 20);
    assertThrows(IOException.class, () -> Batch.decode(Batch.encode(tooMany)));
    Random random = new Random(3);
    for (int i = 0; i < 10_000; i++) {
      byte[] changed = bytes.clone();
      changed[random.nextInt(changed.length)] ^= (byte) (1 << random.nextInt(8));
      try {
        var unused = Batch.decode(changed);
      } catch (IOException e) {
        assertThat(e).isNotNull();
      }
    }
  }

  @Test
  void aSealOpensWhatWasSealedWithItsSecretForItsLog() {
    byte[] content = "content".getBytes(UTF_8);
    Seal seal = new Seal(SECRET, "log");
    Seal other = new Seal(SECRET, "log");
    byte[] record = seal.close(content);
    assertThat(other.open(record)).hasValue(content);
    assertThat(seal.isOwn(record)).isTrue();
    assertThat(other.isOwn(record)).isFalse();
    assertThat(new Seal(SECRET, "other log").open(record)).isEmpty();
    assertThat(new Seal("another secret!!", "log").open(record)).isEmpty();
    for (int i = 0; i < record.length; i++) {
      byte[] changed = record.clone();
      changed[i] ^= 1;
      assertThat(other.open(changed)).isEmpty();
      assertThat(other.open(Arrays.copyOf(record, i))).isEmpty();
    }
  }

  /** With GCM, a nonce that is used twice with a key would give the key away. */
  @Test
  void noTwoRecordsHaveKeyAndNonceInCommon() {
    Seal seal = new Seal(SECRET, "log");
    byte[] content = new byte[100];
    byte[] first = seal.close(content);
    byte[] second = seal.close(content);
    byte[] ofAnotherRun = new Seal(SECRET, "log").close(content);
    assertThat(Arrays.copyOfRange(first, 17, 25)).isNotEqualTo(Arrays.copyOfRange(second, 17, 25));
    assertThat(Arrays.copyOf(ofAnotherRun, 9)).isNotEqualTo(Arrays.copyOf(first, 9));
    assertThat(seal.isOwn(second)).isTrue();
    assertThat(seal.isOwn(ofAnotherRun)).isFalse();
    // A machine that is restored to an earlier state of its memory counts from the same number.
    assertThat(Arrays.copyOfRange(first, 9, 17)).isNotEqualTo(Arrays.copyOfRange(second, 9, 17));
  }
}
