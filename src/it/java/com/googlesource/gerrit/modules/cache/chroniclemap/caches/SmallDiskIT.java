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

import com.google.common.cache.LoadingCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ChildJvm;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Full and read-only disks: no request fails, waits or is answered wrong. */
@Timeout(120)
class SmallDiskIT {
  @TempDir Path temp;

  @ParameterizedTest
  @CsvSource({
    "full, 8k",
    "small, 2m",
    "fills, 23m",
    "fills-all, 14m",
    "filled, 4m",
    "read-only, 2m",
    "read-only-store, 4m"
  })
  void requestsAreAnswered(String state, String size) throws Exception {
    try (ChildJvm child =
        ChildJvm.startOnSmallDisk(temp, size, Child.class, temp.resolve("disk"), state)) {
      assertThat(child.finish()).contains("done");
    }
  }

  /**
   * Uses caches on a disk of a few MiB that is this process's own. Fails with an exception if a
   * request fails, takes long or is answered wrong.
   */
  static final class Child {
    private static final long MAX_NANOS = 4_000_000_000L;

    private Child() {}

    public static void main(String[] args) throws Exception {
      Path disk = Path.of(args[0]);
      switch (args[1]) {
        case "full" -> full(disk);
        case "small" -> small(disk);
        case "fills" -> fills(disk, "grows");
        case "fills-all" -> fills(disk, "web_sessions");
        case "filled" -> filled(disk);
        case "read-only" -> readOnly(disk);
        case "read-only-store" -> readOnlyStore(disk);
        default -> throw new IllegalArgumentException(args[1]);
      }
      System.out.println("done");
    }

    private static void check(boolean holds, String what) {
      if (!holds) {
        throw new AssertionError(what);
      }
    }

    private static TestCacheDef<String> def(String name, long limit) {
      return TestCacheDef.of(name).diskLimit(limit).maximumWeight(4).loader(new CountingLoader());
    }

    /** Requests of all kinds, each answered right and at once. */
    private static void use(LoadingCache<String, String> cache, int count) throws Exception {
      String padding = "x".repeat(20_000);
      for (int i = 0; i < count; i++) {
        String key = "key " + i;
        long begun = System.nanoTime();
        cache.put(key, key + padding);
        String other = "other " + i % 50;
        check(cache.get(other).equals("loaded " + other), "wrong value of " + other);
        String found = cache.getIfPresent("key " + i / 2);
        check(found == null || found.equals("key " + i / 2 + padding), "wrong value");
        if (i % 5 == 0) {
          cache.invalidate(key);
          check(cache.getIfPresent(key) == null, "an invalidated value");
        }
        check(System.nanoTime() - begun < MAX_NANOS, "a request took more than 4 s");
      }
    }

    private static StoreStats stats(LoadingCache<String, String> cache) {
      return ((ChronicleMapCache<?, ?>) cache).report().disk();
    }

    private static List<String> files(Path disk) {
      String[] names = disk.resolve("cache/cache-chroniclemap").toFile().list();
      return List.of(names == null ? new String[0] : names);
    }

    /** The disk is too small for even the smallest file. */
    private static void full(Path disk) throws Exception {
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        LoadingCache<String, String> cache = site.loading(def("large", 128 << 20));
        use(cache, 300);
        check(stats(cache).state() == StoreState.FAILED, "state " + stats(cache).state());
        check(!stats(cache).start().detail().isEmpty(), "no reason given");
        check(files(disk).stream().noneMatch(f -> f.contains(".chm")), "left " + files(disk));
      }
    }

    /** There is little room, and none but for sessions. */
    private static void small(Path disk) throws Exception {
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        LoadingCache<String, String> large = site.loading(def("large", 128 << 20));
        LoadingCache<String, String> small = site.loading(def("small", 512 << 10));
        for (LoadingCache<String, String> cache : List.of(large, small)) {
          use(cache, 300);
          check(stats(cache).state() == StoreState.READY, "state " + stats(cache).state());
        }
      }
    }

    /**
     * There is room for a part of the file.
     *
     * @param name of a cache that is given all of the room, or leaves the rest to sessions
     */
    private static void fills(Path disk, String name) throws Exception {
      boolean isSessions = name.equals("web_sessions");
      TestCacheDef<String> def = def(name, 64 << 20);
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        LoadingCache<String, String> cache = site.loading(def);
        use(cache, 2000);
        StoreStats stats = stats(cache);
        check(stats.state() == StoreState.READY, "state " + stats.state());
        check(stats.counts().evicted.sum() > 0, "all fitted");
        check(isSessions || stats.diskBytes() < 8 << 20, "grew to " + stats.diskBytes());
        check(!isSessions || stats.diskBytes() > 3 << 20, "has " + stats.diskBytes());
        check(!isSessions || stats.counts().faults.sum() > 0, "no fault was counted");
      }
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        LoadingCache<String, String> cache = site.loading(def);
        check(cache.get("other 1").equals("loaded other 1"), "wrong value");
        check(stats(cache).entries() > 20, "lost all: " + stats(cache).entries());
        use(cache, 100);
      }
    }

    /** Something else takes all of the disk while the server runs. */
    private static void filled(Path disk) throws Exception {
      // As the last of the room is for sessions.
      TestCacheDef<String> def = def("web_sessions", 16 << 20);
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        LoadingCache<String, String> cache = site.loading(def);
        use(cache, 10);
        File ballast = disk.resolve("ballast").toFile();
        try {
          Files.write(ballast.toPath(), new byte[8 << 20]);
          throw new AssertionError("the disk is too large");
        } catch (IOException e) {
          // full now
        }
        use(cache, 500);
        check(stats(cache).state() == StoreState.READY, "state " + stats(cache).state());
        cache.put("last", "value");
        LoadingCache<String, String> late = site.loading(def("late", 1 << 20));
        use(late, 50);
        check(stats(late).state() == StoreState.FAILED, "state " + stats(late).state());
      }
      // There was no room for a marker either.
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        LoadingCache<String, String> cache = site.loading(def);
        use(cache, 100);
      }
    }

    private static void remountReadOnly(Path disk) throws Exception {
      int exit =
          new ProcessBuilder("mount", "-o", "remount,ro", disk.toString())
              .inheritIO()
              .start()
              .waitFor();
      check(exit == 0, "cannot remount");
    }

    /** The site's folder can't be written from the beginning. */
    private static void readOnly(Path disk) throws Exception {
      remountReadOnly(disk);
      memoryOnly(disk);
    }

    /** There are stores, of a time when the folder could be written. */
    private static void readOnlyStore(Path disk) throws Exception {
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        site.loading(def("cache", 1 << 20)).put("key 0", "outdated");
      }
      remountReadOnly(disk);
      memoryOnly(disk);
    }

    private static void memoryOnly(Path disk) throws Exception {
      try (TestSite site = new TestSite(disk, TestSite.Backend.CHRONICLE)) {
        LoadingCache<String, String> cache = site.loading(def("cache", 1 << 20));
        check(cache.getIfPresent("key 0") == null, "an outdated value");
        use(cache, 100);
        String reason = site.inventory().memoryOnlyReason().orElse("");
        check(reason.contains("cache-chroniclemap") && reason.contains("ead"), "reason: " + reason);
      }
    }
  }
}
