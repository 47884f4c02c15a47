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

import com.google.common.base.Splitter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process that changes a store is killed again and again. What is found afterwards was put; what
 * was removed stays away; a value that was replaced does not come back.
 */
@Timeout(180)
class CrashIT {
  private static final int KILLS = 20;

  @TempDir Path temp;

  /** The last change of each key that has returned, by its version. */
  private final int[] lastVersion = new int[CrashMain.KEYS];

  private final boolean[] lastWasRemoval = new boolean[CrashMain.KEYS];

  @Test
  void noKillBringsAnOldValueBack() throws Exception {
    Arrays.fill(lastWasRemoval, true);
    Random random = new Random(1);
    int firstVersion = 0;
    int survived = 0;
    for (int kill = 0; kill < KILLS; kill++) {
      Path stores = temp.resolve("stores");
      try (ChildJvm child = ChildJvm.start(temp, CrashMain.class, stores, kill, firstVersion)) {
        int changes = 1 + random.nextInt(1200);
        for (int i = 0; i < changes; i++) {
          String line = child.readLine();
          assertWithMessage("a line of the child").that(line).isNotNull();
          note(line);
        }
        child.kill();
        // What it had said before it was killed.
        for (String line = child.readLine(); line != null; line = child.readLine()) {
          if (line.matches("[PR] \\d+ \\d+")) {
            note(line);
          }
        }
      }
      survived += check(stores, kill);
      firstVersion += 1_000_000;
    }
    assertThat(survived).isGreaterThan(KILLS * CrashMain.KEYS / 8);
  }

  private void note(String line) {
    List<String> parts = Splitter.on(' ').splitToList(line);
    int key = Integer.parseInt(parts.get(1));
    lastVersion[key] = Integer.parseInt(parts.get(2));
    lastWasRemoval[key] = parts.get(0).equals("R");
  }

  private int check(Path stores, int kill) throws Exception {
    int found = 0;
    try (StoreDirectory directory = StoreDirectory.open(stores)) {
      Store store = directory.openStore(CrashMain.settings());
      while (store.stats().state() == StoreState.OPENING) {
        Thread.onSpinWait();
      }
      for (int key = 0; key < CrashMain.KEYS; key++) {
        Value value = store.read(CrashMain.key(key));
        if (value == null) {
          lastWasRemoval[key] = true;
          continue;
        }
        found++;
        int version = CrashMain.versionOf(key, value.bytes());
        assertWithMessage(
                "version of key %s after kill %s; removed before: %s",
                key, kill, lastWasRemoval[key])
            .that(version)
            .isAtLeast(lastWasRemoval[key] ? lastVersion[key] + 1 : lastVersion[key]);
        lastVersion[key] = version;
        lastWasRemoval[key] = false;
      }
      StoreStats stats = store.stats();
      assertThat(stats.state()).isEqualTo(StoreState.READY);
      assertThat(stats.damaged()).isEqualTo(0);
      StartReport start = stats.start();
      if (start.kind() == StartReport.Kind.REPLACED) {
        // Killed while its file was being opened, when keys had been changed already.
        assertThat(start.detail()).contains("invalidated just before a crash");
      } else {
        assertThat(start.kind()).isAnyOf(StartReport.Kind.RECOVERED, StartReport.Kind.NEW);
      }
      assertThat(start.millis()).isLessThan(5000);
      assertThat(stats.entries()).isEqualTo(found);
    }
    return found;
  }
}
