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

import com.google.common.primitives.Bytes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import net.openhft.chronicle.core.OS;
import net.openhft.posix.OpenFlag;
import net.openhft.posix.PosixAPI;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the reading of a whole file and evictions leave in the page cache. */
class PageCacheTest {
  private static final int FILE_BYTES = 96 << 20;
  private static final int RECORD_BYTES = 3000;
  private static final int RECORDS = 16_000;
  private static final int PAGE_BYTES = OS.pageSize();

  private final Geometry geometry = Geometry.forFileOf(FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
  private Path folder;
  private Path path;
  private RecordMap file;

  /** Not in the folder for temporary files: that may be in memory, which gives nothing back. */
  @BeforeEach
  void make() throws Exception {
    folder = Files.createTempDirectory(Path.of("target"), "pages");
    path = folder.resolve("file.chm");
    file = TestStores.file(path, geometry);
    byte[] value = new byte[RECORD_BYTES];
    Random random = new Random(1);
    for (int i = 0; i < RECORDS; i++) {
      random.nextBytes(value);
      Envelope.NewRecord record = Envelope.wrap(key(i), Envelope.WHOLE, i, value, 0, value.length);
      assertThat(file.put(key(i), record, true).fitted()).isTrue();
    }
    file.close();
  }

  @AfterEach
  void delete() throws IOException {
    file.close();
    Files.delete(path);
    Files.delete(FileState.pathOf(path));
    Files.delete(folder);
  }

  private void open() throws IOException {
    open(FileState.Verdict.CLEAN);
  }

  private void open(FileState.Verdict verdict) throws IOException {
    file = MappedRecordTest.open(path, geometry, verdict, new LongAdder());
    file.expectRandomAccess();
  }

  private static byte[] key(int number) {
    return StoredKey.ofValue(new byte[] {(byte) number, (byte) (number >> 8)});
  }

  @ParameterizedTest
  @EnumSource(
      value = FileState.Verdict.class,
      names = {"CLEAN", "KILLED"})
  void anOpeningReadsNoRecords(FileState.Verdict verdict) throws Exception {
    makeCold();
    open(verdict);
    assertThat(resident().cardinality()).isLessThan(100);
    assertThat(file.read(key(1))).isNotNull();
  }

  @Test
  void whatRequestsHaveReadStaysAndTheRestIsGivenBack() throws Exception {
    makeCold();
    open();
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i < file.geometry.segments() / 4; i++) {
      file.scanSegment(i, (key, created, bytes) -> keys.add(key.clone()));
    }
    for (byte[] key : keys) {
      assertThat(file.read(key)).isNotNull();
    }
    BitSet before = resident();
    int read = keys.size() * RECORD_BYTES / PAGE_BYTES;
    assertThat(before.cardinality()).isAtLeast(read);
    assertThat(before.cardinality()).isAtMost(2 * read);

    assertThat(readSegments(file, 0, file.geometry.segments())).isEqualTo(RECORDS);

    BitSet after = resident();
    BitSet lost = (BitSet) before.clone();
    lost.andNot(after);
    // Those that were read ahead of requests, and which none has read.
    assertThat(lost.cardinality()).isAtMost(before.cardinality() / 10);
    after.andNot(before);
    assertThat(after.cardinality()).isAtMost(RECORDS * RECORD_BYTES / PAGE_BYTES / 20);
  }

  /** As a step of a sweep, wherever in the file it is. */
  @Test
  void aReaderOfOneSegmentGivesItBack() throws Exception {
    makeCold();
    open();
    int last = file.geometry.segments() - 1;
    assertThat(readSegments(file, last, last + 1)).isGreaterThan(0);
    assertThat(resident().cardinality()).isLessThan(100);
  }

