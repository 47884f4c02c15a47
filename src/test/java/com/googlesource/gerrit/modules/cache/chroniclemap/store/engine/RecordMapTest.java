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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import net.openhft.chronicle.core.OS;
import net.openhft.posix.PosixAPI;
import net.openhft.posix.internal.PosixAPIHolder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a file of records asks of the system so that it is fast, and does no harm by it. */
class RecordMapTest {
  private static final int RECORD_BYTES = 3000;

  @TempDir Path temp;
  private Path path;
  @AutoClose private RecordMap file;
  private RecordMap sparse;

  @BeforeEach
  void make() throws Exception {
    path = temp.resolve("file.chm");
    file = TestStores.file(path, Geometry.forFileOf(8 << 20, Geometry.DEFAULT_BYTES_PER_SLOT));
  }

  @AfterEach
  void closeSparse() {
    if (sparse != null) {
      sparse.close();
    }
  }

  private static byte[] key(int number) {
    return StoredKey.ofValue(("key " + number).getBytes(UTF_8));
  }

  private static byte[] payload(int number) {
    return TestStores.random(RECORD_BYTES, number);
  }

  private void put(int number) {
    byte[] payload = payload(number);
    Envelope.NewRecord record =
        Envelope.wrap(key(number), Envelope.WHOLE, number, payload, 0, payload.length);
    assertThat(file.put(key(number), record, true).fitted()).isTrue();
  }

  private void check(int count) throws Exception {
    for (int i = 0; i < count; i++) {
      StoredValue found = file.read(key(i));
      assertWithMessage("record %s", i).that(found).isNotNull();
      assertThat(found.payload()).isEqualTo(payload(i));
    }
    assertThat(file.read(key(count))).isNull();
  }

  /** T1 repairs a segment, T2 removes all values, T1 notes what it has found and kept. */
  @Test
  void aRepairBringsNothingBackThatIsRemovedMeanwhile() throws Exception {
    put(0);
    int segment = file.segmentOf(key(0));
    for (boolean isMarkedAfter : new boolean[] {false, true}) {
      file.counts.mark(segment);
      file.counts.emptyAll();
      if (isMarkedAfter) {
        file.counts.mark(segment);
      }
      file.counts.checked(segment, 1, 1, RECORD_BYTES);
      assertThat(file.counts.records()).isEqualTo(0);
      assertThat(file.read(key(0))).isNull();
      for (int i = 0; i < file.counts.segments; i++) {
        file.check(i);
      }
      assertThat(file.counts.unchecked()).isEqualTo(0);
      assertThat(file.diskBytes()).isLessThan(1 << 20);
      assertThat(file.takeDisk(segment, 2 * RECORD_BYTES, 0)).isTrue();
      put(0);
      check(1);
    }
  }

