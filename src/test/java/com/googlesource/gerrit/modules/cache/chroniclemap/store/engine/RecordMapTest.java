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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a file of records asks of the system so that it is fast, and does no harm by it. */
class RecordMapTest {
  private static final int RECORDS = 1000;
  private static final int RECORD_BYTES = 3000;

  @TempDir Path temp;
  private Path path;
  @AutoClose private RecordMap file;

  @BeforeEach
  void make() throws Exception {
    path = temp.resolve("file.chm");
    file = TestStores.file(path, Geometry.forFileOf(8 << 20, Geometry.DEFAULT_BYTES_PER_SLOT));
  }

  private static byte[] key(int number) {
    return StoredKey.ofValue(("key " + number).getBytes(UTF_8));
  }

  private static byte[] payload(int number) {
    byte[] out = new byte[RECORD_BYTES];
    new Random(number).nextBytes(out);
    return out;
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

  /** Each attempt to make a file on a full disk, say, once a minute. */
  @Test
  void aFileThatCannotBeMadeTakesNoHandle() throws Exception {
    Disk full =
        new FolderDisk(Disk.REAL) {
          @Override
          public void mapping(Path file) throws IOException {
            throw new IOException("No space left on device (a test)");
          }
        };
    Path none = temp.resolve("none.chm");
    for (int i = 0; i < 10; i++) {
      assertThrows(
          IOException.class,
          () ->
              RecordMapBuilder.create(
                  full,
                  none,
                  FileState.pathOf(none),
                  Geometry.forFileOf(1 << 20, Geometry.DEFAULT_BYTES_PER_SLOT)));
    }
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

  @Test
  void pagesAreMadeBehindWhatIsThere() throws Exception {
    for (int i = 0; i < RECORDS; i++) {
      put(i);
      if (i % 100 == 0) {
        for (int segment = 0; segment < file.geometry.segments(); segment++) {
          // More than there is room for, the last times.
          file.makePages(segment, 1 << 20);
        }
        check(i + 1);
      }
    }
    check(RECORDS);
    for (int segment = 0; segment < file.geometry.segments(); segment++) {
      try (SegmentReader reader = file.reader(path)) {
        assertThat(reader.read(segment, record -> {})).isEqualTo(0);
      }
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

  /** Version 1.0.0 marked the chunks without disk as used, and noted how many had some. */
  @Test
  void chunksThatGotTheirDiskLateAreUsed() throws Exception {
    for (int i = 0; i < 100; i++) {
      put(i);
    }
    FileLayout layout = file.layout;
    int most = layout.chunks() / 2 / Long.SIZE * Long.SIZE;
    try (FileChannel channel = FileChannel.open(path, READ, WRITE)) {
      for (int i = 0; i < layout.segments(); i++) {
        long list = layout.offsetOf(i) + layout.freeListOffset();
        ByteBuffer noted = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        SegmentReader.writeFully(channel, list - Long.BYTES, noted.putLong(most).flip());
        byte[] rest = new byte[layout.freeListBytes() - most / Byte.SIZE];
        Arrays.fill(rest, (byte) 0xFF);
        SegmentReader.writeFully(channel, list + most / Byte.SIZE, ByteBuffer.wrap(rest));
      }
      Disk.REAL.map(FileState.pathOf(path)).putInt(FileState.LACKS_DISK_AT, most);
      file.state.allocateIfLacking(path);
      check(100);
      for (int i = 0; i < layout.segments(); i++) {
        file.check(i);
        ByteBuffer list = ByteBuffer.allocate(Long.BYTES + layout.freeListBytes());
        long noted = layout.offsetOf(i) + layout.freeListOffset() - Long.BYTES;
        assertThat(SegmentReader.readFully(channel, noted, list)).isTrue();
        assertThat(list.getLong(0)).isEqualTo(0);
        assertThat(layout.usedChunks(list, Long.BYTES).cardinality()).isLessThan(most);
      }
    }
  }
}
