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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** One folder, one server: whoever comes second is told who has it. */
@Timeout(60)
class TwoServersIT {
  @TempDir Path temp;

  private Path stores() {
    return temp.resolve("stores");
  }

  private StoreDirectory unopened() {
    return StoreDirectory.unopened(stores(), locked -> {}, () -> false);
  }

  @Test
  void aFolderThatIsTriedAgainIsLeftToItsUser() throws Exception {
    AtomicLong clock = new AtomicLong();
    StoreSettings settings = new StoreSettings("cache", 1, 1 << 20, Optional.empty());
    try (ChildJvm child = ChildJvm.start(temp, Child.class, stores());
        StoreDirectory folder =
            new StoreDirectory(
                stores(), Disk.REAL, clock::get, StoreThreads::named, locked -> {}, () -> false)) {
      assertThat(child.readLine()).startsWith("locked");
      assertThrows(
          StoreUnavailableException.class, () -> folder.openWhenFree(Duration.ZERO, who -> {}));
      Store store = folder.openStore(settings);
      for (int i = 0; i < 2; i++) {
        clock.addAndGet(Duration.ofMinutes(10).toMillis());
        folder.sweep();
        assertThat(folder.obstacle().orElseThrow()).contains("in use by another process");
        // The lock is still the other one's.
        assertThrows(StoreUnavailableException.class, () -> StoreDirectory.open(stores()));
      }
      try (Stream<Path> files = Files.list(stores())) {
        assertThat(files).containsExactly(stores().resolve("lock"));
      }
      child.println("go");
      child.finish();
      clock.addAndGet(Duration.ofMinutes(10).toMillis());
      folder.sweep();
      assertThat(folder.obstacle()).isEmpty();
      assertThat(store.stats().state()).isEqualTo(StoreState.READY);
    }
  }

  /** A restart in which the old server takes its time to stop. */
  @Test
  void whoComesSecondWaitsForTheFirstToEnd() throws Exception {
    try (ChildJvm child = ChildJvm.start(temp, Child.class, stores())) {
      assertThat(child.readLine()).startsWith("locked");
      List<String> told = new ArrayList<>();
      Consumer<String> endIt =
          who -> {
            told.add(who);
            try {
              child.println("go");
            } catch (IOException e) {
              throw new UncheckedIOException(e);
            }
          };
      try (StoreDirectory folder = unopened()) {
        folder.openWhenFree(Duration.ofDays(1), endIt);
      }
      child.finish();
      assertThat(told).hasSize(1);
      assertThat(told.get(0)).contains("another process (process " + child.pid() + " on ");
      assertThat(told.get(0)).contains(stores().toString());
    }
  }

  @Test
  void whoWaitsLongEnoughIsRefused() throws Exception {
    try (ChildJvm child = ChildJvm.start(temp, Child.class, stores())) {
      assertThat(child.readLine()).startsWith("locked");
      for (Duration patience : List.of(Duration.ZERO, Duration.ofMillis(1))) {
        StoreUnavailableException refused =
            assertThrows(
                StoreUnavailableException.class,
                () -> {
                  try (StoreDirectory folder = unopened()) {
                    folder.openWhenFree(patience, who -> {});
                  }
                });
        assertThat(refused).hasMessageThat().contains("in use by another process");
        assertThat(refused).hasMessageThat().contains("(process " + child.pid() + " on ");
      }
      child.println("go");
      child.finish();
    }
    StoreDirectory.open(stores()).close();
  }

  @Test
  void aKilledProcessHasNoLock() throws Exception {
    try (ChildJvm child = ChildJvm.start(temp, Child.class, stores())) {
      assertThat(child.readLine()).startsWith("locked");
      child.kill();
    }
    StoreDirectory.open(stores()).close();
  }

  /** A second try in this process must not cost the first one its lock, as POSIX would have it. */
  @Test
  void aSecondTryInOneProcessKeepsOthersOut() throws Exception {
    try (StoreDirectory first = StoreDirectory.open(stores())) {
      assertThrows(StoreUnavailableException.class, () -> StoreDirectory.open(stores()));
      assertThrows(
          StoreUnavailableException.class,
          () -> StoreDirectory.open(temp.resolve("x/../stores").normalize()));
      try (ChildJvm child = ChildJvm.start(temp, Child.class, first.path)) {
        assertThat(child.readLine()).startsWith("refused");
        child.finish();
      }
    }
  }

  /** Says whether it can lock a folder, and keeps the lock until it is told a line. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) throws Exception {
      try (StoreDirectory directory = StoreDirectory.open(Path.of(args[0]))) {
        System.out.println("locked " + directory.path);
        var unused = System.in.read();
      } catch (StoreUnavailableException e) {
        System.out.println("refused: " + e.getMessage());
      }
    }
  }
}
