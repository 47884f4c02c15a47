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

import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.FileState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Damages a store in many ways and uses it; run by {@link DamageIT}. Prints a line before each way,
 * so that the parent knows which one ended the process, and exits with 0 if all answers were right.
 */
final class DamageMain {
  private static final int KEYS = 120;
  private static final long MAX_NANOS = 4_000_000_000L;

  private final Path folder;
  private final long limit;
  private long begun;

  private DamageMain(Path folder, long limit) {
    this.folder = folder;
    this.limit = limit;
  }

  public static void main(String[] args) throws Exception {
    DamageMain main = new DamageMain(Path.of(args[0]), Long.parseLong(args[1]));
    main.fill();
    byte[] file = Files.readAllBytes(main.file(".chm"));
    byte[] closed = Files.readAllBytes(main.file(".state"));
    byte[] open = closed.clone();
    Arrays.fill(open, FileState.CLOSED_AT, FileState.CLOSED_AT + Integer.BYTES, (byte) 0);
    String name = main.file(".chm").getFileName().toString();
    for (int seed = Integer.parseInt(args[2]); seed < Integer.parseInt(args[3]); seed++) {
      Random random = new Random(seed);
      byte[] damaged = file.clone();
      String how = damage(damaged, random);
      boolean wasClosed = random.nextBoolean();
      System.out.printf(
          Locale.ROOT, "seed %d: %s, %s%n", seed, how, wasClosed ? "closed" : "not closed");
      System.out.flush();
      main.restore(name, damaged, wasClosed ? closed : open);
      main.use(random);
    }
  }

  private static byte[] key(int number) {
    return ("the key number " + number).getBytes(UTF_8);
  }

  /** Says of itself whose value it is, so that a wrong one is noticed. */
  private static byte[] value(int number, int version) {
    return random(8 + (number * 131 + version * 17) % 2500, number * 1000L + version);
  }

  private Path file(String end) throws Exception {
    return TestStores.fileIn(folder, end);
  }

  private void fill() throws Exception {
    try (StoreDirectory directory = StoreDirectory.open(folder)) {
      Store store = TestStores.open(directory, TestStores.settings("cache", limit));
      for (int i = 0; i < KEYS; i++) {
        store.putIfCurrent(key(i), value(i, 1), 1, store.ticket(key(i)));
      }
      byte[] split = new byte[15_000];
      store.putIfCurrent(key(KEYS), split, 1, store.ticket(key(KEYS)));
      store.flush();
    }
  }

  private void restore(String name, byte[] bytes, byte[] state) throws Exception {
    for (Path file : TestStores.filesIn(folder)) {
      if (!file.endsWith("lock")) {
        Files.delete(file);
      }
    }
    Files.write(folder.resolve(name), bytes);
    Files.write(folder.resolve(name + ".state"), state);
  }

  private static String damage(byte[] file, Random random) {
    switch (random.nextInt(5)) {
      case 0 -> {
        int bits = 1 + random.nextInt(40);
        for (int i = 0; i < bits; i++) {
          file[random.nextInt(file.length)] ^= (byte) (1 << random.nextInt(8));
        }
        return bits + " bits anywhere";
      }
      case 1 -> {
        for (int i = 0; i < 4; i++) {
          file[random.nextInt(4096)] = (byte) random.nextInt(256);
        }
        return "bytes of the header";
      }
      case 2 -> {
        int from = random.nextInt(file.length);
        int to = Math.min(file.length, from + random.nextInt(20_000));
        Arrays.fill(file, from, to, (byte) 0);
        return "zeros";
      }
      case 3 -> {
        int from = random.nextInt(file.length);
        byte[] garbage = new byte[Math.min(file.length - from, random.nextInt(20_000))];
        random.nextBytes(garbage);
        System.arraycopy(garbage, 0, file, from, garbage.length);
        return "garbage";
      }
      default -> {
        return damageLengths(file, random);
      }
    }
  }

  /** What Chronicle-Map follows blindly: the lengths of keys and records. */
  private static String damageLengths(byte[] file, Random random) {
    List<Integer> keys = new ArrayList<>();
    byte[] start = "the key number ".getBytes(UTF_8);
    for (int i = 1; i < file.length - 64; i++) {
      if (file[i] == 't' && Arrays.equals(file, i, i + start.length, start, 0, start.length)) {
        keys.add(i);
      }
    }
    int count = 1 + random.nextInt(6);
    for (int i = 0; i < count; i++) {
      int at = keys.get(random.nextInt(keys.size()));
      int keyLength = file[at - 1];
      if (random.nextInt(4) == 0 || keyLength < 0) {
        file[at - 1] = (byte) random.nextInt(256);
      } else {
        int length = at + keyLength;
        for (int j = 0; j < 1 + random.nextInt(4); j++) {
          file[length + j] = (byte) (random.nextBoolean() ? 0xff : random.nextInt(256));
        }
      }
    }
    return count + " lengths";
  }

  private void use(Random random) throws Exception {
    int[] newest = new int[KEYS];
    Arrays.fill(newest, 1);
    int from = random.nextInt(KEYS);
    begun = System.nanoTime();
    StoreDirectory directory = StoreDirectory.open(folder);
    Store store = TestStores.open(directory, TestStores.settings("cache", limit));
    readAll(store, newest, "after opening");
    for (int i = 0; i < 40; i++) {
      int number = (from + i) % KEYS;
      newest[number] = 2;
      if (i % 3 == 0) {
        store.remove(key(number));
      } else {
        store.put(key(number), value(number, 2), 2);
      }
      step("a change");
    }
    readAll(store, newest, "after changes");
    store.flush();
    step("writing");
    readAll(store, newest, "after writing");
    if (random.nextInt(4) == 0) {
      store.clear();
      step("clear");
      Arrays.fill(newest, 3);
      readAll(store, newest, "after clear");
    }
    directory.close();
    step("closing");
    directory = StoreDirectory.open(folder);
    readAll(
        TestStores.open(directory, TestStores.settings("cache", limit)), newest, "after reopening");
    directory.close();
    step("closing again");
  }

  private void step(String what) {
    long now = System.nanoTime();
    if (now - begun > MAX_NANOS) {
      throw new AssertionError(what + " took " + (now - begun) / 1_000_000 + " ms");
    }
    begun = now;
  }

  /** A value may be missing, but none may be wrong, nor older than the newest. */
  private void readAll(Store store, int[] newest, String when) {
    for (int number = 0; number < KEYS; number++) {
      Value value = store.read(key(number));
      step("a read");
      if (value != null && !Arrays.equals(value.bytes(), value(number, newest[number]))) {
        throw new AssertionError(
            "wrong value of key " + number + " " + when + ": " + value.bytes().length + " bytes");
      }
    }
    Value split = store.read(key(KEYS));
    if (split != null && !Arrays.equals(split.bytes(), new byte[15_000])) {
      throw new AssertionError("wrong value of the split key " + when);
    }
  }
}
