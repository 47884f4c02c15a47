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

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process that changes a store is killed again and again: while it opens the file, while that
 * takes disk, and later. What is found afterwards was put; what was removed stays away; a value
 * that was replaced does not come back. {@link CrashHistory} knows what may be found.
 *
 * <p>More kills: {@code -Dcrash.kills=1000}.
 */
@Timeout(3600)
class CrashIT {
  private static final int KILLS = Integer.getInteger("crash.kills", 25);

  /** Then a new store is begun, so that files take disk all the time. */
  private static final int KILLS_OF_A_STORE = 5;

  /** Most segments take disk after so many changes. */
  private static final int FEW_CHANGES = 150;

  private static final int MANY_CHANGES = 1200;
  private static final int VERSIONS_OF_A_PROCESS = 1_000_000;

  @TempDir Path temp;

  private final Random random = new Random(1);
  private Path stores;
  private CrashLog log;
  private CrashHistory history;

  /** Values that were found after kills, and how often was looked for them. */
  private int found;

  private int checks;
  private int grown;

  @Test
  void noKillBringsAnOldValueBack() throws Exception {
    for (int kill = 0; kill < KILLS; kill++) {
      int ofStore = kill % KILLS_OF_A_STORE;
      if (ofStore == 0) {
        if (stores != null) {
          MoreFiles.deleteRecursively(stores, RecursiveDeleteOption.ALLOW_INSECURE);
        }
        stores = temp.resolve("stores" + kill);
        Path file = temp.resolve("log" + kill);
        log = CrashLog.open(file);
        history = new CrashHistory(log, CrashMain.KEYS);
      }
      runAndKill(kill);
      // Sometimes the next process finds what the one before left, and is killed in its turn.
      if (ofStore == KILLS_OF_A_STORE - 1 || kill == KILLS - 1 || random.nextBoolean()) {
        check();
      }
    }
    // How many are there is luck: who is killed may have removed all just before.
    assertThat(found).isGreaterThan(0);
    System.out.printf(
        Locale.ROOT,
        "CrashIT: kills=%d checks=%d valuesFound=%d checksWithGrownFile=%d%n",
        KILLS,
        checks,
        found,
        grown);
  }

  private void runAndKill(int kill) throws Exception {
    int first = kill % KILLS_OF_A_STORE * VERSIONS_OF_A_PROCESS;
    Path file = temp.resolve("log" + (kill - kill % KILLS_OF_A_STORE));
    try (ChildJvm child = ChildJvm.start(temp, CrashMain.class, stores, file, kill, first)) {
      int lines = 1 + random.nextInt(random.nextBoolean() ? FEW_CHANGES : MANY_CHANGES);
      if (random.nextInt(10) == 0) {
        // While it opens the file.
        lines = 1;
      }
      for (int i = 0; i < lines; i++) {
        assertWithMessage("a line of the child").that(child.readLine()).isNotNull();
      }
      child.kill();
    }
    log.add(CrashLog.Kind.KILLED, 0, 0, 0);
  }

  private void check() throws Exception {
    int begun = history.readOn();
    checks++;
    try (StoreDirectory directory = StoreDirectory.open(stores)) {
      Store store = directory.openStore(CrashMain.settings());
      store.awaitOpened();
      int[] versions = CrashMain.find(store, history, /* isAnyAllowed= */ false);
      for (int key = 0; key < CrashMain.KEYS; key++) {
        log.add(CrashLog.Kind.FOUND, 0, key, versions[key]);
      }
      int entries = (int) Arrays.stream(versions).filter(version -> version != 0).count();
      found += entries;
      StoreStats stats = store.stats();
      grown += stats.diskBytes() > 5 << 20 ? 1 : 0;
      assertThat(stats.state()).isEqualTo(StoreState.READY);
      // What was being written is half written, perhaps; what was made void may not be removed yet.
      assertThat(stats.counts().damaged.sum()).isAtMost(1);
      assertThat(stats.entries()).isAtLeast(entries);
      checkStart(stats.start(), begun);
    }
    var unused = history.readOn();
  }

  private static void checkStart(StartReport start, int begun) {
    switch (start.kind()) {
      case REPLACED ->
          // Killed while its file was being opened, when keys had been changed already.
          assertThat(start.detail()).contains("just before a crash");
      case CLEAN ->
          // Killed before it touched the file: each of its threads may wait for that to be open.
          assertThat(begun).isAtMost(CrashMain.THREADS);
      default -> assertThat(start.kind()).isAnyOf(StartReport.Kind.RECOVERED, StartReport.Kind.NEW);
    }
    assertThat(start.millis()).isLessThan(5000);
  }
}
