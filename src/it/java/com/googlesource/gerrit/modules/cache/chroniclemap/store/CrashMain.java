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

import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.CrashLog.Kind;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Changes a store until it is killed; run by {@link CrashIT}. Its threads use the same keys. What
 * they do is in a {@link CrashLog}; a line on standard output is only a sign of life.
 */
final class CrashMain {
  static final int KEYS = 48;
  static final int THREADS = 3;

  /** From here on {@link #change} loads; before, it removes. */
  static final int LOAD = 50;

  /** From here on it puts. */
  static final int PUT = 100;

  static final int END = 200;

  private final Store store;
  private final CrashLog log;
  private final AtomicInteger versions;

  CrashMain(Store store, CrashLog log, int firstVersion) {
    this.store = store;
    this.log = log;
    this.versions = new AtomicInteger(firstVersion);
  }

  public static void main(String[] args) throws Exception {
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, cause) -> {
          cause.printStackTrace();
          // The end of its output tells that something is wrong.
          Runtime.getRuntime().halt(1);
        });
    CrashLog log = CrashLog.open(Path.of(args[1]));
    long seed = Long.parseLong(args[2]);
    Random seeds = new Random(seed);
    StoreDirectory directory = StoreDirectory.open(Path.of(args[0]));
    System.out.println("opening");
    Store store = directory.openStore(settings());
    if (seed % 4 != 0) {
      // Or else a slow machine changes keys before the file is open, and each start begins anew.
      store.awaitOpened();
    }
    int firstVersion = Integer.parseInt(args[3]);
    CrashMain main = new CrashMain(store, log, firstVersion);
    if (firstVersion == 0) {
      main.fill();
    }
    for (int i = 0; i < THREADS; i++) {
      int mine = i;
      Random random = new Random(seeds.nextLong());
      new Thread(() -> main.changeForEver(mine, random, 0, END)).start();
    }
  }

  /**
   * Puts every key, the same values each time, so that the file takes disk however slow the machine
   * is.
   */
  private void fill() throws InterruptedException {
    store.awaitOpened();
    for (int key = 0; key < KEYS; key++) {
      change(0, key, PUT);
      log.add(Kind.RETURNED, 0, 0, 0);
    }
    store.flush();
    if (store.stats().diskBytes() < 4 << 20) {
      throw new AssertionError("the file has only " + store.stats().diskBytes() + " bytes of disk");
    }
  }

  static StoreSettings settings() {
    // Room for several times what is put at first.
    return new StoreSettings("crash", 1, 16 << 20, Optional.empty());
  }

  /** Begins with its key's number and version; the rest follows from these. */
  static byte[] value(int key, int version) {
    Random random = new Random(key * 1_000_003L + version);
    int length = random.nextInt(5) == 0 ? random.nextInt(1 << 20) : random.nextInt(20_000);
    byte[] out = new byte[8 + length];
    random.nextBytes(out);
    ByteBuffer.wrap(out).putInt(key).putInt(version);
    return out;
  }

  /** The version of a key's value; fails if it is none that was ever put. */
  static int versionOf(int key, byte[] value) {
    int version = ByteBuffer.wrap(value).getInt(4);
    if (!Arrays.equals(value, value(key, version))) {
      throw new AssertionError("wrong value: key=" + key + " version=" + version);
    }
    return version;
  }

  /**
   * The version of each key that is found, or 0.
   *
   * @throws AssertionError if it is none that may be found after what happened
   */
  static int[] find(Store store, CrashHistory history, boolean isAnyAllowed) {
    int[] found = new int[KEYS];
    for (int key = 0; key < KEYS; key++) {
      Value value = store.read(key(key));
      found[key] = value == null ? 0 : versionOf(key, value.bytes());
      if (value != null && !isAnyAllowed && !history.isAllowed(key, found[key])) {
        throw new AssertionError(
            "version " + found[key] + " of key " + key + " after " + history.describe(key));
      }
    }
    return found;
  }

  /** Does what {@link #change} does for the numbers of a range. */
  void changeForEver(int thread, Random random, int from, int to) {
    while (true) {
      change(thread, random.nextInt(KEYS), random.nextInt(from, to));
      log.add(Kind.RETURNED, thread, 0, 0);
      System.out.println();
    }
  }

  private void change(int thread, int key, int what) {
    int version = versions.incrementAndGet();
    if (what == 0) {
      log.add(Kind.CLEAR, thread, 0, 0);
      store.clear();
    } else if (what < LOAD) {
      log.add(Kind.REMOVE, thread, key, 0);
      store.remove(key(key));
    } else if (what < PUT) {
      log.add(Kind.LOAD, thread, key, version);
      load(key, version);
    } else {
      byte[] value = value(key, version);
      log.add(Kind.PUT, thread, key, version);
      store.put(key(key), value, System.currentTimeMillis());
    }
  }

  private void load(int key, int version) {
    Ticket ticket = store.ticket(key(key));
    try (ticket) {
      Value found = store.read(key(key));
      if (found == null) {
        store.putIfCurrent(key(key), value(key, version), System.currentTimeMillis(), ticket);
      } else {
        var unused = versionOf(key, found.bytes());
      }
    }
  }
}
