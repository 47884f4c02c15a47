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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.ForwardingDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FilesOnDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An upgrade, and the way back: each version finds what it had left, for a day. */
@Timeout(60)
class OtherVersionsTest {
  private static final String PURE = "pure";
  private static final byte[] KEY = ByteBuffer.allocate(4).putInt(7).array();

  @TempDir Path temp;
  private final AtomicLong clock = new AtomicLong(1_000_000_000_000L);
  private StoreDirectory directory;
  private Store store;

  @AfterEach
  void close() {
    if (directory != null) {
      directory.close();
    }
  }

  private void start(String cache, int version) throws Exception {
    if (directory != null) {
      directory.close();
    }
    directory = StoreDirectory.open(temp.resolve("stores"), Disk.REAL, clock::get);
    directory.keepOtherVersionsOf(Set.of(PURE));
    store = directory.openStore(new StoreSettings(cache, version, 16 << 20, Optional.empty()));
    store.awaitOpened();
  }

  private void put(int value) {
    store.put(KEY, TestValues.of(value), clock.get());
    store.flush();
  }

  private int read() {
    return TestValues.numberOf(store.read(KEY));
  }

  private List<String> parked() throws Exception {
    try (Stream<Path> files = Files.list(temp.resolve("stores"))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.contains(".chm") && name.contains(".parked-"))
          .sorted()
          .toList();
    }
  }

  @Test
  void eachVersionFindsWhatItHad() throws Exception {
    start(PURE, 1);
    put(1);
    start(PURE, 2);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
    assertThat(parked()).hasSize(2);
    put(2);
    start(PURE, 1);
    assertThat(read()).isEqualTo(1);
    assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
    start(PURE, 2);
    assertThat(read()).isEqualTo(2);
    start(PURE, 2);
    assertThat(read()).isEqualTo(2);
    assertThat(parked()).hasSize(2);
  }

  @Test
  void afterADayTheyAreGone() throws Exception {
    start(PURE, 1);
    put(1);
    start(PURE, 2);
    clock.addAndGet(Duration.ofHours(23).toMillis());
    directory.sweep();
    assertThat(parked()).hasSize(2);
    clock.addAndGet(Duration.ofHours(1).toMillis());
    directory.sweep();
    assertThat(parked()).isEmpty();
    start(PURE, 1);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  @Test
  void whatIsTooOldAtTheStartIsNotTaken() throws Exception {
    start(PURE, 1);
    put(1);
    start(PURE, 2);
    directory.close();
    clock.addAndGet(Duration.ofHours(24).toMillis());
    start(PURE, 1);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  /** An administrator who empties a cache means all of it. */
  @Test
  void whoClearsTheCacheClearsThemToo() throws Exception {
    start(PURE, 1);
    put(1);
    start(PURE, 2);
    store.clear();
    assertThat(parked()).isEmpty();
    start(PURE, 1);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  /** Of web sessions, say: who signed out meanwhile must not be back. */
  @Test
  void otherCachesStartEmpty() throws Exception {
    start("sessions", 1);
    put(1);
    start("sessions", 2);
    assertThat(parked()).isEmpty();
    start("sessions", 1);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  @Test
  void whatMayHoldRemovedValuesIsNotKept() throws Exception {
    start(PURE, 1);
    put(1);
    directory.close();
    Files.createFile(temp.resolve("stores/pure-v1.discard"));
    start(PURE, 2);
    assertThat(parked()).isEmpty();
    start(PURE, 1);
    assertThat(read()).isEqualTo(KeyHistory.NONE);
  }

  @Test
  void deletingAllStoresDeletesThemToo() throws Exception {
    start(PURE, 1);
    put(1);
    start(PURE, 2);
    directory.close();
    directory = StoreDirectory.open(temp.resolve("stores"));
    assertThat(directory.hasStores()).isTrue();
    directory.deleteAllBut(Set.of(PURE));
    assertThat(parked()).isNotEmpty();
    directory.deleteAllBut(Set.of());
    assertThat(parked()).isEmpty();
  }

  /** They may be what the disk is full of. */
  @Test
  void theyGoWhereTheDiskHasNoRoom() throws Exception {
    start(PURE, 1);
    put(1);
    openOnAFullDisk(PURE, 2);
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(parked()).isEmpty();
  }

  @Test
  void theyGoWhereTheDiskHasNoRoomForAnotherCache() throws Exception {
    start(PURE, 1);
    put(1);
    start(PURE, 2);
    openOnAFullDisk("web_sessions", 1);
    assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    assertThat(parked()).isEmpty();
  }

  private void openOnAFullDisk(String cache, int version) throws Exception {
    directory.close();
    AtomicBoolean full = new AtomicBoolean(true);
    Disk disk =
        new ForwardingDisk(Disk.REAL) {
          @Override
          public void mapping(Path file) throws IOException {
            if (full.getAndSet(false)) {
              throw new IOException("No space left on device (a test)");
            }
            super.mapping(file);
          }
        };
    directory = StoreDirectory.open(temp.resolve("stores"), disk, clock::get);
    directory.keepOtherVersionsOf(Set.of(PURE));
    store = directory.openStore(new StoreSettings(cache, version, 16 << 20, Optional.empty()));
    store.awaitOpened();
  }

  /** A process that is killed while it opens its store has not told which values were removed. */
  @Test
  void anUpgradeThatWasKilledKeepsTheOldVersion() throws Exception {
    start(PURE, 1);
    put(1);
    directory.close();
    Files.createFile(temp.resolve("stores/pure-v2.discard.early"));
    start(PURE, 2);
    start(PURE, 1);
    assertThat(read()).isEqualTo(1);
  }

  /** Each step of putting aside and taking back may be the last one before a kill. */
  @Test
  void aKillAtAnyStepLosesNothing() throws Exception {
    Path folder = Files.createDirectories(temp.resolve("names"));
    List<String> files =
        List.of(
            "c-v1-g3-2097152-128-00000001.chm",
            "c-v1-g3-2097152-128-00000001.chm.state",
            "c-v1.use");
    for (int killed = 0; killed <= 2 * files.size(); killed++) {
      for (String file : files) {
        Files.writeString(folder.resolve(file), file);
      }
      AtomicInteger left = new AtomicInteger(killed);
      Disk dying =
          new ForwardingDisk(Disk.REAL) {
            @Override
            public void move(Path from, Path to) throws IOException {
              if (left.getAndDecrement() <= 0) {
                throw new IOException("killed (a test)");
              }
              super.move(from, to);
            }
          };
      try {
        var unused = new FilesOnDisk(dying, folder, null, "c", 2).otherVersions().park(1000);
        new FilesOnDisk(dying, folder, null, "c", 1).otherVersions().unpark(2000);
      } catch (IOException e) {
        assertThat(e).hasMessageThat().contains("killed");
      }
      FilesOnDisk back = new FilesOnDisk(Disk.REAL, folder, null, "c", 1);
      if (Files.exists(folder.resolve(files.get(0)))) {
        back.otherVersions().deleteThisVersion();
      } else {
        back.otherVersions().unpark(3000);
      }
      for (String file : files.subList(0, 2)) {
        assertThat(Files.readString(folder.resolve(file))).isEqualTo(file);
      }
      try (Stream<Path> all = Files.list(folder)) {
        assertThat(all.filter(path -> path.toString().contains("parked")).toList()).isEmpty();
      }
    }
  }

  @Test
  void theNewestOfTwoSetsIsTaken() throws Exception {
    Path folder = Files.createDirectories(temp.resolve("names"));
    String file = "c-v1-g3-2097152-128-00000001.chm";
    for (String since : List.of("1000", "2000")) {
      Files.writeString(folder.resolve(file + ".parked-" + since), since);
      Files.writeString(folder.resolve(file + ".state.parked-" + since), since);
    }
    // A later generation of an earlier time.
    Files.writeString(folder.resolve(file.replace("g3", "g5") + ".parked-1500"), "1500");
    new FilesOnDisk(Disk.REAL, folder, null, "c", 1).otherVersions().unpark(3000);
    assertThat(Files.readString(folder.resolve(file))).isEqualTo("2000");
    assertThat(Files.readString(folder.resolve(file + ".state"))).isEqualTo("2000");
    try (Stream<Path> all = Files.list(folder)) {
      assertThat(all.toList()).hasSize(2);
    }
  }
}
