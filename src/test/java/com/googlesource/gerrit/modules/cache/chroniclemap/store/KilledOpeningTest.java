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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Hook;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestSeed.Step;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A store with a seed is killed before each call of the disk while it is opened, or the machine
 * crashes then: in the next start nothing is found that was invalidated.
 */
@Timeout(120)
class KilledOpeningTest extends FolderTest {
  private static final int COUNT = 20;
  private static final byte[] VALUE = new byte[1000];

  /** A folder as the next start finds it. */
  private record Left(Path folder, TestSeed seed) {}

  /** Copies the folder before each call. */
  private final class LeavingDisk extends TestDisk {
    private final Path folder = folder();
    private final Path deleted = temp.resolve("deleted");
    final List<Left> all = new ArrayList<>();

    /** Copied while it is not null. */
    TestSeed seed;

    private synchronized void copy() throws IOException {
      if (seed != null) {
        copy(TestStores.filesIn(folder));
        List<Path> undone = new ArrayList<>(TestStores.filesIn(folder));
        for (Path file : TestStores.filesIn(deleted)) {
          if (!Files.exists(folder.resolve(file.getFileName()))) {
            undone.add(file);
          }
        }
        copy(undone);
      }
    }

    private void copy(List<Path> files) throws IOException {
      Path copy = Files.createDirectory(temp.resolve("left" + all.size()));
      for (Path file : files) {
        try {
          Files.copy(file, copy.resolve(file.getFileName()));
        } catch (NoSuchFileException e) {
          // Another thread has deleted it meanwhile.
        }
      }
      all.add(new Left(copy, seed.copy()));
    }

    LeavingDisk() {
      for (Call call :
          List.of(
              Call.CREATE,
              Call.OPEN,
              Call.WRITE,
              Call.MOVE,
              Call.COMPLETE,
              Call.DELETE,
              Call.SYNC)) {
        before(call, file -> copy());
      }
    }

    @Override
    public synchronized void delete(Path file) throws IOException {
      // Once it was on disk that a marker is gone, only what was deleted before it may be back.
      if (Files.exists(file) && !file.toString().contains("discard")) {
        Files.copy(file, deleted.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
      }
      super.delete(file);
    }

    @Override
    public synchronized void sync(Path synced) throws IOException {
      super.sync(synced);
      for (Path file : TestStores.filesIn(deleted)) {
        Files.delete(file);
      }
    }
  }

  private LeavingDisk disk;

  @BeforeEach
  void makeDisk() {
    disk = new LeavingDisk();
  }

  private static TestSeed seed(long changed) {
    TestSeed seed = new TestSeed(COUNT, i -> VALUE);
    seed.changed = changed;
    return seed;
  }

  private static Store open(StoreDirectory directory, OldValues kind, TestSeed seed)
      throws Exception {
    return directory.openStore(settings("cache", 1 << 20, kind), seed.unlessMoved(), report -> {});
  }

  private StoreDirectory begin() throws Exception {
    Files.createDirectories(temp.resolve("deleted"));
    return StoreDirectory.open(folder(), disk, System::currentTimeMillis);
  }

  private void openWhileCopied(OldValues kind, TestSeed seed) throws Exception {
    try (StoreDirectory directory = begin()) {
      disk.seed = seed;
      Store store = open(directory, kind, seed);
      store.awaitOpened();
      disk.seed = null;
      assertThat(store.isOpen()).isTrue();
    }
  }

  private void assertNoStartFinds(int gone, OldValues kind) throws Exception {
    assertThat(disk.all).isNotEmpty();
    for (Left left : disk.all) {
      List<Path> files = TestStores.filesIn(left.folder);
      try (StoreDirectory next = StoreDirectory.open(left.folder)) {
        boolean wasMoved = left.seed.isMoved;
        Store store = open(next, kind, left.seed);
        store.awaitOpened();
        assertWithMessage("%s, moved=%s", files, wasMoved).that(store.read(key(gone))).isNull();
      }
    }
  }

