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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.key;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.random;
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What is left of a store when the machine stops: {@link CrashingDisk} takes any pages back that
 * nobody has made sure of. Whatever is lost, no value is found that was replaced or removed.
 */
class MachineCrashTest {
  private static final int KEYS = 600;
  private static final int CRASHES = 8;

  @TempDir Path temp;

  private static StoreSettings ofKind(OldValues kind) {
    return settings("cache", 8 << 20, kind);
  }

  /** What a key may have. */
  private interface Expected {
    boolean allows(int number, byte[] value);
  }

  private static byte[] value(int number, int version) {
    int length = number % 50 == 0 ? 40_000 : 20 + number * 37 % 3000;
    return random(length, number * 1000L + version);
  }

  private static StoreDirectory open(Path folder, Disk disk) throws Exception {
    return StoreDirectory.open(folder, disk, System::currentTimeMillis);
  }

  /**
   * What a cache that is keyed by content has loaded is kept, but for what was lost; also where
   * others were put for the same keys, as each of a key's values is right.
   */
  @ParameterizedTest
  @EnumSource(names = "SECRET", mode = EnumSource.Mode.EXCLUDE)
  void whatIsNeverInvalidatedIsKept(OldValues kind) throws Exception {
    int versions = kind == OldValues.PURE ? 2 : 1;
    int kept = 0;
    for (int seed = 1; seed <= 6 / versions; seed++) {
      Random random = new Random(seed);
      Path folder = temp.resolve("folder" + seed);
      CrashingDisk disk = new CrashingDisk(folder, temp.resolve("shadow" + seed), "boot");
      try (StoreDirectory directory = open(folder, disk)) {
        Store store = TestStores.open(directory, ofKind(kind));
        for (int i = 0; i < versions * KEYS; i++) {
          byte[] key = key(i % KEYS);
          if (kind == OldValues.PURE) {
            store.put(key, value(i % KEYS, i / KEYS), 1);
          } else {
            store.putIfCurrent(key, value(i, 0), 1, store.ticket(key));
          }
          if (i == KEYS / 2) {
            store.flush();
            // As it does once a minute.
            directory.sweep();
            TestStores.awaitSettled(directory);
          }
        }
        store.flush();
        for (int i = 0; i < CRASHES; i++) {
          Path left = temp.resolve("left" + seed + "-" + i);
          disk.crash(left, random);
          kept +=
              check(
                  left,
                  kind,
                  (number, value) ->
                      IntStream.range(0, versions)
                          .anyMatch(version -> Arrays.equals(value, value(number, version))),
                  i);
        }
      }
    }
    assertThat(kept).isGreaterThan(0);
  }

  private int check(Path left, Map<Integer, Integer> versions, int crash) throws Exception {
    return check(
        left,
        OldValues.MUTABLE,
        (number, value) -> Arrays.equals(value, value(number, versions.getOrDefault(number, 0))),
        crash);
  }

  /** Returns how many values were found. */
  private int check(Path left, OldValues kind, Expected expected, int crash) throws Exception {
    CrashingDisk after = new CrashingDisk(left, temp.resolve(left.getFileName() + "s"), "later");
    int found = 0;
    try (StoreDirectory directory = open(left, after)) {
      Store store = TestStores.open(directory, ofKind(kind));
      assertThat(store.stats().state()).isEqualTo(StoreState.READY);
      for (int i = 0; i < KEYS; i++) {
        Value value = store.read(key(i));
        if (value != null) {
          assertWithMessage("key %s after crash %s", i, crash)
              .that(expected.allows(i, value.bytes()))
              .isTrue();
          found++;
        }
      }
      VerifyReport report = store.verify(false, Progress.NONE);
      assertThat(report.complete()).isTrue();
      assertThat(store.stats().state()).isEqualTo(StoreState.READY);
      store.put(key(1), value(1, 77), 1);
      store.flush();
      assertThat(store.read(key(1)).bytes()).isEqualTo(value(1, 77));
    }
    return found;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void whatWasReplacedOrRemovedIsNeverFound(int seed) throws Exception {
    Random random = new Random(seed);
    Path folder = temp.resolve("folder");
    Map<Integer, Integer> versions = new HashMap<>();
    CrashingDisk disk = new CrashingDisk(folder, temp.resolve("shadow"), "boot");
    int crashes = 0;
    StoreDirectory directory = open(folder, disk);
    try {
      Store store = TestStores.open(directory, ofKind(OldValues.MUTABLE));
      for (int step = 0; step < 1500; step++) {
        int number = random.nextInt(KEYS);
        int version = versions.getOrDefault(number, 0);
        switch (random.nextInt(step < 500 ? 4 : 12)) {
          default ->
              store.putIfCurrent(key(number), value(number, version), 1, store.ticket(key(number)));
          case 8, 9 -> {
            versions.put(number, version + 1);
            store.put(key(number), value(number, version + 1), 1);
          }
          case 10 -> {
            versions.put(number, version + 1);
            store.remove(key(number));
          }
          case 11 -> {
            switch (random.nextInt(30)) {
              case 0 -> {
                store.clear();
                for (int i = 0; i < KEYS; i++) {
                  versions.merge(i, 1, Integer::sum);
                }
              }
              case 1 -> directory.sweep();
              case 2 -> store.flush();
              case 3 -> {
                directory.close();
                directory = open(folder, disk);
                store = TestStores.open(directory, ofKind(OldValues.MUTABLE));
              }
              default -> {}
            }
          }
        }
        if (step % 250 == 249) {
          Path left = temp.resolve("left" + crashes);
          disk.crash(left, random);
          int unused = check(left, versions, crashes++);
        }
      }
    } finally {
      directory.close();
    }
    disk.crash(temp.resolve("left"), random);
    int unused = check(temp.resolve("left"), versions, crashes);
  }

  /**
   * What is done to a store that was closed and opened, and nothing else, before the machine stops.
   */
  private enum FirstChange {
    CLEAR,
    REMOVE,
    PUT;

    void apply(Store store) {
      switch (this) {
        case CLEAR -> store.clear();
        case REMOVE -> IntStream.range(0, KEYS).forEach(i -> store.remove(key(i)));
        case PUT -> IntStream.range(0, KEYS).forEach(i -> store.put(key(i), value(i, 1), 1));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void theFirstChangeAfterAStartHoldsToo(FirstChange change) throws Exception {
    for (int seed = 1; seed <= 3; seed++) {
      Random random = new Random(seed);
      Path folder = temp.resolve("folder" + seed);
      try (StoreDirectory directory = open(folder, Disk.REAL)) {
        Store store = TestStores.open(directory, ofKind(OldValues.MUTABLE));
        for (int i = 0; i < KEYS; i++) {
          store.putIfCurrent(key(i), value(i, 0), 1, store.ticket(key(i)));
        }
      }
      CrashingDisk disk =
          new CrashingDisk(folder, temp.resolve("shadow" + seed), Disk.REAL.boot(folder));
      Map<Integer, Integer> versions = new HashMap<>();
      try (StoreDirectory directory = open(folder, disk)) {
        Store store = TestStores.open(directory, ofKind(OldValues.MUTABLE));
        assertThat(store.stats().start().kind()).isEqualTo(StartReport.Kind.CLEAN);
        change.apply(store);
        for (int i = 0; i < KEYS; i++) {
          versions.put(i, 1);
        }
        for (int i = 0; i < CRASHES; i++) {
          Path left = temp.resolve("left" + seed + "-" + i);
          disk.crash(left, random);
          int unused = check(left, versions, i);
        }
      }
    }
  }
}
