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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.await;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.fileIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.google.common.primitives.Bytes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Files that are not as they were left. Whatever was done to them, each answer is the value that
 * was stored or none, at once, and the store can be used.
 */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class DamagedFilesTest extends FolderTest {
  private static final int KEYS = 400;
  private static final long LIMIT = 2 << 20;
  private static final StoreSettings SETTINGS = settings("cache", LIMIT);
  private static final Duration AT_ONCE = Duration.ofSeconds(5);

  private Path file;

  @BeforeEach
  void fillAStore() throws Exception {
    start(SETTINGS);
    for (int i = 0; i < KEYS; i++) {
      // As a loader does: what was never put or removed is worth checking after a crash.
      store.putIfCurrent(key(i), value(i), 1000 + i, store.ticket(key(i)));
    }
    directory.close();
    file = fileIn(folder(), ".chm");
  }

  private static byte[] value(int number) {
    return random(number * 37 % 3000, number);
  }

  /** As if its page had left memory before the disk failed: the page and all metrics need them. */
  @Test
  void figuresNeedNoStateThatCanBeRead() throws Exception {
    start(SETTINGS);
    long before = store.stats().diskBytes();
    try (RandomAccessFile state = new RandomAccessFile(FileState.pathOf(file).toFile(), "rw")) {
      state.setLength(0);
    }
    assertThat(store.stats().diskBytes()).isEqualTo(before);
  }

  /** Opens the damaged store and uses it; returns how many of the values it still has. */
  private int use() throws Exception {
    long begun = System.nanoTime();
    start(SETTINGS);
    int found = 0;
    for (int i = 0; i < KEYS; i++) {
      Value value = store.read(key(i));
      if (value != null) {
        assertWithMessage("value of key %s", i).that(value.bytes()).isEqualTo(value(i));
        assertThat(value.created()).isEqualTo(1000 + i);
        found++;
      }
    }
    store.put(key(0), value(7), 5);
    store.remove(key(1));
    store.put(key(KEYS), value(KEYS), 5);
    store.flush();
    assertThat(store.read(key(0)).bytes()).isEqualTo(value(7));
    assertThat(store.read(key(1))).isNull();
    assertThat(store.read(key(KEYS)).bytes()).isEqualTo(value(KEYS));
    assertWithMessage("time for all of it")
        .that(Duration.ofNanos(System.nanoTime() - begun))
        .isLessThan(AT_ONCE);
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.stats().diskBytes()).isAtMost(LIMIT);
    assertAllBlocksAreTaken();
    return found;
  }

  private StartReport.Kind start() {
    return store.stats().start().kind();
  }

  private void assertAllBlocksAreTaken() throws Exception {
    Path now = fileIn(folder(), ".chm");
    assertWithMessage("bytes taken on disk")
        .that(TestStores.blocks(now))
        .isAtLeast(store.stats().diskBytes());
  }

  @Test
  void anUndamagedFileThatWasNotClosed() throws Exception {
    TestStores.leaveOpen(folder());
    assertThat(use()).isEqualTo(KEYS);
    assertThat(start()).isEqualTo(StartReport.Kind.RECOVERED);
  }

  /** As after a start that was refused: no crash to tell of, unless something was removed. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFileThatNeverHeldAnythingIsNew(boolean isChanged) throws Exception {
    Files.delete(file);
    Files.delete(FileState.pathOf(file));
    start(SETTINGS);
    if (isChanged) {
      store.put(key(0), value(0), 1);
      store.remove(key(0));
    }
    directory.close();
    TestStores.leaveOpen(folder());
    start(SETTINGS);
    assertThat(start()).isEqualTo(isChanged ? StartReport.Kind.RECOVERED : StartReport.Kind.NEW);
  }

  /** As after a kill while the first file was being made. */
  @ParameterizedTest
  @ValueSource(ints = {0, 11, 4096})
  void aFileThatWasNeverFinishedIsNoFault(int bytes) throws Exception {
    TestStores.leaveOpen(folder());
    byte[] begun = Arrays.copyOf(Files.readAllBytes(file), bytes);
    if (bytes > 11) {
      begun[11] |= (byte) 0x80;
    }
    Files.write(file, begun);
    assertThat(use()).isEqualTo(0);
    assertThat(store.stats().counts().faults.sum()).isEqualTo(0);
  }

  /** A file that was closed, and nobody has touched since, is used unread. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aValueThatRotted(boolean sameBoot) throws Exception {
    FileTime time = Files.getLastModifiedTime(file);
    flipLastByteOf(value(50));
    Files.setLastModifiedTime(file, time);
    start(sameBoot ? Disk.REAL : TestStores.anotherBoot(), SETTINGS);
    assertThat(start()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(store.read(key(50))).isNull();
    assertThat(store.read(key(51)).bytes()).isEqualTo(value(51));
    // It is counted when it is dropped, in the background.
    await(() -> store.stats().counts().damaged.sum() > 0);
    assertThat(store.stats().counts().damaged.sum()).isEqualTo(1);
  }

  private void flipLastByteOf(byte[] value) throws Exception {
    byte[] bytes = Files.readAllBytes(file);
    int at = Bytes.indexOf(bytes, value);
    assertThat(at).isAtLeast(0);
    bytes[at + value.length - 1] ^= 1;
    Files.write(file, bytes);
  }

  /** As after a restore from a backup that left holes where there are zeros. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSparseCopy(boolean closed) throws Exception {
    if (!closed) {
      TestStores.leaveOpen(folder());
    }
    Path copy = temp.resolve("copy");
    assertThat(
            new ProcessBuilder("cp", "--sparse=always", file.toString(), copy.toString())
                .start()
                .waitFor())
        .isEqualTo(0);
    Files.move(copy, file, StandardCopyOption.REPLACE_EXISTING);
    // One that was made of a file in use may lack what was invalidated since.
    assertThat(use()).isEqualTo(closed ? KEYS : 0);
    assertThat(start()).isEqualTo(closed ? StartReport.Kind.COPY : StartReport.Kind.REPLACED);
  }

  /** As version 1.0.0 left files with a limit above 16 GB. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFileThatLacksDiskGetsItAndKeepsAll(boolean closed) throws Exception {
    if (!closed) {
      TestStores.leaveOpen(folder());
    }
    Disk.REAL.map(fileIn(folder(), ".state")).putInt(FileState.LACKS_DISK_AT, 1);
    start(SETTINGS);
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(use()).isEqualTo(KEYS);
    assertThat(start()).isEqualTo(StartReport.Kind.CLEAN);
  }

  /** What can happen to a whole file. */
  enum Harm {
    HALF,
    FOUR_BYTES,
    EMPTY,
    ONE_BYTE_SHORT,
    LONGER,
    ZEROS,
    ZEROS_BUT_THE_HEADER,
    ONES,
    GARBAGE,
    GARBAGE_BUT_THE_HEADER,
    TEXT,
    OTHER_GEOMETRY,
    LARGER_GEOMETRY;

    void apply(Path file) throws Exception {
      switch (this) {
        case HALF -> truncate(file, Files.size(file) / 2);
        case FOUR_BYTES -> truncate(file, 4);
        case EMPTY -> truncate(file, 0);
        case ONE_BYTE_SHORT -> truncate(file, Files.size(file) - 1);
        case LONGER -> truncate(file, Files.size(file) + 10_000);
        case ZEROS -> fill(file, 0, bytes -> {});
        case ZEROS_BUT_THE_HEADER -> fill(file, 4096, bytes -> {});
        case ONES -> fill(file, 0, bytes -> Arrays.fill(bytes, (byte) 0xff));
        case GARBAGE -> fill(file, 0, new Random(1)::nextBytes);
        case GARBAGE_BUT_THE_HEADER -> fill(file, 4096, new Random(2)::nextBytes);
        case TEXT -> Files.writeString(file, "This is a text, and no store.\n".repeat(100));
        case OTHER_GEOMETRY -> replace(file, Geometry.forFileOf(300_000, 64));
        case LARGER_GEOMETRY -> replace(file, Geometry.forFileOf(20 << 20, 128));
      }
    }

    private static void truncate(Path file, long length) throws Exception {
      try (RandomAccessFile access = new RandomAccessFile(file.toFile(), "rw")) {
        access.setLength(length);
      }
    }

    /** Replaces all from an offset on, by zeros where nothing else is said. */
    private static void fill(Path file, int from, Consumer<byte[]> filling) throws Exception {
      byte[] bytes = Files.readAllBytes(file);
      byte[] other = new byte[bytes.length - from];
      filling.accept(other);
      System.arraycopy(other, 0, bytes, from, other.length);
      Files.write(file, bytes);
    }

    private static void replace(Path file, Geometry geometry) throws Exception {
      Path other = file.resolveSibling("other");
      RecordMapBuilder.create(Disk.REAL, other, geometry, true).close();
      Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFileWithTheStateOfAnother(Harm harm) throws Exception {
    harm.apply(file);
    use();
  }

  @ParameterizedTest
  @EnumSource
  void aFileThatWasNotClosed(Harm harm) throws Exception {
    TestStores.leaveOpen(folder());
    harm.apply(file);
    // What is restored from a backup is another file.
    Path copy = Files.copy(file, temp.resolve("copy"));
    Files.move(copy, file, StandardCopyOption.REPLACE_EXISTING);
    use();
  }

  @Test
  void aFolderInPlaceOfTheFile() throws Exception {
    Files.delete(file);
    Files.createDirectory(file);
    assertThat(use()).isEqualTo(0);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 4000, 4096, 4111, 4113, 100_000})
  void aStateOfAnotherLength(int length) throws Exception {
    Path state = FileState.pathOf(file);
    Files.write(state, Arrays.copyOf(Files.readAllBytes(state), length));
    assertThat(use()).isEqualTo(0);
    // Where it begins with nothing, its making was never finished.
    assertThat(start())
        .isEqualTo(length < Long.BYTES ? StartReport.Kind.NEW : StartReport.Kind.REPLACED);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void aStateOfGarbage(int seed) throws Exception {
    Path state = FileState.pathOf(file);
    Files.write(state, random((int) Files.size(state), seed));
    assertThat(use()).isEqualTo(0);
    assertThat(start()).isEqualTo(StartReport.Kind.REPLACED);
  }

  @Test
  void noState() throws Exception {
    Files.delete(FileState.pathOf(file));
    assertThat(use()).isEqualTo(0);
    assertThat(start()).isEqualTo(StartReport.Kind.REPLACED);
  }

  /** As after a restore from a backup that was taken while the server ran. */
  @Test
  void aStateOfAnOlderFile() throws Exception {
    byte[] state = Files.readAllBytes(FileState.pathOf(file));
    use();
    directory.close();
    Files.write(FileState.pathOf(file), state);
    start(SETTINGS);
    assertThat(store.read(key(0)).bytes()).isEqualTo(value(7));
    assertThat(store.read(key(1))).isNull();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.RECOVERED);
  }

  /** Interrupting a request must not cost the cache its file. */
  @Test
  void interruptedThreads() throws Exception {
    openFolder(Disk.REAL);
    Thread.currentThread().interrupt();
    store = directory.openStore(SETTINGS);
    await(() -> store.stats().state() != StoreState.OPENING);
    assertThat(store.read(key(3)).bytes()).isEqualTo(value(3));
    store.put(key(4), value(5), 1);
    store.putIfCurrent(key(6), value(7), 1, store.ticket(key(6)));
    store.remove(key(5));
    store.flush();
    assertThat(store.read(key(4)).bytes()).isEqualTo(value(5));
    assertThat(store.read(key(5))).isNull();
    store.clear();
    assertThat(store.read(key(3))).isNull();
    store.put(key(4), value(5), 1);
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    directory.close();
    assertThat(Thread.interrupted()).isTrue();
    start(SETTINGS);
    assertThat(store.read(key(4)).bytes()).isEqualTo(value(5));
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
  }

  /** A file that was deleted under the store is put in order and used as before. */
  @Test
  void deletedFileIsUsedOn() throws Exception {
    TestStores.leaveToCrash(folder());
    start(SETTINGS);
    Files.delete(file);
    store.remove(key(1));
    store.flush();
    assertThat(store.read(key(1))).isNull();
    assertThat(store.read(key(2)).bytes()).isEqualTo(value(2));
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }
}