  /** What was removed while an earlier start was still importing. */
  @ParameterizedTest
  @EnumSource
  void whatWasInvalidatedEarlier(OldValues kind) throws Exception {
    Path folder = Files.createDirectory(folder());
    Files.createFile(folder.resolve("cache-v1.discard.early"));
    openWhileCopied(kind, seed(Long.MAX_VALUE));
    assertNoStartFinds(1, kind);
  }

  /** What may have been invalidated by a Gerrit with H2. */
  @ParameterizedTest
  @EnumSource(names = "PURE", mode = EnumSource.Mode.EXCLUDE)
  void whatWasInvalidatedElsewhere(OldValues kind) throws Exception {
    for (long changed : new long[] {0, Long.MAX_VALUE}) {
      try (StoreDirectory directory = begin()) {
        Store store = open(directory, kind, seed(0));
        store.awaitOpened();
        store.put(key(1000), new byte[10], System.currentTimeMillis());
      }
      openWhileCopied(kind, seed(changed));
    }
    assertNoStartFinds(1000, kind);
  }

  /** What was removed while the store waited for the import of another one. */
  @ParameterizedTest
  @EnumSource(names = "SECRET", mode = EnumSource.Mode.EXCLUDE)
  void whatWasInvalidatedBeforeItsTurn(OldValues kind) throws Exception {
    CountDownLatch mayGoOn = new CountDownLatch(1);
    TestSeed other = seed(0);
    other.hook =
        step -> {
          if (step == Step.BEGINS) {
            Uninterruptibles.awaitUninterruptibly(mayGoOn);
          }
        };
    try (StoreDirectory directory = begin()) {
      Store unused =
          directory.openStore(settings("other", 1 << 20), Optional.of(other), report -> {});
      TestSeed seed = seed(0);
      Store store = open(directory, kind, seed);
      if (kind == OldValues.PURE) {
        store.clear();
      } else {
        store.remove(key(1));
      }
      disk.seed = seed;
      mayGoOn.countDown();
      store.awaitOpened();
      disk.seed = null;
    }
    assertNoStartFinds(1, kind);
  }

  /** All of it is imported that had not been moved aside. */
  private static void assertNothingIsLost(List<Left> kills, OldValues kind) throws Exception {
    for (Left left : kills) {
      if (!left.seed.isMoved) {
        List<Path> files = TestStores.filesIn(left.folder);
        try (StoreDirectory next = StoreDirectory.open(left.folder)) {
          Store store = open(next, kind, left.seed);
          store.awaitOpened();
          assertWithMessage("%s", files).that(found(store, 0, COUNT, i -> VALUE)).isEqualTo(COUNT);
        }
      }
    }
  }

  /** Whenever the process was killed. */
  @Test
  void nothingIsLostWithoutAChange() throws Exception {
    openWhileCopied(OldValues.MUTABLE, seed(0));
    assertNothingIsLost(disk.all, OldValues.MUTABLE);
  }

  /** The second time while it deleted what the first kill had left. */
  @Test
  void nothingIsLostIfItIsKilledTwice() throws Exception {
    OldValues kind = OldValues.SECRET;
    openWhileCopied(kind, seed(0));
    List<Left> twice = new ArrayList<>();
    for (Left once : disk.all) {
      if (!once.seed.isMoved && TestStores.filesIn(once.folder).toString().contains(".chm")) {
        Hook copy =
            file ->
                twice.add(
                    new Left(
                        TestStores.copy(once.folder, temp.resolve("twice" + twice.size())),
                        once.seed.copy()));
        Disk deleting = new TestDisk().before(Call.DELETE, copy);
        try (StoreDirectory next =
            StoreDirectory.open(once.folder, deleting, System::currentTimeMillis)) {
          open(next, kind, once.seed).awaitOpened();
        }
      }
    }
    assertNothingIsLost(twice, kind);
  }
}
