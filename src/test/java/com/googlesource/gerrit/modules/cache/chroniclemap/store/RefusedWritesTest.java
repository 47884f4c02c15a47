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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A disk that does not take what is written brings nothing back that was changed. */
class RefusedWritesTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] OLD = "old".getBytes(UTF_8);
  private static final byte[] NEW = "new".getBytes(UTF_8);

  @TempDir Path temp;
  private final RefusingDisk disk = new RefusingDisk();
  private StoreDirectory directory;
  private Store store;

  @AfterEach
  void close() {
    directory.close();
  }

  private void open(OldValues oldValues, Disk on) throws Exception {
    directory = StoreDirectory.open(temp.resolve("stores"), on, System::currentTimeMillis);
    store =
        TestStores.open(
            directory, new StoreSettings("cache", 1, 1 << 20, Optional.empty(), oldValues));
  }

  /** A store whose one value is on the disk, which takes nothing more. */
  private void refuse(OldValues oldValues) throws Exception {
    open(oldValues, disk);
    store.put(KEY, OLD, 1);
    store.flush();
    // As it does once a minute.
    directory.sweep();
    directory.awaitSettled();
    disk.refuse();
  }

  private void assertGone() {
    assertThat(store.read(KEY)).isNull();
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    assertThat(store.stats().faults()).isGreaterThan(0);
  }

  @Test
  void aSessionIsGoneWhenItsInvalidationReturns() throws Exception {
    refuse(OldValues.DANGEROUS);
    long unused = store.remove(KEY);
    disk.writeBackAndReclaim();
    assertGone();
  }

  @Test
  void aSessionIsReplacedWhenItsPutReturns() throws Exception {
    refuse(OldValues.DANGEROUS);
    long unused = store.put(KEY, NEW, 2);
    disk.writeBackAndReclaim();
    assertGone();
  }

  @Test
  void whatMayBeStaleIsGoneWithinAMinute() throws Exception {
    refuse(OldValues.STALE);
    long unused = store.remove(KEY);
    disk.writeBackAndReclaim();
    directory.sweep();
    directory.awaitSettled();
    assertGone();
  }

  @Test
  void whatTheDiskDoesNotTakeAtAStopIsNotUsedAgain() throws Exception {
    refuse(OldValues.STALE);
    long unused = store.remove(KEY);
    directory.close();
    disk.writeBackAndReclaim();
    open(OldValues.STALE, Disk.REAL);
    assertThat(store.read(KEY)).isNull();
  }

  @Test
  void sessionsThatTheDiskHasNotTakenWhenTheyAreOpenedAreNotUsed() throws Exception {
    refuse(OldValues.DANGEROUS);
    directory.close();
    TestStores.leaveOpen(temp.resolve("stores"));
    // What the one before wrote last.
    disk.writeBackAndReclaim();
    open(OldValues.DANGEROUS, disk);
    assertThat(store.read(KEY)).isNull();
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.REPLACED);
  }

  @Test
  void aFileThatCannotBeOpenedJustNowIsKept() throws Exception {
    open(OldValues.DANGEROUS, disk);
    store.put(KEY, OLD, 1);
    disk.setHandles(false);
    store.put(KEY, NEW, 1);
    directory.sweep();
    directory.awaitSettled();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.stats().faults()).isGreaterThan(0);
    assertThat(store.read(KEY).bytes()).isEqualTo(NEW);
    // What was not forced then still is to be.
    disk.setHandles(true);
    disk.refuse();
    directory.sweep();
    directory.awaitSettled();
    assertGone();
  }

  /** Each change is forced once, and nothing where nothing was changed. */
  @Test
  void onlyWhatWasWrittenIsForced() throws Exception {
    open(OldValues.DANGEROUS, disk);
    store.put(KEY, OLD, 1);
    directory.sweep();
    directory.awaitSettled();
    int before = disk.forced();
    directory.sweep();
    directory.awaitSettled();
    assertThat(store.read(KEY).bytes()).isEqualTo(OLD);
    assertThat(disk.forced()).isEqualTo(before);
    store.put(KEY, NEW, 2);
    assertThat(disk.forced()).isEqualTo(before + 1);
  }
}
