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
import static com.google.common.truth.Truth.assertWithMessage;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.ChunkRoot;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable.Evict;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Large values that are cut by their content, so that little is written when little changes. */
@Timeout(120)
class ContentChunksTest {
  private static final int MOST = 16 << 10;
  private static final byte[] KEY = {1, 2, 3};

  @TempDir Path temp;
  private final LongAdder evictions = new LongAdder();
  private RecordMap file;
  private ValueTable values;

  @BeforeEach
  void open() throws IOException {
    file = TestStores.file(temp.resolve("file"), Geometry.forFileOf(32 << 20, 1024));
    values = table(file, file.geometry.dataBytes(), temp, evictions);
  }

  @AfterEach
  void close() {
    file.close();
  }

  /** The values of a file, which may have so many bytes each. */
  static ValueTable table(RecordMap file, long maxValue, Path folder, LongAdder evictions) {
    return new ValueTable(
        file,
        new ValueTable.Rules(
            maxValue,
            /* oldValuesStayValid= */ false,
            UsageTest.usage(() -> 1_000_000, folder.resolve("use")),
            evictions,
            (map, segment, bytes) -> false));
  }

  private static byte[] insert(byte[] value, int at, byte[] more) {
    byte[] out = Arrays.copyOf(value, value.length + more.length);
    System.arraycopy(more, 0, out, at, more.length);
    System.arraycopy(value, at, out, at + more.length, value.length - at);
    return out;
  }

  /** To be compared by Arrays.equals: Truth would print megabytes. */
  private byte[] read(byte[] key) throws DamagedEntryException {
    StoredValue stored = values.read(key);
    return stored == null ? null : stored.payload();
  }

  // ---- how a value is cut

  @Test
  void theChunksAreTheValueAndKeepTheirSizes() {
    for (int length : new int[] {1, 4096, MOST, MOST + 1, 1 << 20, 7_654_321}) {
      for (byte[] value : List.of(random(length, length), new byte[length])) {
        ContentChunks chunks = new ContentChunks(value, 5, MOST);
        int end = 0;
        for (ContentChunks.Part part : chunks.parts) {
          assertThat(part.length()).isAtMost(MOST);
          if (part.bytes() == value) {
            assertThat(part.offset()).isEqualTo(end);
            end += part.length();
            assertThat(end == length || part.length() >= MOST / 4).isTrue();
          }
        }
        assertThat(end).isEqualTo(length);
        assertThat(ChunkRoot.decode(chunks.root.encode()).length()).isEqualTo(length);
      }
    }
  }

  @Test
  void aValueWithoutAnyEndIsCutInTheLongestChunks() {
    assertThat(new ContentChunks(new byte[10 * MOST], 5, MOST).parts).hasSize(10 + 1);
  }

  @Test
  void anInsertionOrRemovalChangesOnlyWhatIsAroundIt() {
    byte[] value = random(8 << 20, 1);
    Set<ByteBuffer> before = ids(value, 5);
    Random random = new Random(2);
    for (int i = 0; i < 20; i++) {
      int at = random.nextInt(value.length - 100);
      byte[] longer = insert(value, at, random(1 + random.nextInt(100), i));
      byte[] shorter = insert(Arrays.copyOf(value, at), at, tail(value, at + 28));
      for (byte[] changed : List.of(longer, shorter)) {
        Set<ByteBuffer> after = ids(changed, 5);
        after.removeAll(before);
        // One or two chunks, or a few where the ends meet again later; and one or two lists.
        assertThat(after.size()).isAtMost(8);
      }
    }
    Set<ByteBuffer> others = ids(value, 6);
    others.retainAll(before);
    assertWithMessage("ids that another salt has, too").that(others).isEmpty();
  }

  private static byte[] tail(byte[] value, int from) {
    return Arrays.copyOfRange(value, from, value.length);
  }

