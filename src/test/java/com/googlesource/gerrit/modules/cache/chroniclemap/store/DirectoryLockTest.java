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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Call;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestDisk.Hook;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("locale")
class DirectoryLockTest {
  @TempDir Path folder;

  private DirectoryLock acquire() throws IOException {
    DirectoryLock lock = new DirectoryLock(folder, Disk.REAL);
    lock.acquire();
    return lock;
  }

  @Test
  void secondUserIsTurnedAwayUntilTheFirstIsGone() throws Exception {
    DirectoryLock first = acquire();
    StoreUnavailableException e = assertThrows(StoreUnavailableException.class, this::acquire);
    assertThat(e).hasMessageThat().contains("process " + ProcessHandle.current().pid());
    first.close();
    acquire().close();
  }

  @Test
  void theLockNamesProcessHostAndStart() throws Exception {
    try (DirectoryLock lock = acquire()) {
      ProcessHandle process = ProcessHandle.current();
      String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).trim();
      assertThat(Files.readString(folder.resolve("lock")))
          .startsWith(
              process.pid()
                  + " on "
                  + host
                  + " since "
                  + process.info().startInstant().orElseThrow()
                  + "\n");
      lock.add("by", "cache-v1");
    }
    acquire().close();
    assertThat(Files.exists(folder.resolve("cache-v1.discard"))).isTrue();
  }

  @Test
  void anInterruptedThreadDoesNotLoseTheLock() throws Exception {
    try (DirectoryLock lock = acquire()) {
      Thread.currentThread().interrupt();
      lock.add("by", "cache-v1");
      assertThat(Thread.interrupted()).isTrue();
      lock.add("another", "cache-v2");
      assertThat(Files.readString(folder.resolve("lock"))).contains("\ncache-v1\ncache-v2\n");
    }
  }

  /** However many stores there are. */
  @Test
  void noNoteIsLostAmongMany() throws Exception {
    List<String> stores =
        IntStream.range(0, 400).mapToObj(i -> "x".repeat(200) + i + "-v1").toList();
    Files.writeString(folder.resolve("lock"), "1 on a host\n" + String.join("\n", stores) + "\n");
    acquire().close();
    for (String store : stores) {
      assertThat(Files.exists(folder.resolve(store + ".discard"))).isTrue();
    }
  }

  /** The old store of a plugin that is replaced, and the new one. */
  @Test
  void whoTakesANoteBackLeavesThoseOfOthers() throws Exception {
    try (DirectoryLock lock = acquire()) {
      lock.add("old", "cache-v1");
      lock.add("new", "cache-v1");
      lock.add("new of another", "cache-v2");
      lock.remove("new", "cache-v1");
      assertThat(lock.isNoted("cache-v1", "new")).isTrue();
      assertThat(lock.isNoted("cache-v1", "old")).isFalse();
      lock.remove(null, "cache-v1");
      assertThat(lock.isNoted("cache-v1", null)).isFalse();
      assertThat(Files.readString(folder.resolve("lock"))).containsMatch("^[^\n]+\ncache-v2\n+$");
    }
  }

  /** The new bytes may be on disk before the new length. */
  @Test
  void aMachineThatStopsDuringALaterNoteKeepsThoseBefore() throws Exception {
    try (DirectoryLock lock = acquire()) {
      lock.add("by", "sessions-v1");
      String before = Files.readString(folder.resolve("lock"));
      lock.add("another", "accounts-v1");
      assertThat(Files.readString(folder.resolve("lock"))).startsWith(before);
    }
  }

  /** The new length may be on disk before the new bytes. */
  @Test
  void aMachineThatStopsWhenANoteIsTakenBackKeepsTheOthers() throws Exception {
    try (DirectoryLock lock = acquire()) {
      lock.add("by", "sessions-v1");
      lock.add("another", "accounts-v1");
      String before = Files.readString(folder.resolve("lock"));
      lock.remove("by", "sessions-v1");
      String after = Files.readString(folder.resolve("lock"));
      assertThat(before.substring(0, Math.min(before.length(), after.length())))
          .contains("\naccounts-v1\n");
    }
  }

  /** What is wrong with the note of one store keeps no other store out of the folder. */
  @Test
  void aNoteThatCantBecomeAMarkerStaysANote() throws Exception {
    try (DirectoryLock lock = acquire()) {
      lock.add("by", "cache-v1");
    }
    Hook refuse =
        file -> {
          if (file.toString().endsWith(".discard")) {
            throw new IOException("No space left on device");
          }
        };
    Disk full = new TestDisk().before(Call.CREATE, refuse);
    try (DirectoryLock lock = new DirectoryLock(folder, full)) {
      lock.acquire();
      assertThat(lock.isNoted("cache-v1", null)).isTrue();
    }
    acquire().close();
    assertThat(Files.exists(folder.resolve("cache-v1.discard"))).isTrue();
  }

  @Test
  void aNoteThatCannotBeTakenBackNowIsTakenBackLater() throws Exception {
    AtomicBoolean isBroken = new AtomicBoolean();
    Disk disk = new TestDisk().failing(Call.WRITE_OPEN, isBroken::get, "Input/output error");
    try (DirectoryLock lock = new DirectoryLock(folder, disk)) {
      lock.acquire();
      lock.add("by", "cache-v1");
      isBroken.set(true);
      assertThrows(IOException.class, () -> lock.remove("by", "cache-v1"));
      isBroken.set(false);
      lock.remove("by", "cache-v1");
      assertThat(Files.readString(folder.resolve("lock"))).doesNotContain("cache-v1");
    }
  }

  @Test
  void nobodyIsToldThatAStoreIsNotedWhenItIsNot() throws Exception {
    DirectoryLock lock = new DirectoryLock(folder, Disk.REAL);
    assertThrows(IOException.class, () -> lock.add("by", "cache-v1"));
    lock.acquire();
    lock.close();
    assertThrows(IOException.class, () -> lock.add("by", "cache-v1"));
    assertThrows(IOException.class, () -> lock.add("by", "cache-v1"));
  }
}
