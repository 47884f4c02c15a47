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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.BitSet;
import java.util.Random;
import java.util.concurrent.atomic.LongAdder;
import jnr.ffi.LibraryLoader;
import net.openhft.chronicle.core.OS;
import net.openhft.posix.OpenFlag;
import net.openhft.posix.PosixAPI;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a reading of a whole file leaves in the page cache. */
class BorrowedPagesTest {
  private static final int FILE_BYTES = 96 << 20;
  private static final int RECORD_BYTES = 8000;
  private static final int RECORDS = 6000;
  private static final int PAGE_BYTES = OS.pageSize();
  private static final int WARM_BYTES = 20 << 20;
  private static final int DONT_NEED = 4;

  private final Geometry geometry = Geometry.forFileOf(FILE_BYTES, Geometry.DEFAULT_BYTES_PER_SLOT);
  private Path folder;
  private Path path;

  /** Not in the folder for temporary files: that may be in memory, which gives nothing back. */
  @BeforeEach
  void make() throws Exception {
    folder = Files.createTempDirectory(Path.of("target"), "pages");
    path = folder.resolve("file.chm");
    RecordMap file = TestStores.file(path, geometry);
    byte[] value = new byte[RECORD_BYTES];
    Random random = new Random(1);
    for (int i = 0; i < RECORDS; i++) {
      random.nextBytes(value);
      byte[] record = Envelope.wrap(key(i), Envelope.WHOLE, i, value, 0, value.length);
      assertThat(file.put(key(i), record, true).fitted()).isTrue();
    }
    file.close();
  }

  @AfterEach
  void delete() throws IOException {
    Files.delete(path);
    Files.delete(FileState.pathOf(path));
    Files.delete(folder);
  }

  private static byte[] key(int number) {
    return StoredKey.ofValue(new byte[] {(byte) number, (byte) (number >> 8)});
  }

  @Test
  void whatWasNotInMemoryIsGivenBackAndTheRestStays() throws Exception {
    makeCold();
    readSomeOfIt();
    BitSet before = resident();
    assertThat(before.cardinality()).isAtLeast(WARM_BYTES / PAGE_BYTES);
    assertThat(before.cardinality()).isAtMost(2 * WARM_BYTES / PAGE_BYTES);

    assertThat(readAllAndLookUp()).isEqualTo(RECORDS);

    BitSet after = resident();
    BitSet lost = (BitSet) before.clone();
    lost.andNot(after);
    // The pages that two segments share.
    assertThat(lost.cardinality()).isAtMost(before.cardinality() / 100);
    after.andNot(before);
    assertThat(after.cardinality()).isAtMost(RECORDS * RECORD_BYTES / PAGE_BYTES / 20);
  }

  /** As a growth does: reads each segment past the mapping, and looks each record up in it. */
  private int readAllAndLookUp() throws IOException {
    FileState state =
        FileState.open(Disk.REAL, FileState.pathOf(path), geometry.segments()).orElseThrow();
    state.takeOver(path, FileState.Verdict.CLEAN);
    RecordMap file = RecordMapBuilder.open(Disk.REAL, path, geometry, state, new LongAdder());
    file.expectRandomAccess();
    int[] found = {0};
    // As a file that was made larger is.
    Path renamed = folder.resolve("renamed.chm");
    Files.move(path, renamed);
    try (SegmentReader reader = file.reader(renamed)) {
      for (int i = 0; i < file.segments(); i++) {
        long damaged =
            reader.read(i, record -> found[0] += file.isInvalidated(record.storedKey()) ? 0 : 1);
        assertThat(damaged).isEqualTo(0);
        reader.giveBack();
      }
    } finally {
      Files.move(renamed, path);
      file.close();
    }
    return found[0];
  }

  private void makeCold() throws IOException {
    Disk.REAL.force(path);
    assertThat(ChronicleRuntime.allocatesDisk()).isTrue();
    int fd = PosixAPI.posix().open(path.toString(), OpenFlag.O_RDONLY, 0);
    BorrowedPages.LibC libC = LibraryLoader.create(BorrowedPages.LibC.class).load("c");
    assertThat(libC.posix_fadvise(fd, 0, 0, DONT_NEED)).isEqualTo(0);
    int unused = PosixAPI.posix().close(fd);
    assertThat(resident().cardinality()).isLessThan(100);
  }

  private void readSomeOfIt() throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      // From the end: the system reads ahead.
      ByteBuffer some = ByteBuffer.allocate(WARM_BYTES);
      assertThat(SegmentReader.readFully(channel, channel.size() - WARM_BYTES, some)).isTrue();
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
