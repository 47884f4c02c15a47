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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Envelope;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Holes;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files that get their disk step by step, here from some megabytes on. */
@Timeout(120)
class InPlaceGrowthTest {
  private static final long MB = 1 << 20;
  private static final long LIMIT = 64 * MB;

  @TempDir Path temp;
  private final long usual = GrowthPlan.inPlaceAbove;

  @BeforeEach
  void lowerTheBound() {
    assumeTrue(Holes.canAllocate());
    GrowthPlan.inPlaceAbove = 8 * MB;
  }

  @AfterEach
  void raiseTheBound() {
    GrowthPlan.inPlaceAbove = usual;
  }

  private StoreDirectory directory(Disk disk) throws Exception {
    return StoreDirectory.open(temp.resolve("stores"), disk, System::currentTimeMillis);
  }

  private static Store open(StoreDirectory directory, long limit) throws Exception {
    return TestStores.open(directory, new StoreSettings("cache", 1, limit, Optional.empty()));
  }

  private long diskBytes() throws Exception {
    long bytes = 0;
    try (Stream<Path> files = Files.list(temp.resolve("stores"))) {
      for (Path file : files.toList()) {
        bytes += TestStores.blocks(file);
      }
    }
    return bytes;
  }

  /**
   * The promise: once a file is large, a growth takes a sixteenth of the limit and copies nothing.
   */
  @Test
  void aLargeFileGrowsWithoutACopy() throws Exception {
    AtomicInteger copies = new AtomicInteger();
    Disk disk =
        new FolderDisk(Disk.REAL) {
          @Override
          public void move(Path from, Path to) throws IOException {
            copies.addAndGet(from.toString().endsWith(".growing") ? 1 : 0);
            super.move(from, to);
          }
        };
    Map<Integer, Integer> there = new HashMap<>();
    try (StoreDirectory directory = directory(disk)) {
      Store store = open(directory, LIMIT);
      long growths = 0;
      long before = 0;
      int copiesBefore = 0;
      for (int i = 0; store.stats().counts().evicted.sum() == 0; i++) {
        store.put(key(i), random(5000, i), System.currentTimeMillis());
        there.put(i, 5000);
        if (i % 50 == 0) {
          // Values that come faster than the file grows would take the place of others.
          store.flush();
        }
        if (store.stats().counts().growths.sum() > growths) {
          store.flush();
          TestStores.awaitRebuilt(store);
          TestStores.awaitSettled(directory);
          growths = store.stats().counts().growths.sum();
          long now = diskBytes();
          assertThat(now).isAtMost(LIMIT + MB);
          assertThat(store.stats().diskBytes()).isAtMost(now);
          if (copies.get() == 1 && copiesBefore == 1) {
            assertThat(now - before).isAtMost(2 * LIMIT / 16 + MB);
          }
          before = now;
          copiesBefore = copies.get();
        }
      }
      assertThat(copies.get()).isEqualTo(1);
      assertThat(growths).isAtLeast(10);
      assertThat(store.stats().diskBytes()).isGreaterThan(LIMIT * 9 / 10);
      assertThat(store.stats().liveBytes()).isGreaterThan(LIMIT / 2);
      VerifyReport report = store.verify(false, Progress.NONE);
      assertThat(report.damaged()).isEqualTo(0);
    }
    try (StoreDirectory directory = directory(disk)) {
      Store store = open(directory, LIMIT);
      int found = 0;
      for (int i : there.keySet()) {
        Value value = store.read(key(i));
        if (value != null) {
          assertThat(value.bytes()).isEqualTo(random(5000, i));
          found++;
        }
      }
      assertThat(found).isAtLeast(there.size() * 9 / 10);
    }
  }

  @Test
  void aFullDiskLeavesTheFileAsItIs() throws Exception {
    Disk disk =
        new FolderDisk(Disk.REAL) {
          @Override
          public void allocating(Path file) throws IOException {
            throw new IOException("No space left on device (a test)");
          }
        };
    try (StoreDirectory directory = directory(disk)) {
      Store store = open(directory, LIMIT);
      for (int i = 0; store.stats().counts().evicted.sum() < 100; i++) {
        store.put(key(i), random(5000, i), System.currentTimeMillis());
        store.flush();
        assertThat(store.read(key(i)).bytes()).isEqualTo(random(5000, i));
      }
      assertThat(store.stats().state()).isEqualTo(StoreState.READY);
      assertThat(store.stats().diskBytes()).isLessThan(LIMIT / 3);
      assertThat(store.stats().counts().notStored.sum()).isEqualTo(0);
    }
  }

