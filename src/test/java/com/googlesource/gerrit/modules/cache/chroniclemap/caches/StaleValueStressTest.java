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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.common.base.Splitter;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.googlesource.gerrit.modules.cache.chroniclemap.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Many threads read and change few keys, against a model: each key has a version that only grows.
 * Who changes a key counts it up first and tells the cache then; who reads it must never get a
 * version older than the one that the last finished change had, when the read began.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class StaleValueStressTest {
  private static final int KEYS = 48;
  private static final int WRITERS = 2;
  private static final int READERS = 4;
  private static final long RUN_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

  @TempDir Path temp;

  /** What the source holds now, by key. */
  private final AtomicLongArray truth = new AtomicLongArray(KEYS);

  /** What the cache must at least know, by key. */
  private final AtomicLongArray floor = new AtomicLongArray(KEYS);

  /** One writer a key: the order of two puts at once would be open. */
  private final ReentrantLock[] locks = new ReentrantLock[KEYS];

  private int maxPadding;
  private boolean mayRefresh;
  private long deadline;
  private LoadingCache<String, String> cache;

  private String value(int key) {
    long version = truth.get(key);
    // Of all sizes, so that values move within the file, are split, and sometimes do not fit.
    int padding = (int) (version * 7919 % maxPadding);
    return key + ":" + version + ":" + "x".repeat(padding);
  }

  private static long version(int key, String value) {
    List<String> parts = Splitter.on(':').splitToList(value);
    assertThat(parts.get(0)).isEqualTo(String.valueOf(key));
    return Long.parseLong(parts.get(1));
  }

  @ParameterizedTest
  @CsvSource({
    // name, memoryLimit, diskLimit, largest value, whether each value is too old when it is read
    "cache, 8, 4194304, 5000, false",
    "cache, 1024, 4194304, 5000, false",
    "cache, 1024, 4194304, 5000, true",
    "cache, 0, 4194304, 5000, false",
    "cache, 8, 65536, 5000, false",
    "cache, 0, 65536, 5000, false",
    "cache, 8, 33554432, 500000, false",
    // Its values are written later than they are put.
    "git_tags, 8, 4194304, 5000, false",
    "git_tags, 0, 4194304, 5000, false",
    "git_tags, 8, 65536, 5000, false"
  })
  void noReadIsOlderThanTheLastChangeBeforeIt(
      String name, int memoryLimit, long diskLimit, int largest, boolean ages) throws Exception {
    maxPadding = largest;
    mayRefresh = memoryLimit > 0;
    for (int i = 0; i < KEYS; i++) {
      locks[i] = new ReentrantLock();
    }
    try (TestSite site = new TestSite(temp, TestSite.Backend.CHRONICLE)) {
      site.config().setInt("cache", name, "memoryLimit", memoryLimit);
      TestCacheDef<String> def = TestCacheDef.of(name).diskLimit(diskLimit).loader(loader());
      if (ages) {
        def.refreshAfterWrite(Duration.ofNanos(1));
      }
      cache = site.loading(def);
      deadline = System.nanoTime() + RUN_NANOS;
      Threads.together(
          WRITERS + READERS + 1,
          thread -> {
            Random random = new Random(thread);
            while (System.nanoTime() < deadline) {
              if (thread < WRITERS) {
                write(random);
              } else if (thread < WRITERS + READERS) {
                read(random);
              } else {
                site.settle();
              }
            }
          });
      checkAll("at the end");
      site.restart();
      cache = site.loading(def);
      checkAll("after a restart");
    }
  }

  private CacheLoader<String, String> loader() {
    return CacheLoader.from(key -> value(Integer.parseInt(key)));
  }

  private void write(Random random) {
    if (random.nextInt(500) == 0) {
      cache.invalidateAll();
      return;
    }
    int key = random.nextInt(KEYS);
    locks[key].lock();
    try {
      long version = truth.incrementAndGet(key);
      if (random.nextBoolean()) {
        cache.invalidate(String.valueOf(key));
      } else {
        cache.put(String.valueOf(key), value(key));
      }
      floor.set(key, version);
    } finally {
      locks[key].unlock();
    }
  }

  private void read(Random random) throws Exception {
    int key = random.nextInt(KEYS);
    int other = (key + 1) % KEYS;
    String name = String.valueOf(key);
    long expected = floor.get(key);
    long expectedOther = floor.get(other);
    switch (random.nextInt(mayRefresh ? 5 : 4)) {
      case 0 -> check("get", key, expected, cache.get(name));
      case 1 -> check("getIfPresent", key, expected, cache.getIfPresent(name));
      case 2 -> check("callable", key, expected, cache.get(name, () -> value(key)));
      case 3 -> {
        Map<String, String> both = cache.getAll(ImmutableList.of(name, String.valueOf(other)));
        check("getAll", key, expected, both.get(name));
        check("getAll", other, expectedOther, both.get(String.valueOf(other)));
      }
      default -> cache.refresh(name);
    }
  }

  private static void check(String how, int key, long expected, String value) {
    if (value != null) {
      assertWithMessage("version of key %s by %s", key, how)
          .that(version(key, value))
          .isAtLeast(expected);
    }
  }

  private void checkAll(String when) {
    for (int key = 0; key < KEYS; key++) {
      check(when, key, floor.get(key), cache.getIfPresent(String.valueOf(key)));
    }
  }
}
