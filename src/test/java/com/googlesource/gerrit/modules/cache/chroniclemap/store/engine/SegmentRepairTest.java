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
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Segments whose user died are put in order where they are, and Chronicle-Map goes on with them.
 */
class SegmentRepairTest {
  private static final int KEYS = 2000;
  private static final int SMALL = 100 << 10;
  private static final int LARGE = 4 << 20;

  @TempDir Path temp;
  private Path path;
  private Geometry geometry;
  private FileLayout layout;
  private long values;

  /** Puts that found no room. */
  private int refused;

  private final LongAdder damaged = new LongAdder();
  private final Map<Integer, byte[]> model = new HashMap<>();

  @BeforeEach
  void setUp() {
    path = temp.resolve("file.chm");
  }

  private static byte[] key(int number) {
    return StoredKey.ofValue(("a key " + number).getBytes(UTF_8));
  }

  private static int number(byte[] storedKey) {
    return Integer.parseInt(
        new String(StoredKey.keyOf(storedKey), UTF_8).substring("a key ".length()));
  }

  private void make(int bytes, Random random) throws Exception {
    geometry = Geometry.forFileOf(bytes, Geometry.DEFAULT_BYTES_PER_SLOT);
    RecordMap file = TestStores.file(path, geometry);
    layout = file.layout;
    work(file, random, 6000);
    file.close();
  }

  private void work(RecordMap file, Random random, int rounds) {
    for (int round = 0; round < rounds; round++) {
      int number = random.nextInt(KEYS);
      if (random.nextInt(5) == 0) {
        file.remove(key(number));
        model.remove(number);
        continue;
      }
      byte[] value = new byte[random.nextInt(Math.min(3000, file.geometry.maxPayload()))];
      random.nextBytes(value);
      Envelope.NewRecord record =
          Envelope.wrap(key(number), Envelope.WHOLE, round, value, 0, value.length);
      model.remove(number);
      if (file.put(key(number), record, false).fitted()) {
        model.put(number, value);
      } else {
        refused++;
      }
    }
  }

  /** Opens the file as after a crash of the machine. */
  private RecordMap open() throws IOException {
    return MappedRecordTest.open(path, geometry, FileState.Verdict.UNSURE, damaged);
  }

  /** Files of which some segments are never used take no heap for the others. */
  @Test
  void theHeapForItIsTheProcesses() throws Exception {
    List<RecordMap> files = new ArrayList<>();
    try {
      for (int i = 0; i < 10; i++) {
        path = temp.resolve("file" + i + ".chm");
        geometry = Geometry.forFileOf(2 * LARGE, Geometry.DEFAULT_BYTES_PER_SLOT);
        TestStores.file(path, geometry).close();
        files.add(open());
      }
      long before = TestStores.usedHeap();
      for (RecordMap file : files) {
        for (int segment = 0; segment < 6; segment++) {
          file.check(segment);
        }
        assertThat(file.state.counts.unchecked()).isEqualTo(2);
      }
      assertThat(TestStores.usedHeap() - before).isLessThan(12L << 20);
    } finally {
      files.forEach(RecordMap::close);
    }
  }

  /** Puts all segments in order; returns how many slots led to no valid record. */
  private long repairAll() throws IOException {
    RecordMap file = open();
    try {
      assertThat(file.state.counts.unchecked()).isEqualTo(file.geometry.segments());
      damaged.reset();
      for (int i = 0; i < file.geometry.segments(); i++) {
        file.check(i);
      }
      assertThat(file.state.counts.unchecked()).isEqualTo(0);
      values = file.state.counts.values();
      return damaged.sum();
    } finally {
      file.close();
    }
  }

