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
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DirectoryLockTest {
  private static final StoreSettings SETTINGS =
      new StoreSettings("cache", 1, 4 << 20, Optional.empty());

  @TempDir Path folder;

  @Test
  void secondUserIsTurnedAwayUntilTheFirstIsGone() throws Exception {
    DirectoryLock first = DirectoryLock.acquire(folder, Disk.REAL);
    StoreUnavailableException e =
        assertThrows(
            StoreUnavailableException.class, () -> DirectoryLock.acquire(folder, Disk.REAL));
    assertThat(e).hasMessageThat().contains("process " + ProcessHandle.current().pid());
    first.close();
    DirectoryLock.acquire(folder, Disk.REAL).close();
  }

  @Test
  void knowsTheMachineHasRunOn() throws Exception {
    DirectoryLock.acquire(folder, Disk.REAL).close();
    try (DirectoryLock again = DirectoryLock.acquire(folder, Disk.REAL)) {
      assertThat(again.isSameBoot()).isTrue();
    }
  }

  @Test
  void storesLeftOpenWhenTheMachineStoppedStartEmpty() throws Exception {
    putOneAndLeaveUnclean();
    Files.writeString(folder.resolve("lock"), "1\nanother-boot\n");
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      Store store = TestStores.open(directory, SETTINGS);
      assertThat(store.read(new byte[] {1})).isNull();
      assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.REPLACED);
    }
  }

  @Test
  void storesClosedBeforeTheMachineStoppedAreKept() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      TestStores.open(directory, SETTINGS).put(new byte[] {1}, new byte[] {2}, 0);
    }
    Files.writeString(folder.resolve("lock"), "1\nanother-boot\n");
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      assertThat(TestStores.open(directory, SETTINGS).read(new byte[] {1})).isNotNull();
    }
  }

  @Test
  void storesLeftOpenByAKilledProcessAreRecovered() throws Exception {
    putOneAndLeaveUnclean();
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      Store store = TestStores.open(directory, SETTINGS);
      assertThat(store.read(new byte[] {1})).isNotNull();
      assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.RECOVERED);
    }
  }

  @Test
  void anInterruptedThreadDoesNotLoseTheLock() throws Exception {
    try (DirectoryLock lock = DirectoryLock.acquire(folder, Disk.REAL)) {
      Thread.currentThread().interrupt();
      lock.discard("cache-v1");
      assertThat(Thread.interrupted()).isTrue();
      lock.discard("cache-v2");
      assertThat(Files.readString(folder.resolve("lock"))).contains("\ncache-v1\ncache-v2\n");
    }
  }

  @Test
  void nobodyIsToldThatAStoreIsNotedWhenItIsNot() throws Exception {
    DirectoryLock lock = DirectoryLock.acquire(folder, Disk.REAL);
    lock.close();
    assertThrows(IOException.class, () -> lock.discard("cache-v1"));
    assertThrows(IOException.class, () -> lock.discard("cache-v1"));
  }

  private void putOneAndLeaveUnclean() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      TestStores.open(directory, SETTINGS).put(new byte[] {1}, new byte[] {2}, 0);
    }
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".clean")).toList()) {
        Files.delete(file);
      }
    }
  }
}