  /** Each attempt to make a file on a full disk, say, once a minute. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFileThatCannotBeMadeIsNeitherOpenNorMapped(boolean allocates) throws Exception {
    Disk full =
        new Disk() {
          @Override
          public void mapping(Path file) throws IOException {
            throwIf(allocates);
          }

          @Override
          public FileChannel open(Path file, Set<? extends OpenOption> options) throws IOException {
            throwIf(options.contains(WRITE));
            return super.open(file, options);
          }

          private void throwIf(boolean isFull) throws IOException {
            if (isFull) {
              throw new IOException("No space left on device (a test)");
            }
          }
        };
    Path none = temp.toRealPath().resolve("none.chm");
    Geometry geometry = Geometry.forFileOf(1 << 20, Geometry.DEFAULT_BYTES_PER_SLOT);
    assertThat(ChronicleRuntime.allocatesDisk()).isTrue();
    if (!allocates) {
      // Zeros are written then.
      PosixAPI.useNoOpPosixApi();
    }
    try {
      for (int i = 0; i < 10; i++) {
        assertThrows(IOException.class, () -> RecordMapBuilder.create(full, none, geometry, true));
      }
    } finally {
      PosixAPIHolder.POSIX_API = null;
      PosixAPIHolder.loadPosixApi();
    }
    assertThat(Files.exists(none)).isFalse();
    assertThat(openOf(none)).isEqualTo(0);
    assertThat(openOf(FileState.pathOf(none))).isEqualTo(0);
    assertThat(openOf(FileState.pathOf(path))).isGreaterThan(0L);
  }

  /** How many file handles and mappings this process has of a file, which may be deleted. */
  private static long openOf(Path file) throws IOException {
    long count = 0;
    try (Stream<Path> handles = Files.list(Path.of("/proc/self/fd"))) {
      for (Path handle : handles.toList()) {
        try {
          count += Files.readSymbolicLink(handle).startsWith(file) ? 1 : 0;
          count += Files.readSymbolicLink(handle).toString().startsWith(file + " ") ? 1 : 0;
        } catch (NoSuchFileException e) {
          // It was that of the listing.
        }
      }
    }
    try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
      return count + mappings.filter(line -> line.contains(file.toString())).count();
    }
  }

  /** Or else the system reads, and writes, megabytes around each record on some machines. */
  @Test
  void theSystemIsToldThatRecordsAreReadHereAndThere() throws Exception {
    List<String> flags = flagsOfMappings();
    assertThat(flags).isNotEmpty();
    for (String line : flags) {
      assertThat(line).contains(" rr");
    }
  }

  /** The line of flags of each part of the file that is mapped, as proc(5) tells them. */
  private List<String> flagsOfMappings() throws IOException {
    String name = path.toRealPath().toString();
    boolean[] ours = {false};
    return Files.readAllLines(Path.of("/proc/self/smaps")).stream()
        .filter(
            line -> {
              if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                ours[0] = line.endsWith(" " + name);
              }
              return ours[0] && line.startsWith("VmFlags:");
            })
        .toList();
  }

  private RecordMap sparse() throws IOException {
    return RecordMapBuilder.create(
        Disk.REAL,
        temp.resolve("sparse.chm"),
        Geometry.forFileOf(8 << 20, Geometry.DEFAULT_BYTES_PER_SLOT),
        /* isComplete= */ true);
  }

  @Test
  void aSegmentTakesAQuarterMoreDisk() throws Exception {
    sparse = sparse();
    int times = 0;
    for (int before = 0; sparse.takeDisk(0, 1000, 0); times++) {
      int room = sparse.counts.room(0);
      int chunks = sparse.layout.chunksIn(room) - sparse.layout.chunksIn(before);
      assertThat(chunks).isAtLeast(before == 0 ? 1000 / 64 : 1);
      assertThat(room).isAtMost(Math.max(5 * before / 4, 40 << 10) + OS.pageSize());
      before = room;
    }
    assertThat(times).isAtMost(40);
    assertThat(sparse.counts.room(0)).isEqualTo(sparse.layout.fullRoom);
    assertThat(sparse.diskBytes()).isLessThan(sparse.fileBytes / 4);
  }

  @Test
  void aSegmentUsesMoreSlotsAsItGetsMoreChunks() throws Exception {
    sparse = sparse();
    Set<Integer> slots = new HashSet<>();
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; numbers.size() < 3000; i++) {
      if (sparse.segmentOf(key(i)) != 0) {
        continue;
      }
      Envelope.NewRecord record = Envelope.wrap(key(i), Envelope.WHOLE, 1, payload(i), 0, 150);
      while (!sparse.put(key(i), record, true).fitted()) {
        assertThat(sparse.takeDisk(0, record.length(), 0)).isTrue();
      }
      numbers.add(i);
      if (slots.add(sparse.layout.slotsIn(sparse.counts.room(0)))) {
        for (int number : numbers) {
          assertThat(sparse.read(key(number)).payload())
              .isEqualTo(Arrays.copyOf(payload(number), 150));
        }
        assertThat(sparse.dropDamaged(0)).isEqualTo(0);
        assertThat(sparse.counts.records(0)).isEqualTo(numbers.size());
      }
    }
    assertThat(slots).containsAtLeast(64, 128, 256, 512, 1024, 2048, 4096, 8192);
    for (int number : numbers) {
      assertThat(sparse.remove(key(number))).isTrue();
    }
  }

  /** Chronicle-Map finds free chunks wherever the bit set has zeros, as in a hole. */
  @Test
  void nothingIsWrittenWhereThereIsNoDisk() throws Exception {
    sparse = sparse();
    byte[] payload = new byte[1000];
    Envelope.NewRecord record = Envelope.wrap(key(1), Envelope.WHOLE, 1, payload, 0, 1000);
    assertThat(sparse.put(key(1), record, true).fitted()).isFalse();
    assertThat(sparse.remove(key(1))).isFalse();
    assertThat(sparse.read(key(1))).isNull();
    sparse.invalidate(key(1));
    int segment = sparse.segmentOf(key(1));
    sparse.scanSegment(segment, (key, created, bytes) -> {});
    assertThat(sparse.dropDamaged(segment)).isEqualTo(0);
    assertThat(sparse.diskBytes()).isLessThan(64 << 10);
    assertThat(sparse.takeDisk(segment, 1100, 0)).isTrue();
    assertThat(sparse.put(key(1), record, true).fitted()).isTrue();
    // Only as much as there is room for.
    for (int i = 2; sparse.counts.records() < 100 && i < 10_000; i++) {
      if (sparse.segmentOf(key(i)) == segment) {
        var unused =
            sparse.put(key(i), Envelope.wrap(key(i), Envelope.WHOLE, 1, payload, 0, 1000), true);
      }
    }
    assertThat(sparse.counts.bytes()).isAtMost(sparse.counts.room(segment));
    assertThat(sparse.counts.records()).isLessThan(20);
  }

  /** As where native code cannot be loaded. */
  @Test
  void withoutFallocateZerosAreWritten() throws Exception {
    PosixAPI.useNoOpPosixApi();
    try {
      assertThat(ChronicleRuntime.allocatesDisk()).isFalse();
      RecordMap sparse = sparse();
      try {
        for (int i = 0; i < sparse.layout.segments; i++) {
          assertThat(sparse.takeDisk(i, 100_000, 0)).isTrue();
        }
        sparse.force();
        assertThat(TestStores.blocks(temp.resolve("sparse.chm"))).isAtLeast(sparse.diskBytes());
        assertThat(sparse.dropDamaged(0)).isEqualTo(0);
      } finally {
        sparse.close();
      }
    } finally {
      PosixAPIHolder.POSIX_API = null;
      PosixAPIHolder.loadPosixApi();
    }
  }

  /** As on many machines with ARM processors: the system writes, hence needs, whole pages. */
  @Test
  void wholePagesGetDisk() throws Exception {
    int large = 64 << 10;
    Field pageSize = OS.class.getDeclaredField("pageSize");
    pageSize.setAccessible(true);
    int small = OS.pageSize();
    pageSize.setInt(null, large);
    try {
      RecordMap sparse = sparse();
      try {
        long before = TestStores.blocks(temp.resolve("sparse.chm"));
        assertThat(sparse.takeDisk(3, 1, 0)).isTrue();
        FileLayout layout = sparse.layout;
        long start = layout.offsetOf(3);
        long list = start + layout.countersOffset;
        Set<Long> pages = new HashSet<>();
        for (long at = start; at < start + sparse.counts.room(3); at++) {
          if (at < start + layout.slotsEnd(sparse.counts.room(3)) || at >= list) {
            pages.add(at / large);
          }
        }
        assertThat(TestStores.blocks(temp.resolve("sparse.chm")) - before)
            .isEqualTo((long) pages.size() * large);
      } finally {
        sparse.close();
      }
    } finally {
      pageSize.setInt(null, small);
    }
  }

  /** As where the system cannot give disk back, or native code cannot be loaded. */
  @Test
  void anEmptiedSegmentTakesNoDisk() throws Exception {
    sparse = sparse();
    Path path = temp.resolve("sparse.chm");
    try (FileChannel channel = FileChannel.open(path, READ, WRITE)) {
      assertThat(sparse.takeDisk(3, 1000, 0)).isTrue();
      long before = TestStores.blocks(path);
      // The system leaves the disk of locked memory where it is.
      long start = sparse.layout.offsetOf(3);
      PosixAPI.posix().mlock(OS.pageAlign(sparse.address + start), OS.pageSize());
      sparse.counts.emptyAll();
      sparse.check(3);
      assertThat(TestStores.blocks(path)).isEqualTo(before);
      // Slots that are not known to be used, as after a kill.
      long slot = start + sparse.layout.countersOffset - Long.BYTES;
      ByteBuffer word = ByteBuffer.allocate(Long.BYTES);
      SegmentReader.writeFully(channel, slot, word.putLong(-1).flip());
      sparse.counts.mark(3);
      sparse.counts.emptyAll();
      sparse.check(3);
      assertThat(SegmentReader.readFully(channel, slot, word.clear())).isTrue();
      assertThat(word.getLong(0)).isEqualTo(0);
    }
  }

  /** Version 1.0.0 marked the chunks without disk as used, and noted how many had some. */
  @Test
  void chunksThatGotTheirDiskLateAreUsed() throws Exception {
    for (int i = 0; i < 100; i++) {
      put(i);
    }
    FileLayout layout = file.layout;
    int most = layout.chunks / 2 / Long.SIZE * Long.SIZE;
    try (FileChannel channel = FileChannel.open(path, READ, WRITE)) {
      for (int i = 0; i < layout.segments; i++) {
        long list = layout.offsetOf(i) + layout.freeListOffset;
        ByteBuffer noted = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        SegmentReader.writeFully(channel, list - Long.BYTES, noted.putLong(most).flip());
        byte[] rest = new byte[layout.freeListBytes - most / Byte.SIZE];
        Arrays.fill(rest, (byte) 0xFF);
        SegmentReader.writeFully(channel, list + most / Byte.SIZE, ByteBuffer.wrap(rest));
      }
    }
    Path statePath = FileState.pathOf(path);
    file.close();
    Disk.REAL.map(statePath).putInt(FileState.LACKS_DISK_AT, most);
    try (FileChannel state = FileChannel.open(statePath, WRITE)) {
      FileChannel unused = state.truncate(SegmentCounts.endBefore(layout.segments));
    }
    file = MappedRecordTest.open(path, file.geometry, FileState.Verdict.CLEAN, new LongAdder());
    check(100);
    try (FileChannel channel = FileChannel.open(path, READ)) {
      for (int i = 0; i < layout.segments; i++) {
        file.check(i);
        assertThat(file.takeDisk(i, 1, 0)).isFalse();
        ByteBuffer segment = ByteBuffer.allocate(layout.chunksOffset);
        assertThat(SegmentReader.readFully(channel, layout.offsetOf(i), segment)).isTrue();
        assertThat(segment.getLong(layout.freeListOffset - Long.BYTES)).isEqualTo(0);
        assertThat(
                BitSet.valueOf(segment.slice(layout.freeListOffset, layout.freeListBytes))
                    .cardinality())
            .isLessThan(most);
      }
    }
  }

  @Test
  void aSweepThatFindsNothingEmptiesNoSegmentThatIsToBeRepaired() {
    SegmentCounts counts =
        new SegmentCounts(
            ByteBuffer.allocateDirect(SegmentCounts.end(2)).order(ByteOrder.LITTLE_ENDIAN), 2);
    counts.mark(1);
    counts.noteOldest(0, Long.MAX_VALUE);
    counts.noteOldest(1, Long.MAX_VALUE);
    assertThat(counts.mayHoldOld(0, created -> true)).isFalse();
    assertThat(counts.isUnchecked(1)).isTrue();
    assertThat(counts.isToBeEmptied(1)).isFalse();
  }

  @Test
  void freeChunksAreFoundAsInABitSet() {
    Random random = new Random(1);
    for (int round = 0; round < 2000; round++) {
      int chunks = 1 + random.nextInt(400);
      BitSet used = new BitSet();
      int share = 1 + random.nextInt(20);
      for (int i = 0; i < chunks; i++) {
        used.set(i, random.nextInt(20) < share);
      }
      compare(used, chunks, random);
    }
  }

  private static void compare(BitSet used, int chunks, Random random) {
    int from = random.nextInt(chunks + 1);
    int length = 1 + random.nextInt(1 + random.nextInt(80));
    byte[] set = Arrays.copyOf(used.toByteArray(), (chunks + 63) / 64 * Long.BYTES);
    long memory = OS.memory().allocate(set.length);
    try {
      OS.memory().writeBytes(memory, set, 0, set.length);
      assertThat(FullFileAdvice.nextRun(memory, chunks, from, length))
          .isEqualTo(nextRun(used, chunks, from, length));
    } finally {
      OS.memory().freeMemory(memory, set.length);
    }
  }

  private static int nextRun(BitSet used, int chunks, int from, int length) {
    for (int at = from; at + length <= chunks; at++) {
      if (used.get(at, at + length).isEmpty()) {
        return at;
      }
    }
    return -1;
  }
}