  /** Otherwise each check after a crash would write what it has read. */
  @Test
  void soundSegmentsStayAsTheyAre() throws Exception {
    geometry = Geometry.forFileOf(4 * LARGE, Geometry.DEFAULT_BYTES_PER_SLOT);
    RecordMap file = TestStores.file(path, geometry);
    // Nearly all slots are used, and runs of them go on from the last one to the first.
    boolean fits = true;
    for (int i = 0; fits; i++) {
      fits =
          file.put(key(i), Envelope.wrap(key(i), Envelope.WHOLE, 0, new byte[0], 0, 0), true)
              .fitted();
    }
    file.close();
    Path before = Files.copy(path, temp.resolve("before"));
    assertThat(repairAll()).isEqualTo(0);
    assertThat(Files.mismatch(before, path)).isEqualTo(-1);
  }

  /** A process is killed while a segment gets more slots: the upper ones are written first. */
  @Test
  void slotsThatWereBeingSpread() throws Exception {
    geometry = Geometry.forFileOf(LARGE, Geometry.DEFAULT_BYTES_PER_SLOT);
    List<byte[]> keys = new ArrayList<>();
    int few = 1024;
    byte[] before = new byte[2 * few * Integer.BYTES];
    byte[] after = new byte[before.length];
    int room = 0;
    RecordMap file = RecordMapBuilder.create(Disk.REAL, path, geometry, true);
    try (FileChannel channel = FileChannel.open(path, READ)) {
      layout = file.layout;
      for (int i = 0; layout.slotsIn(file.counts.room(0)) <= few; i++) {
        if (file.segmentOf(key(i)) == 0) {
          while (!file.put(key(i), record(key(i)), true).fitted()) {
            channel.read(ByteBuffer.wrap(before), layout.offsetOf(0));
            room = file.counts.room(0);
            assertThat(file.takeDisk(0, 1, 0)).isTrue();
            channel.read(ByteBuffer.wrap(after), layout.offsetOf(0));
          }
          keys.add(key(i));
        }
      }
      // The last one was put after its segment got more slots.
      file.remove(keys.removeLast());
    } finally {
      file.close();
    }
    assertThat(keys.size()).isGreaterThan(few / 3);
    int free = 0;
    while (ByteBuffer.wrap(before).getInt(free) != 0) {
      free += Integer.BYTES;
    }
    for (int written = 0; written <= before.length; written += before.length / 32) {
      try (FileChannel channel = FileChannel.open(path, WRITE)) {
        byte[] mixed = before.clone();
        for (int i = 0; i < written; i++) {
          // The last bytes are those before the first free slot.
          int at = i < before.length / 2 ? before.length / 2 + i : (i + free) % (before.length / 2);
          mixed[at] = after[at];
        }
        SegmentReader.writeFully(channel, layout.offsetOf(0), ByteBuffer.wrap(mixed));
      }
      long blocks = TestStores.blocks(path);
      RecordMap killed = open();
      try {
        // What it has got counts last.
        killed.counts.setRoom(0, room);
        killed.check(0);
        // The disk may be full.
        assertThat(TestStores.blocks(path)).isAtMost(blocks);
        for (byte[] key : keys) {
          assertThat(killed.contains(key)).isTrue();
        }
        assertThat(killed.counts.records(0)).isEqualTo(keys.size());
      } finally {
        killed.close();
      }
    }
    assertThat(damaged.sum()).isEqualTo(0);
  }

  private static Envelope.NewRecord record(byte[] key) {
    return Envelope.wrap(key, Envelope.WHOLE, 0, new byte[100], 0, 100);
  }

  /** What the file holds is what the model holds, and stays so while it is worked on. */
  private void check(Random random) throws Exception {
    RecordMap file = open();
    try {
      checkNow(file);
      for (int i = 0; i < 5; i++) {
        work(file, random, 1000);
        checkNow(file);
      }
    } finally {
      file.close();
    }
  }