  private static Set<ByteBuffer> ids(byte[] value, long salt) {
    Set<ByteBuffer> ids = new HashSet<>();
    new ContentChunks(value, salt, MOST).parts.forEach(part -> ids.add(ByteBuffer.wrap(part.id())));
    return ids;
  }

  @Test
  void nonsenseIsNoRoot() {
    byte[] root = new ChunkRoot(7, 5, new byte[2 * ChunkRoot.ID_LENGTH]).encode();
    assertThat(ChunkRoot.decode(root).lists()).hasLength(2 * ChunkRoot.ID_LENGTH);
    for (int length : new int[] {0, 12, 16, root.length - 1, root.length + 1}) {
      assertThat(ChunkRoot.decode(Arrays.copyOf(root, length))).isNull();
    }
    assertThat(ChunkRoot.decode(new ChunkRoot(7, -5, new byte[24]).encode())).isNull();
  }

  // ---- in a file

  /** The promise: where one entry of a value changes, less than a hundredth of it is written. */
  @Test
  void aSmallChangeOfALargeValueWritesLittle() throws Exception {
    byte[] value = random(10 << 20, 1);
    assertThat(values.put(KEY, value, 1, Evict.NONE)).isTrue();
    long records = file.counts.records();
    byte[] before = Files.readAllBytes(temp.resolve("file"));
    byte[] changed = insert(value, 5_000_000, random(28, 2));
    assertThat(values.put(KEY, changed, 2, Evict.NONE)).isTrue();
    byte[] after = Files.readAllBytes(temp.resolve("file"));
    int bytes = 0;
    for (int at = 0; at < after.length; at += 64) {
      bytes += Arrays.equals(before, at, at + 64, after, at, at + 64) ? 0 : 64;
    }
    assertThat(bytes).isLessThan(value.length / 100);
    assertThat(Arrays.equals(read(KEY), changed)).isTrue();
    // What only the older version had is gone.
    assertThat(file.counts.records()).isIn(List.of(records - 1, records, records + 1, records + 2));
    assertThat(values.entries()).isEqualTo(1);
    values.remove(KEY);
    assertThat(file.counts.records()).isEqualTo(0);
  }

  @Test
  void versionsOfAllKindsReplaceEachOther() throws Exception {
    Random random = new Random(3);
    byte[] large = random(3 << 20, 1);
    List<byte[]> versions = new ArrayList<>();
    versions.add(random(100, 4)); // one record
    versions.add(random(500_000, 5)); // parts
    versions.add(new byte[2 << 20]); // equal chunks
    for (int i = 0; i < 5; i++) {
      large = insert(large, random.nextInt(large.length), random(1 + random.nextInt(50_000), i));
      versions.add(large);
    }
    for (int i = 0; i < 200; i++) {
      byte[] version = versions.get(random.nextInt(versions.size()));
      if (random.nextInt(10) == 0) {
        values.remove(KEY);
        assertThat(read(KEY)).isNull();
        assertThat(file.counts.records()).isEqualTo(0);
      }
      assertThat(values.put(KEY, version, i, Evict.NONE)).isTrue();
      assertThat(Arrays.equals(read(KEY), version)).isTrue();
      assertThat(values.entries()).isEqualTo(1);
    }
  }

