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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Keys that are changed after they were copied to the file that will replace the one of the store:
 * while the growth forces the old file to disk, which is after the last segment was copied.
 */
@Timeout(120)
class ChangesDuringGrowthTest {
  /** More than are noted at most. */
  private static final int KEYS = 5000;

  @TempDir Path temp;
  private StoreDirectory directory;
  private Store store;
  private int fillers;

  /** Whether a file was created since this was set to false. */
  private volatile boolean isCreated;

  /** Runs a step when a file was forced by a growth, once. */
  private class HookedDisk extends FolderDisk {
    volatile Runnable whenForced = () -> {};

    HookedDisk() {
      super(Disk.REAL);
    }

    @Override
    public void create(Path file) throws IOException {
      super.create(file);
      isCreated = true;
    }

    @Override
    public void force(Path file, FileChannel open) throws IOException {
      super.force(file, open);
      if (file.toString().endsWith(".chm")) {
        Runnable step = whenForced;
        whenForced = () -> {};
        step.run();
      }
    }
  }

  private void open(Disk disk) throws Exception {
    directory = StoreDirectory.open(temp.resolve("stores"), disk, System::currentTimeMillis);
    store = TestStores.open(directory, new StoreSettings("cache", 1, 1 << 30, Optional.empty()));
  }

  @AfterEach
  void close() {
    directory.close();
  }

  private void put(int key, int value) {
    store.put(key(key), TestValues.of(value), System.currentTimeMillis());
  }

  private void grow() throws Exception {
    long before = store.stats().counts().growths.sum();
    isCreated = false;
    while (store.stats().counts().growths.sum() == before
        && store.stats().state() == StoreState.READY) {
      if (isCreated) {
        // More of them might take the room of others before the growth is through.
        Thread.onSpinWait();
      } else {
        store.put(key(- ++fillers), new byte[10_000], System.currentTimeMillis());
      }
    }
    store.flush();
    TestStores.awaitRebuilt(store);
    TestStores.awaitSettled(directory);
  }

  @Test
  void areAllInTheNewFile() throws Exception {
    HookedDisk disk = new HookedDisk();
    open(disk);
    for (int i = 0; i < KEYS; i++) {
      put(i, i);
    }
    store.flush();
    disk.whenForced =
        () -> {
          for (int i = 0; i < KEYS; i++) {
            if (i % 3 == 0) {
              store.remove(key(i));
            } else if (i % 3 == 1) {
              put(i, KEYS + i);
            }
          }
        };
    grow();
    for (int i = 0; i < KEYS; i++) {
      Value value = store.read(key(i));
      if (i % 3 == 0) {
        assertWithMessage("key %s", i).that(value).isNull();
      } else {
        assertWithMessage("key %s", i)
            .that(TestValues.numberOf(value))
            .isEqualTo(i % 3 == 1 ? KEYS + i : i);
      }
    }
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
  }

  @Test
  void areNotUndoneByAnOldFileThatCouldNotBeDeleted() throws Exception {
    HookedDisk disk =
        new HookedDisk() {
          @Override
          public void delete(Path file) throws IOException {
            if (file.toString().contains("-g1-") && Files.exists(file)) {
              throw new IOException("Input/output error (a test)");
            }
            super.delete(file);
          }
        };
    open(disk);
    put(1, 1);
    store.flush();
    grow();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    store.remove(key(1));
    directory.close();
    // As a kill leaves it in the middle of a clear, on a disk that has no room for two files.
    try (Stream<Path> files = Files.list(temp.resolve("stores"))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".chm")).toList()) {
        if (!file.toString().contains("-g1-")) {
          Files.delete(file);
        }
      }
    }
    open(Disk.REAL);
    assertThat(store.read(key(1))).isNull();
  }

  /** A rename that has happened, but seems to have failed, and cannot be undone. */
  @Test
  void areNotLostWhereTheSystemDoesNotSayWhichFileHasTheName() throws Exception {
    HookedDisk disk =
        new HookedDisk() {
          private Path renamed;

          @Override
          public void move(Path from, Path to) throws IOException {
            super.move(from, to);
            if (from.toString().endsWith(".growing") && renamed == null) {
              renamed = to;
              throw new IOException("Input/output error (a test)");
            }
          }

          @Override
          public void delete(Path file) throws IOException {
            if (file.equals(renamed) && store.stats().state() == StoreState.READY) {
              throw new IOException("Input/output error (a test)");
            }
            super.delete(file);
          }
        };
    open(disk);
    put(1, 1);
    store.flush();
    grow();
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    store.remove(key(1));
    store.lifecycle.heal();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.read(key(1))).isNull();
  }
}