  private void checkNow(RecordMap file) throws Exception {
    for (int number = 0; number < KEYS; number++) {
      StoredValue stored = file.read(key(number));
      assertWithMessage("key %s", number)
          .that(stored == null ? null : stored.payload())
          .isEqualTo(model.get(number));
    }
    assertThat(file.state.counts.unchecked()).isEqualTo(0);
    assertThat(file.state.counts.records()).isEqualTo(model.size());
    assertThat(file.state.counts.values()).isEqualTo(model.size());
    Set<Integer> visited = new HashSet<>();
    SegmentReader reader = file.reader();
    for (int i = 0; i < file.geometry.segments(); i++) {
      assertThat(reader.read(i, record -> visited.add(number(record.storedKey())))).isEqualTo(0);
    }
    assertThat(visited).isEqualTo(model.keySet());
  }

  /** Chronicle-Map has it in the file, and takes it whenever a segment has no room. */
  @Test
  void lockOfTheWholeFileIsFreed() throws Exception {
    make(SMALL, new Random(1));
    ByteBuffer header = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
    int headerEnd = 12 + (header.getInt(FileLayout.SIZE_WORD_IN_FILE) & 0x3FFF_FFFF);
    int lockAt = (headerEnd + 63) / 64 * 64;
    assertThat(header.getLong(lockAt)).isEqualTo(0);
    try (FileChannel channel = FileChannel.open(path, WRITE)) {
      int unused = channel.write(ByteBuffer.wrap(new byte[] {0, 0, 0, (byte) 0x80}), lockAt);
    }
    open().close();
    assertThat(ByteBuffer.wrap(Files.readAllBytes(path)).getLong(lockAt)).isEqualTo(0);
  }

  /** The file's bytes, and where things are in them. */
  private final class Corpse {
    final byte[] bytes;
    final ByteBuffer buffer;

    /** Offsets in the file of the slots in use, by key. */
    final Map<Integer, Integer> slots = new TreeMap<>();

    Corpse() throws IOException {
      bytes = Files.readAllBytes(path);
      buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
      RecordView record = new RecordView();
      for (int i = 0; i < layout.segments; i++) {
        for (int at = slotsAt(i); at < slotsAt(i) + slotBytes(); at += layout.slotBytes) {
          if (slot(at) != 0 && record.parse(bytes, entryAt(at), layout.maxRecord)) {
            slots.put(number(record.storedKey()), at);
          }
        }
      }
    }

    int slotsAt(int segment) {
      return (int) layout.segmentsOffset + segment * layout.segmentBytes;
    }

    int slotBytes() {
      return layout.slots * layout.slotBytes;
    }

    int segmentOf(int at) {
      return (at - (int) layout.segmentsOffset) / layout.segmentBytes;
    }

    long slot(int at) {
      return layout.slot(buffer, at);
    }

    void setSlot(int at, long slot) {
      assertThat(layout.slotBytes).isEqualTo(Integer.BYTES);
      buffer.putInt(at, (int) slot);
    }

    int entryAt(int at) {
      return (int)
          (slotsAt(segmentOf(at))
              + layout.chunksOffset
              + layout.chunkOf(slot(at)) * layout.chunkBytes);
    }

    /** The next slot that is free. */
    int freeSlotAfter(int at) {
      int first = slotsAt(segmentOf(at));
      int next = at;
      do {
        next = first + (next + layout.slotBytes - first) % slotBytes();
      } while (slot(next) != 0);
      return next;
    }

    RecordView record(int at) {
      RecordView record = new RecordView();
      assertThat(record.parse(bytes, entryAt(at), layout.maxRecord)).isTrue();
      return record;
    }

