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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;

/**
 * Changes a store until it is killed; run by {@link CrashIT}. Each change that has returned is told
 * on standard output: {@code P key version} for a put, {@code R key version} for a removal.
 */
final class CrashMain {
  static final int KEYS = 64;
  private static final int THREADS = 3;

  private CrashMain() {}

  public static void main(String[] args) throws Exception {
    Random seeds = new Random(Long.parseLong(args[1]));
    int firstVersion = Integer.parseInt(args[2]);
    StoreDirectory directory = StoreDirectory.open(Path.of(args[0]));
    Store store = directory.openStore(settings());
    for (int i = 0; i < THREADS; i++) {
      int mine = i;
      Random random = new Random(seeds.nextLong());
      Thread thread = new Thread(() -> change(store, mine, random, firstVersion));
      thread.start();
    }
  }

  static StoreSettings settings() {
    // Room for two growths, and for fewer values than there are keys.
    return new StoreSettings("crash", 1, 16 << 20, Optional.empty());
  }

  static byte[] key(int number) {
    return ("key " + number).getBytes(UTF_8);
  }

  /** Begins with its key's number and version; the rest follows from these. */
  static byte[] value(int key, int version) {
    Random random = new Random(key * 1_000_003L + version);
    int length = random.nextInt(10) == 0 ? random.nextInt(1 << 20) : random.nextInt(20_000);
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

  private static void change(Store store, int mine, Random random, int firstVersion) {
    int version = firstVersion;
    while (true) {
      version++;
      int key = mine + THREADS * random.nextInt(KEYS / THREADS);
      if (random.nextInt(3) == 0) {
        store.remove(key(key));
        System.out.println("R " + key + " " + version);
      } else {
        store.put(key(key), value(key, version), System.currentTimeMillis());
        System.out.println("P " + key + " " + version);
      }
    }
  }
}
