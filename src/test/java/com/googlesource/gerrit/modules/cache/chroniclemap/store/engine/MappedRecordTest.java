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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.engine;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.primitives.Bytes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import net.openhft.chronicle.hash.impl.BigSegmentHeader;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import net.openhft.chronicle.map.VanillaChronicleMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Records are read where they are, past Chronicle-Map, which writes them. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class MappedRecordTest {
  private static final int KEYS = 300;

  @TempDir Path temp;
  private Path path;
  private Geometry geometry;
  private RecordMap file;
  private final LongAdder damaged = new LongAdder();
  private final ExecutorService pool = Executors.newFixedThreadPool(2);

  @AfterEach
  void close() {
    pool.close();
    if (file != null) {
      file.close();
    }
  }

  /** Opens a file of which somebody has judged so. */
  static RecordMap open(Path path, Geometry geometry, FileState.Verdict verdict, LongAdder damaged)
      throws IOException {
    FileState state = FileState.open(Disk.REAL, path, geometry.segments()).orElseThrow();
    state.noteMapping();
    state.takeOver(verdict);
    return RecordMapBuilder.open(Disk.REAL, path, geometry, state, damaged);
  }

  /** Makes a file of one segment. */
  private void make(int slotBytes) throws Exception {
    path = temp.resolve("file.chm");
    geometry =
        slotBytes == Long.BYTES
            ? new Geometry(1, 64, (1 << 18) + 64, 1 << 15)
            : Geometry.forFileOf(1 << 20, Geometry.DEFAULT_BYTES_PER_SLOT);
    TestStores.file(path, geometry).close();
    file = open(path, geometry, FileState.Verdict.UNSURE, damaged);
    assertThat(file.layout.slotBytes).isEqualTo(slotBytes);
    assertThat(file.layout.segments).isEqualTo(1);
  }

  /** Keys and their lengths take one byte or two. */
  private static byte[] key(int number) {
    byte[] out = Arrays.copyOf(TestStores.key(number), 10 + number);
    return StoredKey.ofValue(out);
  }

  private boolean put(byte[] key, byte[] payload, int kind) {
    return file.put(key, Envelope.wrap(key, kind, 7, payload, 0, payload.length), true).fitted();
  }

  private void put(byte[] key, byte[] payload) {
    assertThat(put(key, payload, Envelope.WHOLE)).isTrue();
  }

  private byte[] read(byte[] key) throws DamagedEntryException {
    StoredValue found = file.read(key);
    return found == null || found.isInvalidated() ? null : found.payload();
  }

  private boolean isInvalidated(byte[] key) {
    try {
      StoredValue found = file.read(key);
      return found != null && found.isInvalidated();
    } catch (DamagedEntryException e) {
      throw new AssertionError(e);
    }
  }

  /** The builder that anybody would use, with what is said of these files. */
  private static ChronicleMapBuilder<byte[], byte[]> plainBuilder(Geometry geometry) {
    return ChronicleMapBuilder.of(byte[].class, byte[].class)
        .actualSegments(geometry.segments())
        .actualChunkSize(geometry.chunkSize())
        .actualChunksPerSegmentTier(geometry.chunksPerSegment())
        .entriesPerSegment(geometry.entriesPerSegment())
        .entries(geometry.entriesPerSegment() * geometry.segments())
        .checksumEntries(false);
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 8})
  void readsFindWhatWasWrittenAndSoDoesPlainChronicleMap(int slotBytes) throws Exception {
    make(slotBytes);
    Random random = new Random(slotBytes);
    Map<Integer, byte[]> model = new HashMap<>();
    for (int i = 0; i < 5000; i++) {
      int number = random.nextInt(KEYS);
      switch (random.nextInt(8)) {
        case 0 -> {
          assertThat(file.remove(key(number))).isEqualTo(model.remove(number) != null);
        }
        case 1 -> {
          file.invalidate(key(number));
          assertThat(isInvalidated(key(number))).isEqualTo(model.containsKey(number));
          assertThat(read(key(number))).isNull();
          assertThat(file.remove(key(number))).isEqualTo(model.remove(number) != null);
        }
        default -> {
          // Lengths of one byte to three.
          int most = random.nextInt(10) == 0 ? geometry.maxPayload() : 200;
          byte[] payload = new byte[random.nextInt(100) == 0 ? most : random.nextInt(most + 1)];
          random.nextBytes(payload);
          model.remove(number);
          if (put(key(number), payload, Envelope.WHOLE)) {
            model.put(number, payload);
          }
        }
      }
      int other = random.nextInt(KEYS);
      assertThat(read(key(other))).isEqualTo(model.get(other));
      assertThat(file.contains(key(other))).isEqualTo(model.containsKey(other));
    }
    assertThat(model.size()).isAtLeast(20);
    byte[] head = new byte[PartList.ENCODED_LENGTH];
    assertThat(put(key(KEYS), head, Envelope.HEAD)).isTrue();
    byte[] headRecord = file.headOf(key(KEYS));
    assertThat(Envelope.isValid(key(KEYS), headRecord)).isTrue();
    List<byte[]> scanned = new ArrayList<>();
    file.scanSegment(
        0,
        (key, created, bytes) -> {
          assertThat(created).isEqualTo(7);
          // Nested, in the same thread and segment.
          assertThat(file.contains(key)).isTrue();
          assertThat(isInvalidated(key)).isFalse();
          assertThat(file.headOf(key) != null).isEqualTo(Arrays.equals(key, key(KEYS)));
          scanned.add(key);
        });
    assertThat(scanned).hasSize(model.size() + 1);
    file.close();
    file = null;
    try (ChronicleMap<byte[], byte[]> plain =
        plainBuilder(geometry).createPersistedTo(path.toFile())) {
      assertThat(plain.get(key(KEYS))).isEqualTo(headRecord);
      for (int number = 0; number < KEYS; number++) {
        byte[] payload = model.get(number);
        byte[] record =
            payload == null
                ? null
                : Bytes.concat(
                    Envelope.wrap(key(number), Envelope.WHOLE, 7, payload, 0, payload.length)
                        .header(),
                    payload);
        assertWithMessage("key %s", number).that(plain.get(key(number))).isEqualTo(record);
      }
    }
  }

  @Test
  void aPayloadIsReadIntoAnArrayWhereThereIsRoom() throws Exception {
    make(Integer.BYTES);
    put(key(1), new byte[] {1, 2, 3});
    byte[] target = new byte[5];
    assertThat(file.readInto(key(1), target, 2)).isEqualTo(3);
    assertThat(target).isEqualTo(new byte[] {0, 0, 1, 2, 3});
    assertThrows(DamagedEntryException.class, () -> file.readInto(key(1), target, 3));
    assertThrows(IndexOutOfBoundsException.class, () -> file.readInto(key(1), target, 6));
    assertThat(target).isEqualTo(new byte[] {0, 0, 1, 2, 3});
    assertThat(file.readInto(key(2), target, 0)).isEqualTo(-1);
    file.invalidate(key(1));
    assertThat(file.readInto(key(1), target, 3)).isEqualTo(-1);
  }

  /** As its writer may have been about to overwrite it. */
  @Test
  void anInvalidatedRecordIsNotChecked() throws Exception {
    make(Integer.BYTES);
    put(key(1), new byte[100]);
    harm(entryAt() + 1L + key(1).length + 1 + Envelope.HEADER_LENGTH + 50, (byte) 1);
    assertThrows(DamagedEntryException.class, () -> file.read(key(1)));
    file.invalidate(key(1));
    assertThat(file.read(key(1)).isInvalidated()).isTrue();
    assertThat(file.contains(key(1))).isTrue();
  }

  // ---- damage

  private FileChannel channel() throws IOException {
    return FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  private void harm(long at, byte... bytes) throws IOException {
    try (FileChannel channel = channel()) {
      SegmentReader.writeFully(channel, at, ByteBuffer.wrap(bytes));
    }
  }

  private ByteBuffer slots() throws IOException {
    ByteBuffer slots = ByteBuffer.allocate(file.layout.countersOffset);
    try (FileChannel channel = channel()) {
      assertThat(SegmentReader.readFully(channel, file.layout.offsetOf(0), slots)).isTrue();
    }
    return slots.order(ByteOrder.LITTLE_ENDIAN);
  }

  /** The offset within the segment of the only slot in use. */
  private int slotAt() throws IOException {
    ByteBuffer slots = slots();
    int at = 0;
    while (file.layout.slot(slots, at) == 0) {
      at += file.layout.slotBytes;
    }
    return at;
  }

  /** The offset in the file of the only entry. */
  private long entryAt() throws IOException {
    return offsetOf(file.layout.chunkOf(file.layout.slot(slots(), slotAt())));
  }

  private long offsetOf(long chunk) {
    return file.layout.offsetOf(0) + file.layout.startOf(chunk);
  }

  private void setChunk(long chunk) throws IOException {
    int at = slotAt();
    long slot = file.layout.keyOf(file.layout.slot(slots(), at)) | chunk << file.layout.keyBits;
    byte[] bytes = new byte[Long.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(slot);
    harm(file.layout.offsetOf(0) + at, Arrays.copyOf(bytes, file.layout.slotBytes));
  }

  /** The record is not found, its segment is repaired, and takes records again. */
  private void checkRepaired() throws Exception {
    assertThat(file.read(key(1))).isNull();
    assertThat(damaged.sum()).isEqualTo(1);
    put(key(1), new byte[] {5});
    assertThat(read(key(1))).isEqualTo(new byte[] {5});
    assertThat(damaged.sum()).isEqualTo(1);
  }

  private enum Damage {
    SLOT_LEADS_OUT_OF_ITS_SEGMENT,
    KEY_ENDS_BEHIND_ITS_SEGMENT,
    RECORD_ENDS_BEHIND_ITS_SEGMENT,
    LENGTH_OF_KEY_DOES_NOT_END,
    LENGTH_OF_RECORD_DOES_NOT_END,
    /** Chronicle-Map would free another number of chunks than that of the record that was read. */
    LENGTH_HAS_MORE_BYTES_THAN_IT_NEEDS
  }

  @ParameterizedTest
  @EnumSource
  void aDamagedRecordIsDropped(Damage damage) throws Exception {
    for (int slotBytes : new int[] {Integer.BYTES, Long.BYTES}) {
      make(slotBytes);
      put(key(1), new byte[100]);
      int last = file.layout.chunks - 1;
      long lengthAt = entryAt() + 1L + key(1).length;
      byte[] endless = new byte[7];
      Arrays.fill(endless, (byte) -1);
      switch (damage) {
        case SLOT_LEADS_OUT_OF_ITS_SEGMENT -> setChunk(file.layout.chunkMask);
        case KEY_ENDS_BEHIND_ITS_SEGMENT -> {
          harm(offsetOf(last), (byte) 100);
          setChunk(last);
        }
        case RECORD_ENDS_BEHIND_ITS_SEGMENT -> {
          // 400 bytes, of which there are less than 64.
          harm(offsetOf(last), Bytes.concat(new byte[] {(byte) key(1).length}, key(1)));
          harm(offsetOf(last) + 1L + key(1).length, (byte) 0x90, (byte) 3);
          setChunk(last);
        }
        case LENGTH_OF_KEY_DOES_NOT_END -> harm(entryAt(), endless);
        case LENGTH_OF_RECORD_DOES_NOT_END -> harm(lengthAt, endless);
        case LENGTH_HAS_MORE_BYTES_THAN_IT_NEEDS -> harm(lengthAt, (byte) (0x80 | 116), (byte) 0);
      }
      checkRepaired();
      file.close();
      Files.delete(path);
      Files.delete(FileState.pathOf(path));
      damaged.reset();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 15})
  void aRecordWithoutAHeader(int length) throws Exception {
    make(Integer.BYTES);
    put(key(1), new byte[100]);
    harm(entryAt() + 1L + key(1).length, (byte) length);
    // Its kind may be behind the segment.
    assertThat(file.headOf(key(1))).isNull();
    assertThat(damaged.sum()).isEqualTo(1);
    checkRepaired();
  }

  @Test
  void aSegmentWithoutAFreeSlot() throws Exception {
    make(Integer.BYTES);
    put(key(1), new byte[100]);
    int slot = slots().getInt(slotAt());
    byte[] all = new byte[file.layout.slots * Integer.BYTES];
    ByteBuffer slots = ByteBuffer.wrap(all).order(ByteOrder.LITTLE_ENDIAN);
    for (int at = 0; at < all.length; at += Integer.BYTES) {
      slots.putInt(at, slot ^ 1);
    }
    harm(file.layout.offsetOf(0), all);
    assertThat(file.read(key(1))).isNull();
    assertThat(damaged.sum()).isAtLeast(1);
    put(key(1), new byte[] {5});
    assertThat(read(key(1))).isEqualTo(new byte[] {5});
  }

  // ---- what the mapping and the locks are

  /** Another version of Chronicle-Map, say. */
  @Test
  void aFileOfAnotherLayoutIsNotOpened() throws Exception {
    geometry = Geometry.forFileOf(1 << 20, Geometry.DEFAULT_BYTES_PER_SLOT);
    ChronicleRuntime.prepare();
    checkRefused(plainBuilder(geometry).checksumEntries(true));
    checkRefused(
        plainBuilder(new Geometry(1, 64, 1000, 500)).entryAndValueOffsetAlignment(Long.BYTES));
    FileLayout layout;
    try (ChronicleMap<byte[], byte[]> map = plainBuilder(geometry).create()) {
      VanillaChronicleMap<?, ?, ?> changed = (VanillaChronicleMap<?, ?, ?>) map;
      layout = new FileLayout(changed, 100);
      assertThat(layout.slotBytes).isEqualTo(Integer.BYTES);
      changed.tierEntrySpaceInnerOffset = 4;
      assertThrows(IllegalStateException.class, () -> new FileLayout(changed, 100));
    }
    // Nor is it deleted: it is as it was made.
    path = temp.resolve("other.chm");
    plainBuilder(geometry).checksumEntries(true).createPersistedTo(path.toFile()).close();
    FileState state = FileState.create(Disk.REAL, path, geometry.segments());
    state.noteMapping();
    state.describe(Disk.REAL.size(path), layout);
    state.complete();
    Throwable e =
        assertThrows(
            IllegalStateException.class,
            () -> RecordMapBuilder.open(Disk.REAL, path, geometry, state, damaged));
    assertThat(e).hasMessageThat().contains("laid out in another way");
    state.release();
  }

  private void checkRefused(ChronicleMapBuilder<byte[], byte[]> builder) {
    try (ChronicleMap<byte[], byte[]> map = builder.create()) {
      assertThrows(
          IllegalStateException.class,
          () -> new FileLayout((VanillaChronicleMap<?, ?, ?>) map, 100));
    }
  }

  @Test
  void aReadWaitsForAWriterButNotForOneThatOnlyMayWrite() throws Exception {
    make(Integer.BYTES);
    put(key(1), new byte[] {5});
    BigSegmentHeader locks = BigSegmentHeader.INSTANCE;
    long header = file.headers.header(0);
    assertThat(locks.tryUpdateLock(header)).isTrue();
    assertThat(read(key(1))).isEqualTo(new byte[] {5});
    assertThat(locks.tryUpgradeUpdateToWriteLock(header)).isTrue();
    assertThrows(StoreBusyException.class, () -> file.read(key(1)));
    assertThrows(StoreBusyException.class, () -> file.contains(key(1)));
    assertThrows(StoreBusyException.class, () -> file.scanSegment(0, (key, created, bytes) -> {}));
    Future<Boolean> waiting = pool.submit(() -> file.contains(key(1)));
    locks.writeUnlock(header);
    assertThat(waiting.get()).isTrue();
    // All locks were given back.
    assertThat(locks.tryWriteLock(header)).isTrue();
    locks.writeUnlock(header);
    // A failed read gives its lock back, too.
    harm(entryAt() + 1L + key(1).length + 1 + Envelope.HEADER_LENGTH, (byte) 6);
    assertThrows(DamagedEntryException.class, () -> file.read(key(1)));
    assertThat(locks.tryWriteLock(header)).isTrue();
    locks.writeUnlock(header);
    assertThat(damaged.sum()).isEqualTo(0);
  }

  @Test
  void aWriterWaitsForReaders() throws Exception {
    make(Integer.BYTES);
    put(key(1), new byte[] {5});
    file.scanSegment(
        0,
        (key, created, bytes) -> {
          Future<?> writing = pool.submit(() -> put(key(1), new byte[] {6}));
          Throwable e = assertThrows(ExecutionException.class, writing::get);
          assertThat(e).hasCauseThat().isInstanceOf(StoreBusyException.class);
        });
    assertThat(read(key(1))).isEqualTo(new byte[] {5});
    put(key(1), new byte[] {6});
    assertThat(read(key(1))).isEqualTo(new byte[] {6});
  }

  /** A read of memory that is not mapped would end the process. */
  @Test
  void aClosedFileIsNotRead() throws Exception {
    make(Integer.BYTES);
    put(key(1), new byte[] {5});
    file.close();
    assertThat(file.read(key(1))).isNull();
    assertThat(file.contains(key(1))).isFalse();
    assertThrows(IllegalStateException.class, () -> put(key(1), new byte[] {6}));
    assertThrows(IllegalStateException.class, () -> file.scanSegment(0, (key, time, bytes) -> {}));
    file = null;
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 8})
  void readersFindWholeValuesWhileTheyAreReplaced(int slotBytes) throws Exception {
    make(slotBytes);
    AtomicBoolean ended = new AtomicBoolean();
    CountDownLatch found = new CountDownLatch(2 * 1000);
    List<Future<?>> readers = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      int seed = i;
      readers.add(
          pool.submit(
              () -> {
                readUntil(ended, new Random(seed), found);
                return null;
              }));
    }
    Random random = new Random(slotBytes);
    // Goes on while the readers have met too little, unless one of them has failed.
    for (int i = 0;
        i < 100_000 || (found.getCount() > 0 && readers.stream().noneMatch(Future::isDone));
        i++) {
      byte[] key = key(random.nextInt(10));
      switch (random.nextInt(6)) {
        case 0 -> file.remove(key);
        case 1 -> file.invalidate(key);
        default -> {
          byte[] payload = new byte[random.nextInt(random.nextInt(4) == 0 ? 4000 : 60)];
          Arrays.fill(payload, (byte) i);
          put(key, payload);
        }
      }
    }
    ended.set(true);
    for (Future<?> reader : readers) {
      reader.get();
    }
    assertThat(found.getCount()).isEqualTo(0);
    assertThat(damaged.sum()).isEqualTo(0);
  }

  private void readUntil(AtomicBoolean ended, Random random, CountDownLatch found)
      throws DamagedEntryException {
    byte[] target = new byte[4000];
    while (!ended.get()) {
      byte[] key = key(random.nextInt(10));
      byte[] payload = read(key);
      if (payload != null) {
        checkWhole(payload, payload.length);
        found.countDown();
      }
      checkWhole(target, file.readInto(key, target, 0));
      assertThat(file.headOf(key)).isNull();
    }
  }

  private static void checkWhole(byte[] payload, int length) {
    for (int i = 1; i < length; i++) {
      assertThat(payload[i]).isEqualTo(payload[0]);
    }
  }
}
