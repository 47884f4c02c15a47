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

import static com.google.common.util.concurrent.MoreExecutors.directExecutor;

import com.google.common.cache.CacheLoader;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.logging.TraceContext.TraceTimer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** The loader of a heap tier. Values come from disk, or from the source if they are not on disk. */
class HeldLoader<K, V> extends CacheLoader<K, Held<V>> {
  private final DiskTier<K, V> disk;
  private final CacheLoader<K, V> source;

  private HeldLoader(DiskTier<K, V> disk, CacheLoader<K, V> source) {
    this.disk = disk;
    this.source = source;
  }

  /**
   * Makes the loader of a heap tier. Like its source, the loader either has a bulk operation or
   * not. Without a bulk operation, the heap tier loads key by key and shares each load.
   */
  static <K, V> HeldLoader<K, V> of(DiskTier<K, V> disk, CacheLoader<K, V> source) {
    return hasLoadAll(source) ? new Bulk<>(disk, source) : new HeldLoader<>(disk, source);
  }

  private static boolean hasLoadAll(CacheLoader<?, ?> source) {
    try {
      return source.getClass().getMethod("loadAll", Iterable.class).getDeclaringClass()
          != CacheLoader.class;
    } catch (NoSuchMethodException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  @Nullable
  public Held<V> load(K key) throws Exception {
    TraceTimer timer = disk.trace().loading(key);
    try (timer) {
      return load(disk, key, () -> source.load(key));
    }
  }

  /**
   * Reads a value from disk, or computes and stores it.
   *
   * @return null if the source has no value
   */
  @Nullable
  static <K, V> Held<V> load(DiskTier<K, V> disk, K key, Callable<? extends V> source)
      throws Exception {
    byte[] keyBytes = disk.keyBytes(key);
    Held<V> found = read(disk, keyBytes);
    if (found != null) {
      return found;
    }
    long ticket = disk.ticket(keyBytes);
    long begun = System.nanoTime();
    V value = source.call();
    return value == null ? null : store(disk, keyBytes, value, ticket, begun);
  }

  @Nullable
  private static <V> Held<V> read(DiskTier<?, V> disk, @Nullable byte[] keyBytes) {
    TraceTimer timer = disk.trace().reading();
    try (timer) {
      return disk.read(keyBytes);
    }
  }

  private static <V> Held<V> store(
      DiskTier<?, V> disk, @Nullable byte[] keyBytes, V value, long ticket, long begun) {
    TraceTimer timer = disk.trace().storing();
    try (timer) {
      return disk.putLoaded(keyBytes, value, ticket, begun);
    }
  }

  @Override
  public ListenableFuture<Held<V>> reload(K key, Held<V> old) throws Exception {
    byte[] keyBytes = disk.keyBytes(key);
    long ticket = disk.ticket(keyBytes);
    return Futures.transform(
        source.reload(key, old.value),
        // The time is unknown, as the source may have derived the value from the old one.
        value -> value == null ? null : disk.putLoaded(keyBytes, value, ticket, 0),
        directExecutor());
  }

  /** A loader whose source loads many keys at once. */
  private static final class Bulk<K, V> extends HeldLoader<K, V> {
    private final DiskTier<K, V> disk;
    private final CacheLoader<K, V> source;

    Bulk(DiskTier<K, V> disk, CacheLoader<K, V> source) {
      super(disk, source);
      this.disk = disk;
      this.source = source;
    }

    private record Absent(@Nullable byte[] keyBytes, long ticket) {}

    @Override
    public Map<K, Held<V>> loadAll(Iterable<? extends K> keys) throws Exception {
      TraceTimer timer = disk.trace().loadingAll();
      try (timer) {
        return loadAllUntimed(keys);
      }
    }

    private Map<K, Held<V>> loadAllUntimed(Iterable<? extends K> keys) throws Exception {
      Map<K, Held<V>> result = new HashMap<>();
      // The keys that are not on disk, with their stored forms and tickets.
      Map<K, Absent> absent = new LinkedHashMap<>();
      for (K key : keys) {
        byte[] keyBytes = disk.keyBytes(key);
        Held<V> found = disk.read(keyBytes);
        if (found != null) {
          result.put(key, found);
        } else {
          absent.put(key, new Absent(keyBytes, disk.ticket(keyBytes)));
        }
      }
      if (!absent.isEmpty()) {
        loadAbsent(absent, result);
      }
      return result;
    }

    private void loadAbsent(Map<K, Absent> absent, Map<K, Held<V>> result) throws Exception {
      List<K> keys = new ArrayList<>(absent.keySet());
      long begun = System.nanoTime();
      Map<K, V> loaded;
      try {
        loaded = source.loadAll(keys);
      } catch (UnsupportedLoadingOperationException e) {
        for (K key : keys) {
          Held<V> held = load(key);
          if (held != null) {
            result.put(key, held);
          }
        }
        return;
      }
      for (K key : keys) {
        V value = loaded.get(key);
        if (value != null) {
          Absent place = absent.get(key);
          result.put(key, disk.putLoaded(place.keyBytes(), value, place.ticket(), begun));
        }
      }
    }
  }
}
