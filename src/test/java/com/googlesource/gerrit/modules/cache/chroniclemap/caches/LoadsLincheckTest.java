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

import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Lincheck runs random short programs of a few threads on a cache whose source changes meanwhile,
 * and looks whether the answers can be put in an order: a cache that is told of each change must
 * answer as its source does. A longer run: {@code -Dlincheck.scenarios=1000}.
 */
@Param(name = "key", gen = IntGen.class, conf = "0:2")
public class LoadsLincheckTest {
  private static final int SCENARIOS = Integer.getInteger("lincheck.scenarios", 20);
  private static final int KEYS = 3;

  /** The version of each key's value in the source of {@link #cache}; only grows. */
  private static final AtomicIntegerArray source = new AtomicIntegerArray(KEYS);

  /** The same for {@link #aging}. */
  private static final AtomicIntegerArray agingSource = new AtomicIntegerArray(KEYS);

  private static Path folder;
  private static TestSite site;
  private static LoadingCache<String, String> cache;

  /** A cache each value of which is too old at its next read. */
  private static LoadingCache<String, String> aging;

  /** The versions at the beginning of a run, from which its versions are counted. */
  private final int[] first = new int[KEYS];

  private final int[] agingFirst = new int[KEYS];

  /** Begins a run. */
  public LoadsLincheckTest() {
    for (int key = 0; key < KEYS && cache != null; key++) {
      first[key] = source.get(key);
      agingFirst[key] = agingSource.get(key);
      cache.invalidate(String.valueOf(key));
      aging.invalidate(String.valueOf(key));
    }
  }

  @BeforeAll
  static void open() throws Exception {
    folder = Files.createTempDirectory("lincheck-loads");
    site = new TestSite(folder, TestSite.Backend.CHRONICLE);
    cache = site.loading(TestCacheDef.of("cache").loader(new SourceLoader(source)));
    aging =
        site.loading(
            TestCacheDef.of("aging")
                .loader(new SourceLoader(agingSource))
                .refreshAfterWrite(Duration.ofNanos(1)));
  }

  @AfterAll
  static void close() throws Exception {
    site.close();
    MoreFiles.deleteRecursively(folder, RecursiveDeleteOption.ALLOW_INSECURE);
  }

  private static final class SourceLoader extends CacheLoader<String, String> {
    private final AtomicIntegerArray source;

    SourceLoader(AtomicIntegerArray source) {
      this.source = source;
    }

    @Override
    @SuppressWarnings("ThreadPriorityCheck") // Only to make more orders likely.
    public String load(String key) {
      int version = source.get(Integer.parseInt(key));
      // Another thread may change the key now.
      Thread.yield();
      return String.valueOf(version);
    }

    @Override
    public Map<String, String> loadAll(Iterable<? extends String> keys) {
      Map<String, String> result = new HashMap<>();
      keys.forEach(key -> result.put(key, load(key)));
      return result;
    }
  }

  private int versionOf(int key, String value) {
    return Integer.parseInt(value) - first[key];
  }

  /** Returns the version of a key's value. */
  @Operation
  public int get(@Param(name = "key") int key) throws Exception {
    return versionOf(key, cache.get(String.valueOf(key)));
  }

  /** Like {@link #get}, with a loader of the caller's. */
  @Operation
  public int getWith(@Param(name = "key") int key) throws Exception {
    String name = String.valueOf(key);
    return versionOf(key, cache.get(name, () -> new SourceLoader(source).load(name)));
  }

  /** Like {@link #get}, together with another key. */
  @Operation
  public int getAll(@Param(name = "key") int key) throws Exception {
    String name = String.valueOf(key);
    String other = String.valueOf((key + 1) % KEYS);
    return versionOf(key, cache.getAll(ImmutableList.of(other, name)).get(name));
  }

  /** Like {@link #get}, from a cache that computes the value anew at each read. */
  @Operation
  public int getAging(@Param(name = "key") int key) throws Exception {
    return Integer.parseInt(aging.get(String.valueOf(key))) - agingFirst[key];
  }

  /** Changes a key's value in the source of the aging cache, then tells that cache. */
  @Operation
  public void changeAging(@Param(name = "key") int key) {
    agingSource.incrementAndGet(key);
    aging.invalidate(String.valueOf(key));
  }

  /** Changes a key's value in the source, then tells the cache. */
  @Operation
  public void change(@Param(name = "key") int key) {
    source.incrementAndGet(key);
    cache.invalidate(String.valueOf(key));
  }

  /** Has a value computed anew, which nobody sees unless it was out of date. */
  @Operation
  public void refresh(@Param(name = "key") int key) {
    cache.refresh(String.valueOf(key));
  }

  /** What the operations do one after another. */
  public static final class Model {
    private final int[] versions = new int[KEYS];
    private final int[] agingVersions = new int[KEYS];

    public int get(int key) {
      return versions[key];
    }

    public int getWith(int key) {
      return versions[key];
    }

    public int getAll(int key) {
      return versions[key];
    }

    public int getAging(int key) {
      return agingVersions[key];
    }

    public void changeAging(int key) {
      agingVersions[key]++;
    }

    public void change(int key) {
      versions[key]++;
    }

    public void refresh(int key) {}
  }

  @Test
  void answersAreThoseOfTheSource() {
    new StressOptions()
        .sequentialSpecification(Model.class)
        .iterations(SCENARIOS)
        .invocationsPerIteration(500)
        .threads(3)
        .actorsBefore(1)
        .actorsPerThread(4)
        .actorsAfter(2)
        .check(LoadsLincheckTest.class);
  }
}
