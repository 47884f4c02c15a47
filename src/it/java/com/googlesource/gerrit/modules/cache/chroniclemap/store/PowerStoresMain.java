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

import com.google.common.base.Splitter;
import com.google.common.base.Throwables;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;

/**
 * Stores of each kind in a virtual machine whose power fails; run by bin/lib/soak-power.sh. What
 * {@link CrashMain} does is in logs that outlive the machine, and is checked when the machine has
 * booted again.
 */
final class PowerStoresMain {
  /** What a store is used for. */
  private enum Kind {
    CHANGED(OldValues.MUTABLE, 0, CrashMain.END),
    LOADED(OldValues.MUTABLE, CrashMain.LOAD, CrashMain.PUT),
    SESSIONS(OldValues.SECRET, CrashMain.LOAD - 20, CrashMain.END),
    CONTENT(OldValues.PURE, CrashMain.LOAD, CrashMain.END);

    private final OldValues oldValues;
    private final int from;
    private final int to;

    Kind(OldValues oldValues, int from, int to) {
      this.oldValues = oldValues;
      this.from = from;
      this.to = to;
    }

    StoreSettings settings() {
      return new StoreSettings(name(), 1, 8 << 20, Optional.empty(), oldValues);
    }

    Path log(String logs) {
      return Path.of(logs + "." + name());
    }
  }

  public static void main(String[] args) {
    Thread.setDefaultUncaughtExceptionHandler((thread, cause) -> fail(cause));
    try {
      if (args[0].equals("run")) {
        run(Path.of(args[1]), args[2], new Random(Long.parseLong(args[3])));
      } else {
        for (int i = 2; i < args.length; i += 3) {
          Path folder = Path.of(args[i]).resolve("stores");
          check(folder, args[1], positions(args[i + 1]), positions(args[i + 2]));
        }
      }
    } catch (Exception | AssertionError e) {
      fail(e);
    }
  }

  private static void fail(Throwable cause) {
    System.err.println("WRONG stores: " + Throwables.getStackTraceAsString(cause));
    Runtime.getRuntime().halt(1);
  }

  /** How many records the logs had by a mark, which has the size of another log before. */
  private static List<Integer> positions(String mark) {
    return Splitter.on(',')
        .splitToStream(mark)
        .skip(1)
        .map(Long::valueOf)
        .map(CrashLog::places)
        .toList();
  }

  private static void run(Path folder, String logs, Random seeds) throws Exception {
    StoreDirectory directory = StoreDirectory.open(folder);
    for (Kind kind : Kind.values()) {
      CrashLog log = CrashLog.openThrough(kind.log(logs));
      log.add(CrashLog.Kind.KILLED, 0, 0, 0);
      CrashHistory history = new CrashHistory(log, CrashMain.KEYS);
      int unused = history.readOn();
      int version = 0;
      for (int i = 0; i < log.size(); i++) {
        version = Math.max(version, log.get(i).version());
      }
      Store store = directory.openStore(kind.settings());
      int[] found = check(kind, store, history);
      for (int key = 0; key < found.length; key++) {
        log.add(CrashLog.Kind.FOUND, 0, key, found[key]);
      }
      CrashMain main = new CrashMain(store, log, version);
      Random random = new Random(seeds.nextLong());
      new Thread(() -> main.changeForEver(0, random, kind.from, kind.to)).start();
    }
  }

  /** Of a disk as it was at a moment between two sizes of the logs. */
  private static void check(Path folder, String logs, List<Integer> atLeast, List<Integer> atMost)
      throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      List<Kind> kinds = List.of(Kind.values());
      for (int k = 0; k < kinds.size(); k++) {
        Kind kind = kinds.get(k);
        int first = atLeast.get(k);
        CrashLog all = CrashLog.openThrough(kind.log(logs));
        Path copy = Files.createTempFile("power", ".log");
        CrashLog log = CrashLog.openThrough(copy);
        for (int i = 0; i < atMost.get(k); i++) {
          CrashLog.Entry entry = all.get(i);
          // What returned after the moment may not have happened at the moment.
          if (i < first || entry.kind() != CrashLog.Kind.RETURNED) {
            log.add(entry.kind(), entry.thread(), entry.key(), entry.version());
          }
        }
        CrashHistory history = new CrashHistory(log, CrashMain.KEYS);
        int unused = history.readOn();
        int[] unusedVersions = check(kind, directory.openStore(kind.settings()), history);
        Files.delete(copy);
      }
    }
  }

  /** Returns the version of each key that is found, or 0. */
  private static int[] check(Kind kind, Store store, CrashHistory history)
      throws IOException, InterruptedException {
    store.awaitOpened();
    // Any version that was ever put is right where old values are.
    int[] found = CrashMain.find(store, history, kind.oldValues == OldValues.PURE);
    StoreStats stats = store.stats();
    if (stats.state() != StoreState.READY) {
      throw new AssertionError(kind + ": " + stats);
    }
    System.err.printf(
        Locale.ROOT,
        "store %s: values=%d damaged=%d start=%s %s%n",
        kind,
        Arrays.stream(found).filter(version -> version != 0).count(),
        stats.counts().damaged.sum(),
        stats.start().kind(),
        stats.start().detail());
    return found;
  }
}