  /**
   * A growth that the machine's crash leaves in the file, while the state file is that of before.
   */
  @Test
  void aCrashAfterAGrowthLosesWhatIsBeyondTheNotedRoom() throws Exception {
    Geometry geometry = Geometry.forFileOf(LIMIT, 256);
    Path path = temp.resolve("file");
    Path statePath = FileState.pathOf(path);
    int room = geometry.chunksOf(LIMIT / 16, LIMIT);
    file = RecordMapBuilder.create(Disk.REAL, path, statePath, geometry, room);
    try {
      fill(0, 3000);
      byte[] stateBefore = Files.readAllBytes(statePath);
      int before = records.size();
      file.noteRoom(file.allocate(Disk.REAL, path, room, 0));
      for (int i = 0; i < geometry.segments(); i++) {
        boolean unused = file.useRoom(i);
      }
      fill(3000, 60_000);
      assertThat(records.size()).isGreaterThan(before + 3000);
      file.unmap();
      file.release();
      Files.write(statePath, stateBefore);
      FileState state = FileState.open(Disk.REAL, statePath, geometry.segments()).orElseThrow();
      state.takeOver(path, state.judge(path));
      state.counts.markAll();
      file = RecordMapBuilder.open(Disk.REAL, path, geometry, state, new LongAdder());
      for (Map.Entry<Integer, byte[]> record : Map.copyOf(records).entrySet()) {
        StoredValue found = file.read(storedKey(record.getKey()));
        if (found == null) {
          records.remove(record.getKey());
        } else {
          assertThat(found.payload()).isEqualTo(record.getValue());
        }
      }
      // Those that are left are not written over by what comes next.
      file.noteRoom(file.allocate(Disk.REAL, path, room, 0));
      for (int i = 0; i < geometry.segments(); i++) {
        boolean unused = file.useRoom(i);
      }
      assertThat(records.size()).isAtLeast(before / 2);
      fill(100_000, 160_000);
      checkAll();
    } finally {
      file.close();
    }
  }

  /**
   * Chronicle-Map moves the segments of some files apart by a cache line, of others not. A file
   * whose disk was allocated elsewhere is not made.
   */
  @Test
  void eachSegmentHasItsDiskWhereItIs() throws Exception {
    Path path = temp.resolve("file");
    Set<Long> distances = new TreeSet<>();
    for (int i = 0; i < 6; i++) {
      Geometry geometry = new Geometry(1024, 64, 512 + i, 64);
      file = RecordMapBuilder.create(Disk.REAL, path, FileState.pathOf(path), geometry, 256);
      distances.add(file.fileBytes / 1024 / 64 % 2);
      fill(10_000 * i, 10_000 * i + 5000);
      checkAll();
      file.close();
      records.clear();
      Files.delete(path);
    }
    assertThat(distances).isNotEmpty();
  }

  @Test
  void aCopyWithHolesGetsItsDiskAgain() throws Exception {
    try (StoreDirectory directory = directory(Disk.REAL)) {
      Store store = open(directory, LIMIT);
      for (int i = 0; i < 2000; i++) {
        store.put(key(i), random(2000, i), System.currentTimeMillis());
        if (i % 100 == 0) {
          store.flush();
        }
      }
      store.flush();
      TestStores.awaitRebuilt(store);
      TestStores.awaitSettled(directory);
    }
    Path copied = temp.resolve("copied");
    Files.move(temp.resolve("stores"), copied);
    Files.createDirectory(temp.resolve("stores"));
    for (Path file : TestStores.filesIn(copied)) {
      Process copy =
          new ProcessBuilder(
                  "cp", "--sparse=always", file.toString(), temp.resolve("stores").toString())
              .start();
      assertThat(copy.waitFor()).isEqualTo(0);
    }
    // The first attempt meets a full disk, and leaves the rest to the next one.
    AtomicInteger attempts = new AtomicInteger();
    Disk full =
        new FolderDisk(Disk.REAL) {
          @Override
          public void allocating(Path file) throws IOException {
            attempts.incrementAndGet();
            throw new IOException("No space left on device (a test)");
          }
        };
    try (StoreDirectory directory = directory(full)) {
      assertThat(open(directory, LIMIT).stats().state()).isNotEqualTo(StoreState.READY);
    }
    assertThat(attempts.get()).isEqualTo(1);
    assertThat(diskBytes()).isLessThan(LIMIT / 8);
    try (StoreDirectory directory = directory(Disk.REAL)) {
      Store store = open(directory, LIMIT);
      assertThat(store.stats().state()).isEqualTo(StoreState.READY);
      assertThat(diskBytes()).isAtLeast(store.stats().diskBytes());
      assertThat(diskBytes()).isAtMost(store.stats().diskBytes() + 2 * MB);
      for (int i = 0; i < 2000; i++) {
        assertThat(store.read(key(i)).bytes()).isEqualTo(random(2000, i));
      }
    }
  }

