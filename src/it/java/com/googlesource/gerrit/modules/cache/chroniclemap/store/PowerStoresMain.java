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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Stores of each kind in a virtual machine whose power fails; run by bin/lib/soak-power.sh. What
 * {@link SoakThread}s do is in a log that outlives the machine, and is checked by a {@link
 * SoakModel} when the machine has booted again.
 */
final class PowerStoresMain {
  private static final int KEYS = 48;

  /** From here on, the number of an operation stands for a load; before, for a removal. */
  private static final int LOAD = 50;

  /** From here on, it stands for a put. */
  private static final int PUT = 100;

  private static final int END = 200;

  /** What a store is used for; the last one is that which its plan calls loaded only. */
  private enum Kind {
    CHANGED(OldValues.MUTABLE, 0, END),
    SESSIONS(OldValues.SECRET, LOAD - 20, END),
    CONTENT(OldValues.PURE, LOAD, END),
    LOADED(OldValues.MUTABLE, LOAD, PUT);

    private final OldValues oldValues;
    private final int from;
    private final int to;

    Kind(OldValues oldValues, int from, int to) {
      this.oldValues = oldValues;
      this.from = from;
      this.to = to;
    }
  }

  private static final List<Kind> KINDS = List.of(Kind.values());
  private static final SoakPlan PLAN =
      new SoakPlan(
          KEYS,
          Collections.nCopies(KINDS.size(), 8L << 20),
          Collections.nCopies(KINDS.size(), 0L),
          KINDS.stream().map(kind -> kind.oldValues).toList());

  private final SoakModel model;
  private final List<Store> stores = new ArrayList<>();

  private PowerStoresMain(StoreDirectory directory, SoakModel model) throws Exception {
    this.model = model;
    for (int i = 0; i < KINDS.size(); i++) {
      stores.add(directory.openStore(PLAN.settings(i)));
    }
  }

  public static void main(String[] args) {
    Thread.setDefaultUncaughtExceptionHandler((thread, cause) -> fail(cause));
    try {
      if (args[0].equals("run")) {
        run(Path.of(args[1]), Path.of(args[2]), new Random(Long.parseLong(args[3])));
      } else {
        for (int i = 2; i < args.length; i += 3) {
          Path folder = Path.of(args[i]).resolve("stores");
          check(folder, Path.of(args[1]), events(args[i + 1]), events(args[i + 2]));
        }
      }
    } catch (Exception | AssertionError e) {
      fail(e);
    }
  }

  private static void fail(Throwable cause) {
    SoakMain.fail("stores: " + Throwables.getStackTraceAsString(cause));
  }

  /** How many events the log had by a mark, which has the size of another log before. */
  private static long events(String mark) {
    return SoakModel.events(Long.parseLong(Splitter.on(',').splitToList(mark).get(1)));
  }

  private static void run(Path folder, Path log, Random seeds) throws Exception {
    SoakModel model = SoakModel.open(Files.createTempFile("power", ".model"));
    model.replay(log, Long.MAX_VALUE, SoakModel.events(Files.size(log)));
    model.writeThrough(log);
    model.killed();
    PowerStoresMain main = new PowerStoresMain(StoreDirectory.open(folder), model);
    main.check();
    for (int i = 0; i < KINDS.size(); i++) {
      int store = i;
      Random random = new Random(seeds.nextLong());
      new Thread(() -> main.changeForEver(store, random)).start();
    }
  }

  /** Of a disk as it was at a moment between two sizes of the log. */
  private static void check(Path folder, Path log, long atLeast, long atMost) throws Exception {
    Path file = Files.createTempFile("power", ".model");
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      SoakModel model = SoakModel.open(file);
      // What returned after the moment may not have happened at the moment.
      model.replay(log, atLeast, atMost);
      new PowerStoresMain(directory, model).check();
    }
    Files.delete(file);
  }

  private SoakThread thread(int store, Random random) {
    // That of number 0 puts values without bytes, which say not which they are.
    return new SoakThread(model, stores, PLAN, store + 1, /* crashed= */ true, random.nextLong());
  }

  private void changeForEver(int store, Random random) {
    Kind kind = KINDS.get(store);
    SoakThread thread = thread(store, random);
    while (true) {
      int key = random.nextInt(KEYS);
      int what = random.nextInt(kind.from, kind.to);
      thread.longest = random.nextInt(5) == 0 ? 1 << 20 : 20_000;
      if (what == 0) {
        thread.clear(store);
      } else if (what < LOAD) {
        thread.remove(store, key);
      } else if (what < PUT) {
        thread.load(store, key);
      } else {
        thread.put(store, key);
      }
    }
  }

  /** Finds in each store only what may be there. */
  private void check() throws IOException, InterruptedException {
    for (int i = 0; i < KINDS.size(); i++) {
      Store store = stores.get(i);
      store.awaitOpened();
      int[] versions = new int[KEYS];
      SoakThread reader = thread(i, new Random(0));
      for (int key = 0; key < KEYS; key++) {
        versions[key] = reader.read(i, key);
        model.seen(i, key, versions[key]);
      }
      StoreStats stats = store.stats();
      if (stats.state() != StoreState.READY) {
        throw new AssertionError(KINDS.get(i) + ": " + stats);
      }
      System.err.printf(
          Locale.ROOT,
          "store %s: values=%d damaged=%d start=%s %s%n",
          KINDS.get(i),
          Arrays.stream(versions).filter(version -> version != 0).count(),
          stats.counts().damaged.sum(),
          stats.start().kind(),
          stats.start().detail());
    }
  }
}