  @Test
  void aReaderFindsAVersionAsAWholeWhileOthersAreWritten() throws Exception {
    List<byte[]> versions = new ArrayList<>();
    versions.add(random(2 << 20, 1));
    for (int i = 1; i < 8; i++) {
      versions.add(insert(versions.get(i - 1), i * 100_000, random(5000 * i, i)));
    }
    assertThat(values.put(KEY, versions.get(0), 0, Evict.NONE)).isTrue();
    AtomicBoolean ended = new AtomicBoolean();
    AtomicInteger reads = new AtomicInteger();
    Callable<Void> reader =
        () -> {
          while (!ended.get()) {
            StoredValue stored = null;
            try {
              stored = values.read(KEY);
            } catch (DamagedEntryException e) {
              // Each of its attempts met another version that was being replaced.
              assertThat(e).hasMessageThat().contains("missing");
              continue;
            }
            byte[] found = stored.payload();
            if (!stored.isInvalidated()) {
              assertThat(versions.stream().anyMatch(v -> Arrays.equals(v, found))).isTrue();
              reads.incrementAndGet();
            }
          }
          return null;
        };
    try (ExecutorService readers = Executors.newFixedThreadPool(2)) {
      List<Future<Void>> results = List.of(readers.submit(reader), readers.submit(reader));
      try {
        for (int i = 1; i < 300 || (reads.get() < 100 && !results.get(0).isDone()); i++) {
          assertThat(values.put(KEY, versions.get(i % 8), i, Evict.NONE)).isTrue();
        }
      } finally {
        ended.set(true);
      }
      for (Future<Void> result : results) {
        result.get();
      }
    }
  }

  @Test
  void aValueWithAMissingPartIsNotFoundAndIsReplaced() throws Exception {
    byte[] value = random(2 << 20, 1);
    assertThat(values.put(KEY, value, 1, Evict.NONE)).isTrue();
    long all = file.counts.records();
    List<ContentChunks.Part> parts = new ContentChunks(value, saltOf(KEY), MOST).parts;
    assertThat(parts).hasSize((int) all - 1);
    for (ContentChunks.Part part : List.of(parts.get(7), parts.get(parts.size() - 1))) {
      assertThat(file.remove(StoredKey.ofPart(KEY, part.id(), 0))).isTrue();
      assertThrows(DamagedEntryException.class, () -> values.read(KEY));
      // The next version finds what is missing, whatever the lists say.
      assertThat(values.put(KEY, value, 1, Evict.NONE)).isTrue();
      assertThat(Arrays.equals(read(KEY), value)).isTrue();
      assertThat(file.counts.records()).isEqualTo(all);
    }
  }

  private long saltOf(byte[] key) {
    byte[] record = file.headOf(StoredKey.ofValue(key));
    return ChunkRoot.decode(Arrays.copyOfRange(record, 16, record.length)).salt();
  }

  /** A value that is put again and again stays, though most of its parts were put long ago. */
  @Test
  void aFullFileEvictsWholeValuesAndKeepsWhatIsBeingPut() throws Exception {
    byte[] unused = {7};
    assertThat(values.put(unused, random(6 << 20, 2), 4, Evict.NONE)).isTrue();
    byte[] value = random(4 << 20, 1);
    Random random = new Random(6);
    for (int i = 0; i < 60; i++) {
      value = insert(value, random.nextInt(value.length), random(50, i));
      assertThat(values.put(KEY, value, 5 + i, Evict.LEAST_USED)).isTrue();
      // Others fill the file twice.
      for (int j = 0; j < 70; j++) {
        byte[] other = {(byte) i, (byte) (i >> 8), (byte) j};
        assertThat(values.put(other, random(10_000, j), 5 + i, Evict.LEAST_USED)).isTrue();
      }
      byte[] there = read(KEY);
      if (i > 30 || there != null) {
        assertThat(Arrays.equals(there, value)).isTrue();
      }
    }
    assertThat(evictions.sum()).isGreaterThan(500);
    assertThat(read(unused) == null).isTrue();
    assertThat(partsOf(unused)).isEqualTo(0);
    values.remove(KEY);
    assertThat(partsOf(KEY)).isEqualTo(0);
  }

  private int partsOf(byte[] key) {
    int[] parts = {0};
    for (int i = 0; i < file.geometry.segments(); i++) {
      file.scanSegment(
          i,
          (storedKey, created, bytes) -> {
            if (StoredKey.isPart(storedKey) && Arrays.equals(StoredKey.keyOf(storedKey), key)) {
              parts[0]++;
            }
          });
    }
    return parts[0];
  }
}
