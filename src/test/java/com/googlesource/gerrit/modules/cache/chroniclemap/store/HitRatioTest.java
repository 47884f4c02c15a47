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
import static com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores.settings;

import com.googlesource.gerrit.modules.cache.chroniclemap.bench.Zipf;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a real store keeps, beside what an exact LRU of as many values keeps; it prints both. The
 * simulation by which the policy was chosen is in {@code CONTRIBUTING.md}.
 */
class HitRatioTest {
  private static final int REQUESTS = 200_000;
  private static final int KEYS = 50_000;
  private static final double SKEW = 0.99;

  @TempDir Path temp;

  /** Keys by how often they are asked for: 0 most often. */
  private static IntSupplier popular(int seed) {
    Zipf zipf = new Zipf(KEYS, SKEW);
    Random random = new Random(seed);
    return () -> zipf.next(random);
  }

  @Test
  void zipf() throws Exception {
    check("zipf", popular(1));
  }

  @Test
  void zipfWithScans() throws Exception {
    IntSupplier zipf = popular(2);
    int[] step = {0};
    int[] unseen = {KEYS};
    // Every 20,000 requests, 5,000 keys that are asked for once.
    check("scans", () -> step[0]++ % 25_000 < 5_000 ? unseen[0]++ : zipf.getAsInt());
  }

  @Test
  void newestFirst() throws Exception {
    IntSupplier zipf = popular(3);
    int[] step = {0};
    // A new key every 20 requests; the newer a key, the more often it is asked for.
    check("newest", () -> KEYS + step[0]++ / 20 - zipf.getAsInt());
  }

  /** What other servers compute must not push out what the users of this one read. */
  @Test
  void zipfInAFloodOfValuesOfOtherServers() throws Exception {
    double alone = ofShared("alone", 0);
    double flooded = ofShared("flooded", 2);
    System.out.printf(Locale.ROOT, "alone %.1f %%, in a flood %.1f %%%n", alone, flooded);
    assertWithMessage("hit ratio in a flood, percent, beside %s alone", alone)
        .that(flooded)
        .isAtLeast(alone - 1);
    // They take turns in the room that nobody uses.
    assertThat(takenIn).isGreaterThan(10_000);
  }

  private double ofShared(String name, int others) throws Exception {
    double ratio = hitRatio(settings(name, 4 << 20, OldValues.PURE), popular(4), others);
    System.out.printf(Locale.ROOT, "%s: %d of others taken in%n", name, takenIn);
    return ratio;
  }

  /** Values that the store had at the end of a trace, and values of others that it took in. */
  private long entries;

  private int takenIn;

  /**
   * The share of the requests of a trace's second half that find a value, percent.
   *
   * @param others how many values of others arrive for each request, none of which is ever asked
   *     for
   */
  private double hitRatio(StoreSettings settings, IntSupplier trace, int others) throws Exception {
    AtomicLong clock = new AtomicLong(1_700_000_000_000L);
    int hits = 0;
    int unseen = KEYS;
    takenIn = 0;
    try (StoreDirectory directory =
        StoreDirectory.open(temp.resolve(settings.name()), Disk.REAL, clock::get)) {
      Store store = TestStores.open(directory, settings);
      byte[] value = new byte[1000];
      for (int i = 0; i < REQUESTS; i++) {
        clock.addAndGet(10);
        byte[] key = key(trace.getAsInt());
        if (store.read(key) == null) {
          store.put(key, value, clock.get());
        } else if (i >= REQUESTS / 2) {
          hits++;
        }
        for (int j = 0; j < others; j++) {
          byte[] other = key(unseen++);
          Ticket ticket = store.ticket(other);
          try (ticket) {
            takenIn +=
                store.putIfAbsent(other, value, clock.get(), ticket) == ImportResult.STORED ? 1 : 0;
          }
        }
        if (i % 100 == 0) {
          // What still waits would count as room.
          store.flush();
        }
      }
      store.flush();
      entries = store.stats().entries();
    }
    return 100.0 * hits / (REQUESTS / 2);
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(20).putInt(number).array();
  }

  private void check(String name, IntSupplier trace) throws Exception {
    int[] keys = new int[REQUESTS];
    for (int i = 0; i < REQUESTS; i++) {
      keys[i] = trace.getAsInt();
    }
    double ours = hitRatio(settings(name, 4 << 20), Arrays.stream(keys).iterator()::nextInt, 0);
    double lru = 100.0 * lruHits(keys, (int) entries) / (REQUESTS / 2);
    System.out.printf(
        Locale.ROOT, "%s: ours %.1f %%, LRU of %d values %.1f %%%n", name, ours, entries, lru);
    assertWithMessage("%s: hit ratio, percent, beside LRU's %s", name, lru)
        .that(ours)
        .isAtLeast(lru - 3);
  }

  private static int lruHits(int[] keys, int capacity) {
    Map<Integer, Boolean> lru =
        new LinkedHashMap<>(16, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<Integer, Boolean> eldest) {
            return size() > capacity;
          }
        };
    int hits = 0;
    for (int i = 0; i < keys.length; i++) {
      if (lru.get(keys[i]) == null) {
        lru.put(keys[i], true);
      } else if (i >= keys.length / 2) {
        hits++;
      }
    }
    return hits;
  }
}
