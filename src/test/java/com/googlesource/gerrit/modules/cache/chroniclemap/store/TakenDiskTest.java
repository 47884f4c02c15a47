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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.fileIn;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.Iterables;
import com.google.common.collect.Range;
import com.google.common.hash.Hashing;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The disk that a store's one file takes, from its first value to its limit. */
@Timeout(120)
class TakenDiskTest extends FolderTest {
  private static final long MB = 1 << 20;
  private static final int KEYS = 2000;

  /** How often disk may be taken. */
  private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);

  private Disk scarce() {
    return new TestDisk()
        .failing(Call.ALLOCATING, () -> left.getAndDecrement() <= 0, "No space left on device");
  }

  private void open(Disk disk, long limit) throws Exception {
    start(disk, settings("cache", limit));
  }

  private static byte[] value(int number) {
    return random(1000, number);
  }

  private void fill(int from, int to) {
    for (int i = from; i < to; i++) {
      store.put(key(i), value(i), 1);
    }
    store.flush();
  }

  private int found(int from, int to) {
    return found(store, from, to, TakenDiskTest::value);
  }

  private Path file(String end) throws IOException {
    return fileIn(folder(), end);
  }

  @Test
  void anEmptyStoreTakesHardlyAny() throws Exception {
    open(Disk.REAL, 1024 * MB);
    assertThat(Files.size(file(".chm"))).isGreaterThan(900 * MB);
    assertThat(TestStores.blocks(file(".chm")) + TestStores.blocks(file(".state")))
        .isAtMost(68 << 10);
    assertThat(store.read(key(1))).isNull();
    store.remove(key(1));
    assertThat(store.verify(true, Progress.NONE).complete()).isTrue();
    assertThat(TestStores.blocks(file(".chm"))).isAtMost(68 << 10);
  }

  /** A value in each of most segments. */
  @Test
  void fewValuesTakeLittle() throws Exception {
    open(Disk.REAL, 1024 * MB);
    for (int i = 0; i < 1000; i++) {
      store.put(key(i), random(200, i), 1);
    }
    store.flush();
    assertThat(store.stats().entries()).isEqualTo(1000);
    long blocks = TestStores.blocks(file(".chm"));
    assertThat(blocks).isAtMost(8 * MB);
    assertThat(store.stats().diskBytes()).isIn(Range.closed(blocks * 9 / 10, blocks * 11 / 10));
  }

  /** What has disk goes on; where there is none, nothing is written, not even by Chronicle-Map. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 5, 16, 40, 1000})
  void aFullDiskEvictsOrLeavesOut(int times) throws Exception {
    open(scarce(), 16 * MB);
    left.set(times);
    fill(0, KEYS);
    long disk = store.stats().diskBytes();
    long found = found(0, KEYS);
    StoreStats stats = store.stats();
    assertThat(stats.state()).isEqualTo(StoreState.READY);
    assertThat(stats.entries()).isEqualTo(found);
    assertThat(found + stats.counts().evicted.sum() + stats.counts().notStored.sum())
        .isEqualTo(KEYS);
    assertThat(stats.counts().faults.sum()).isEqualTo(times < 1000 ? 1 : 0);
    assertThat(TestStores.blocks(file(".chm"))).isAtMost(disk + 16 * 4096);
    // Nothing is lost for what has no room.
    assertThat(store.verify(false, Progress.NONE).values()).isEqualTo(found);
    open(Disk.REAL, 16 * MB);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(found(0, KEYS)).isEqualTo(found);
    fill(0, KEYS);
    assertThat(found(0, KEYS)).isEqualTo(KEYS);
  }

  @Test
  void aCopyForWhichThereIsNoDiskLeavesTheFile() throws Exception {
    open(Disk.REAL, 16 * MB);
    fill(0, KEYS);
    directory.close();
    Path before = file(".chm");
    left.set(20);
    open(scarce(), 64 * MB);
    assertThat(found(0, KEYS)).isEqualTo(KEYS);
    assertThat(store.stats().counts().evicted.sum()).isEqualTo(0);
    assertThat(file(".chm")).isEqualTo(before);
    open(Disk.REAL, 64 * MB);
    assertThat(found(0, KEYS)).isEqualTo(KEYS);
    assertThat(file(".chm")).isNotEqualTo(before);
    assertThat(TestStores.filesIn(folder()).stream().map(Path::toString).toList())
        .doesNotContain(before.toString());
  }

  /** A file of version 1.0.0 that had not grown to its limit, or had. */
  @ParameterizedTest
  @ValueSource(longs = {8, 16})
  void aFileOfVersion1IsTakenOver(long limit) throws Exception {
    open(Disk.REAL, 8 * MB);
    fill(0, KEYS);
    directory.close();
    Path file = file(".chm");
    Path state = FileState.pathOf(file);
    // The chunks that have no disk here would be free there.
    Disk.REAL.map(state).putInt(FileState.LACKS_DISK_AT, 1);
    try (RandomAccessFile rooms = new RandomAccessFile(state.toFile(), "rw")) {
      int segments = Geometry.forFileOf(8 * MB, Geometry.DEFAULT_BYTES_PER_SLOT).segments();
      rooms.setLength(rooms.length() - (long) Integer.BYTES * segments);
    }
    String all =
        "format=2 version=1 " + Geometry.forFileOf(8 * MB, Geometry.DEFAULT_BYTES_PER_SLOT);
    String fingerprint =
        HexFormat.of().toHexDigits(Hashing.crc32c().hashString(all, UTF_8).asInt());
    String name = file.getFileName().toString();
    Path old = file.resolveSibling(name.replaceAll("[0-9a-f]{8}\\.chm", fingerprint + ".chm"));
    Files.move(file, old);
    Files.move(state, FileState.pathOf(old));
    // The volume has room for a part of what the state file of this version has in addition.
    Disk full =
        new TestDisk()
            .before(
                Call.LENGTHEN_OPEN,
                longer -> {
                  Files.write(longer, new byte[10], StandardOpenOption.APPEND);
                  throw new IOException("No space left on device (a test)");
                });
    open(full, limit * MB);
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    open(Disk.REAL, limit * MB);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(found(0, KEYS)).isEqualTo(KEYS);
    fill(KEYS, 2 * KEYS);
    assertThat(found(0, 2 * KEYS)).isEqualTo(2 * KEYS);
    assertThat(Files.exists(old)).isEqualTo(limit == 8);
    List<Path> files = TestStores.filesIn(folder());
    assertThat(files.stream().filter(each -> each.toString().endsWith(".chm")).count())
        .isEqualTo(1);
  }

  // ---- the caches of a site on a small volume

  private static final long VOLUME_BYTES = 64 * MB;

  private final List<Store> stores = new CopyOnWriteArrayList<>();

  /** A small volume, which tells what is free. */
  private final class SmallVolume extends Disk {
    @Override
    public long free(Path asked) {
      return VOLUME_BYTES - taken();
    }
  }

  private long taken() {
    return stores.stream().mapToLong(store -> store.stats().diskBytes()).sum();
  }

  private Store store(String name, OldValues kind) throws Exception {
    stores.add(TestStores.open(directory, settings(name, 128 * MB, kind)));
    return Iterables.getLast(stores);
  }

  private static void fill(Store store, int values) {
    for (int i = 0; i < values; i++) {
      store.put(key(i), new byte[20_000], 1);
    }
    store.flush();
  }

  @Test
  void eachCacheHasAFileAndSessionsHaveTheLastOfTheRoom() throws Exception {
    openFolder(new SmallVolume());
    List<Store> others = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      others.add(store("cache" + i, i % 2 == 0 ? OldValues.MUTABLE : OldValues.PURE));
    }
    Store sessions = store("web_sessions", OldValues.SECRET);
    for (Store store : others) {
      assertWithMessage(store.name()).that(store.stats().state()).isEqualTo(StoreState.READY);
    }
    assertThat(sessions.stats().state()).isEqualTo(StoreState.READY);
    assertThat(taken()).isLessThan(VOLUME_BYTES * 2 / 3);
    for (Store store : others) {
      fill(store, 400);
    }
    assertThat(VOLUME_BYTES - taken()).isAtLeast(8 * MB);
    fill(sessions, 100);
    assertThat(sessions.stats().counts().evicted.sum()).isEqualTo(0);
    for (int i = 0; i < 100; i++) {
      assertThat(sessions.read(key(i))).isNotNull();
    }
    assertThat(taken()).isLessThan(VOLUME_BYTES);
  }
}
