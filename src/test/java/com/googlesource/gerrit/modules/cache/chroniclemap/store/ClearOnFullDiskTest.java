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
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FolderDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A store is cleared on a disk that has no room for a second file. */
@Timeout(60)
class ClearOnFullDiskTest {
  private static final StoreSettings SETTINGS =
      new StoreSettings("cache", 1, 4 << 20, Optional.empty(), OldValues.SECRET);

  private static final byte[] OLD = "old".getBytes(UTF_8);
  private static final byte[] NEW = "new".getBytes(UTF_8);

  @TempDir Path temp;
  private Path folder;
  private final AtomicBoolean isTooSmall = new AtomicBoolean();

  /** Part of the names of files that cannot be deleted; null if all can. */
  private volatile String stuck;

  private StoreDirectory directory;
  private Store store;

  /** Has room for one file, which a deleted file takes as long as it is mapped. */
  private final class FullDisk extends FolderDisk {
    FullDisk() {
      super(Disk.REAL);
    }

    @Override
    public void mapping(Path file) throws IOException {
      boolean isMapped =
          Files.readString(Path.of("/proc/self/maps"))
              .lines()
              .filter(line -> line.contains(folder.toString()))
              .anyMatch(line -> line.matches(".*\\.chm(\\.\\w+\\.growing)?( \\(deleted\\))?"));
      if (isMapped || isTooSmall.get()) {
        throw new IOException("No space left on device (a test)");
      }
      super.mapping(file);
    }

    @Override
    public void delete(Path file) throws IOException {
      if (stuck != null && file.toString().contains(stuck) && Files.exists(file)) {
        throw new IOException("Input/output error (a test)");
      }
      super.delete(file);
    }
  }

  @BeforeEach
  void open() throws Exception {
    folder = temp.toRealPath().resolve("stores");
    directory = StoreDirectory.open(folder, new FullDisk(), System::currentTimeMillis);
    store = TestStores.open(directory, SETTINGS);
    store.put(OLD, OLD, 1);
    store.flush();
  }

  @AfterEach
  void close() {
    directory.close();
  }

  @Test
  void anEmptyFileIsKept() throws Exception {
    store.clear();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.stats().start().detail()).isEmpty();
    assertThat(store.read(OLD)).isNull();
    store.put(NEW, NEW, 1);
    store.clear();
    store.put(NEW, NEW, 2);
    directory.close();
    directory = StoreDirectory.open(folder);
    store = TestStores.open(directory, SETTINGS);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    assertThat(store.read(OLD)).isNull();
    assertThat(store.read(NEW).created()).isEqualTo(2);
  }

  @Test
  void nothingComesBackWhereNotEvenOneFileHasRoom() throws Exception {
    isTooSmall.set(true);
    store.clear();
    assertThat(store.stats().state()).isEqualTo(StoreState.FAILED);
    assertThat(store.read(OLD)).isNull();
    isTooSmall.set(false);
    store.everyMinute();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(store.read(OLD)).isNull();
    store.put(NEW, NEW, 1);
    assertThat(store.read(NEW)).isNotNull();
  }

  @Test
  void nothingComesBackWhereTheOldFileCannotBeDeleted() throws Exception {
    stuck = "-g1-";
    store.clear();
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    directory.close();
    killInTheMiddleOfAClear();
    assertThat(store.read(OLD)).isNull();
  }

  /**
   * As a kill leaves it between two generations, and a disk that then refuses to delete the first.
   */
  @Test
  void nothingComesBackFromAFileThatAKillHasLeft() throws Exception {
    directory.close();
    List<Path> first = files("-g1-");
    for (Path file : first) {
      Path unused = Files.createLink(link(file), file);
    }
    directory = StoreDirectory.open(folder);
    // Another limit has it copied.
    store = TestStores.open(directory, new StoreSettings("cache", 1, 64 << 20, Optional.empty()));
    directory.close();
    for (Path file : first) {
      Path unused = Files.move(link(file), file);
    }

    stuck = "-g1-";
    directory = StoreDirectory.open(folder, new FullDisk(), System::currentTimeMillis);
    store = TestStores.open(directory, new StoreSettings("cache", 1, 64 << 20, Optional.empty()));
    assertWithMessage("%s", store.stats()).that(store.read(OLD)).isNotNull();
    store.remove(OLD);
    store.clear();
    directory.close();
    killInTheMiddleOfAClear();
    assertThat(store.read(OLD)).isNull();
  }

  private List<Path> files(String part) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.getFileName().toString().contains(part)).toList();
    }
  }

  private Path link(Path file) {
    return temp.resolve("link to " + file.getFileName());
  }

  /** Leaves what was there before the newest file, and opens that. */
  private void killInTheMiddleOfAClear() throws Exception {
    for (Path file : files(".chm")) {
      if (!file.toString().contains("-g1-")) {
        Files.delete(file);
      }
    }
    directory = StoreDirectory.open(folder);
    store = TestStores.open(directory, SETTINGS);
  }
}