  @Test
  void anEvictionLeavesTheRoomThatItMadeAndWhatWasThere() throws Exception {
    open();
    int segment = 3;
    List<byte[]> keys = new ArrayList<>();
    file.scanSegment(segment, (key, created, bytes) -> keys.add(key.clone()));
    FileLayout layout = file.layout;
    long chunks = layout.offsetOf(segment) + layout.chunksOffset;
    // The pages of records; behind them is room that was never used.
    int from = Math.toIntExact(chunks / PAGE_BYTES) + 1;
    int to = Math.toIntExact((chunks + (long) keys.size() * RECORD_BYTES) / PAGE_BYTES) - 1;
    file.close();
    makeCold();
    open();
    readAt((long) from * PAGE_BYTES, 20 * PAGE_BYTES);
    BitSet before = resident().get(from, to);
    assertThat(before.cardinality()).isAtLeast(20);
    assertThat(before.cardinality()).isLessThan((to - from) / 2);

    file.advice.evicting(segment);
    file.scanSegment(segment, (key, created, bytes) -> {});
    List<byte[]> victims = keys.subList(0, keys.size() / 8);
    victims.forEach(file::remove);
    file.advice.evicted(segment);

    BitSet after = resident().get(from, to);
    BitSet lost = (BitSet) before.clone();
    lost.andNot(after);
    assertThat(lost.cardinality()).isEqualTo(0);
    after.andNot(before);
    int pagesOfRecord = RECORD_BYTES / PAGE_BYTES + 2;
    // A processor may be about to add some pages to the lists of the page cache.
    assertThat(after.cardinality()).isAtMost(victims.size() * pagesOfRecord + 31);
    assertThat(after.cardinality()).isAtLeast(victims.size() / 2);
  }

  @Test
  @Timeout(60)
  void theRoomOfTheNextRecordIsReadAhead() throws Exception {
    Map<Long, byte[]> keyAt = new TreeMap<>();
    open();
    List<byte[]> keys = new ArrayList<>();
    file.scanSegment(3, (key, created, bytes) -> keys.add(key.clone()));
    for (byte[] key : List.of(keys.get(0), keys.get(keys.size() / 2))) {
      keyAt.put(offsetOf(file.read(key).payload(), file.layout.offsetOf(3)), key);
      file.remove(key);
    }
    file.close();
    makeCold();
    open();
    file.advice.evicting(5);
    file.advice.evicted(5);
    Iterator<Map.Entry<Long, byte[]>> rooms = keyAt.entrySet().iterator();
    put(file, rooms.next().getValue());
    long next = rooms.next().getKey();
    int first = Math.toIntExact(next / PAGE_BYTES);
    int last = Math.toIntExact((next + RECORD_BYTES - 1) / PAGE_BYTES);
    // It is read in the background.
    while (resident().get(first, last + 1).cardinality() <= last - first) {
      Thread.onSpinWait();
    }
  }

  private long offsetOf(byte[] payload, long from) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      ByteBuffer bytes = ByteBuffer.allocate(4 << 20);
      assertThat(SegmentReader.readFully(channel, from, bytes)).isTrue();
      int at = Bytes.indexOf(bytes.array(), payload);
      assertThat(at).isAtLeast(0);
      return from + at;
    }
  }

  private static void put(RecordMap file, byte[] key) {
    byte[] value = new byte[RECORD_BYTES];
    Envelope.NewRecord record = Envelope.wrap(key, Envelope.WHOLE, 1, value, 0, value.length);
    assertThat(file.put(key, record, true).fitted()).isTrue();
  }

  /** Reads some segments past the mapping; returns how many records they have. */
  private int readSegments(RecordMap file, int from, int end) throws IOException {
    int[] found = {0};
    try (SegmentReader reader = file.reader()) {
      for (int i = from; i < end; i++) {
        long damaged = reader.read(i, record -> found[0]++);
        assertThat(damaged).isEqualTo(0);
        reader.dropPages();
      }
    }
    return found[0];
  }

  private void makeCold() throws IOException {
    try (FileChannel channel = Disk.REAL.open(path, Set.of(StandardOpenOption.READ))) {
      Disk.REAL.force(path, channel);
    }
    dropPages();
    assertThat(resident().cardinality()).isLessThan(100);
  }

  private void dropPages() throws IOException {
    assertThat(ChronicleRuntime.allocatesDisk()).isTrue();
    int fd = PosixAPI.posix().open(path.toString(), OpenFlag.O_RDONLY, 0);
    assertThat(LibC.get().posix_fadvise(fd, 0, 0, LibC.DONT_NEED)).isEqualTo(0);
    int unused = PosixAPI.posix().close(fd);
  }

  private void readAt(long offset, int length) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      assertThat(SegmentReader.readFully(channel, offset, ByteBuffer.allocate(length))).isTrue();
    }
  }

  private BitSet resident() throws IOException {
    BitSet pages = new BitSet();
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      MappedByteBuffer all = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
      for (int at = 0; at + PAGE_BYTES <= all.capacity(); at += PAGE_BYTES) {
        if (all.slice(at, PAGE_BYTES).isLoaded()) {
          pages.set(at / PAGE_BYTES);
        }
      }
    }
    return pages;
  }
}