  @Test
  void aSmallerLimitAndAClearWorkAsEver() throws Exception {
    try (StoreDirectory directory = directory(Disk.REAL)) {
      Store store = open(directory, LIMIT);
      for (int i = 0; i < 4000; i++) {
        store.put(key(i), random(5000, i), System.currentTimeMillis());
      }
      store.flush();
      TestStores.awaitRebuilt(store);
    }
    try (StoreDirectory directory = directory(Disk.REAL)) {
      Store store = open(directory, LIMIT / 4);
      store.everyMinute();
      TestStores.awaitRebuilt(store);
      TestStores.awaitSettled(directory);
      assertThat(diskBytes()).isAtMost(LIMIT / 4 + MB);
      assertThat(store.stats().entries()).isGreaterThan(1000);
      store.clear();
      assertThat(store.stats().entries()).isEqualTo(0);
      store.put(key(1), random(5000, 1), System.currentTimeMillis());
      assertThat(store.read(key(1)).bytes()).isEqualTo(random(5000, 1));
    }
  }

  // ---- one file

  private RecordMap file;

  /** Whether disk was allocated that is not noted. */
  private boolean isAheadOfNote;

  private final Map<Integer, byte[]> records = new HashMap<>();

  private static byte[] storedKey(int number) {
    return StoredKey.ofValue(key(number));
  }

  private void fill(int from, int to) {
    for (int i = from; i < to; i++) {
      byte[] payload = random(Math.min(300 + i % 700, file.geometry.maxPayload()), i);
      Envelope.NewRecord record =
          Envelope.wrap(storedKey(i), Envelope.WHOLE, 1, payload, 0, payload.length);
      if (file.put(storedKey(i), record, false).fitted()) {
        records.put(i, payload);
      }
    }
  }

  private void checkAll() throws Exception {
    for (Map.Entry<Integer, byte[]> record : records.entrySet()) {
      assertWithMessage("record %s", record.getKey())
          .that(file.read(storedKey(record.getKey())).payload())
          .isEqualTo(record.getValue());
    }
    if (!isAheadOfNote) {
      assertThat(TestStores.blocks(temp.resolve("file")))
          .isAtMost(file.diskBytes() + MB + 4096L * file.geometry.segments());
    }
  }

  /** Opened as after a kill; all segments are repaired, as if each had been written to last. */
  private void reopen(Geometry geometry, boolean repairAll) throws Exception {
    file.unmap();
    file.release();
    Path path = temp.resolve("file");
    FileState state =
        FileState.open(Disk.REAL, FileState.pathOf(path), geometry.segments()).orElseThrow();
    state.takeOver(path, state.judge(path));
    if (repairAll) {
      state.counts.markAll();
    }
    file = RecordMapBuilder.open(Disk.REAL, path, geometry, state, new LongAdder());
  }

  @Test
  void aKillDuringAGrowthLosesNothing() throws Exception {
    Geometry geometry = Geometry.forFileOf(LIMIT, 256);
    int room = geometry.chunksOf(LIMIT / 16, LIMIT);
    Path path = temp.resolve("file");
    file = RecordMapBuilder.create(Disk.REAL, path, FileState.pathOf(path), geometry, room);
    try {
      Random random = new Random(1);
      int count = 0;
      for (int step = 0; file.canGrow(); step++) {
        fill(count, count += 15_000);
        checkAll();
        if (step % 2 == 0) {
          int more = file.allocate(Disk.REAL, path, geometry.chunksOf(LIMIT / 5, LIMIT) + step, 0);
          if (step % 3 == 1) {
            isAheadOfNote = true;
            reopen(geometry, true);
            continue; // what was allocated and not noted is allocated again
          }
          file.noteRoom(more);
          isAheadOfNote = false;
        }
        for (int i = 0; i < geometry.segments(); i++) {
          if (random.nextInt(4) > 0) {
            boolean unused = file.useRoom(i);
          }
        }
        checkAll();
        fill(count, count += 5_000);
        if (random.nextBoolean()) {
          reopen(geometry, random.nextBoolean());
          checkAll();
        }
      }
      fill(count, count + 60_000);
      checkAll();
      long bytes = records.values().stream().mapToLong(r -> r.length).sum();
      assertThat(bytes).isGreaterThan(LIMIT * 7 / 10);
    } finally {
      file.close();
    }
  }
}