    void write() throws IOException {
      Files.write(path, bytes);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6})
  void whatChronicleMapLeavesNeedsNoRepair(int seed) throws Exception {
    Random random = new Random(seed);
    make(seed % 2 == 0 ? SMALL : LARGE, random);
    assertThat(refused).isAtLeast(seed % 2 == 0 ? 100 : 0);
    byte[] before = Files.readAllBytes(path);
    assertThat(repairAll()).isEqualTo(0);
    assertThat(values).isEqualTo(model.size());
    assertThat(Files.readAllBytes(path)).isEqualTo(before);
    check(random);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void whatADeathLeavesIsPutInOrder(int seed) throws Exception {
    Random random = new Random(seed);
    make(seed % 2 == 0 ? SMALL : LARGE, random);
    Corpse corpse = new Corpse();
    assertThat(corpse.slots.keySet()).isEqualTo(model.keySet());
    int torn = 0;
    for (Map.Entry<Integer, Integer> slot : corpse.slots.entrySet()) {
      int number = slot.getKey();
      int at = slot.getValue();
      switch (random.nextInt(20)) {
        case 0 -> {
          // Half written.
          RecordView record = corpse.record(at);
          int recordAt = record.end() - (record.length() - record.keyLength);
          corpse.bytes[recordAt + Envelope.CREATED_OFFSET + random.nextInt(8)] ^= 1;
          model.remove(number);
          torn++;
        }
        case 1 -> {
          // Removed, and the others have not moved up.
          corpse.setSlot(at, 0);
          model.remove(number);
        }
        case 2 -> {
          // Made void, and not removed yet.
          RecordView record = corpse.record(at);
          int recordAt = record.end() - (record.length() - record.keyLength);
          corpse.bytes[recordAt + Envelope.INVALIDATED_OFFSET] |= (byte) Envelope.INVALIDATED_BYTE;
          model.remove(number);
        }
        case 3 -> // being moved
            corpse.setSlot(corpse.freeSlotAfter(at), corpse.slot(at));
        case 4 -> {
          // Chunks taken for nothing, or given back too early.
          int freeList = corpse.slotsAt(corpse.segmentOf(at)) + layout.freeListOffset;
          corpse.bytes[freeList + random.nextInt(layout.freeListBytes)] = (byte) random.nextInt();
        }
        default -> {}
      }
    }
    corpse.write();

    assertThat(repairAll()).isEqualTo(torn);
    assertThat(values).isEqualTo(model.size());
    // And a second time, as after a death in the middle of the first.
    assertThat(repairAll()).isEqualTo(0);
    check(random);
  }

  @Test
  void aSegmentInWhichAKeyStandsTwiceIsEmptied() throws Exception {
    Random random = new Random(1);
    make(LARGE, random);
    Corpse corpse = new Corpse();
    int at = corpse.slots.values().iterator().next();
    int other =
        corpse.slots.values().stream()
            .filter(
                slot ->
                    corpse.segmentOf(slot) == corpse.segmentOf(at)
                        && corpse.record(slot).length() > corpse.record(at).length() + 10)
            .findFirst()
            .orElseThrow();
    // The same entry once more, in place of another one.
    System.arraycopy(
        corpse.bytes,
        corpse.entryAt(at),
        corpse.bytes,
        corpse.entryAt(other),
        corpse.record(at).end() - corpse.entryAt(at));
    long chunk = layout.chunkOf(corpse.slot(other));
    corpse.setSlot(
        corpse.freeSlotAfter(at), layout.keyOf(corpse.slot(at)) | chunk << layout.keyBits);
    corpse.write();
    corpse.slots.forEach(
        (number, slot) -> {
          if (corpse.segmentOf(slot) == corpse.segmentOf(at)) {
            model.remove(number);
          }
        });
    assertThat(model).isNotEmpty();
    assertThat(repairAll()).isAtLeast(1);
    check(random);
  }

  @Test
  void aRecordAtThePlaceOfAnotherKeyIsDropped() throws Exception {
    Random random = new Random(1);
    make(LARGE, random);
    Corpse corpse = new Corpse();
    int number = corpse.slots.keySet().iterator().next();
    int at = corpse.slots.get(number);
    corpse.setSlot(at, corpse.slot(at) ^ 1);
    corpse.write();
    model.remove(number);
    assertThat(repairAll()).isEqualTo(1);
    check(random);
  }
}
