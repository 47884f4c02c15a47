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

import static java.util.Objects.requireNonNull;

import com.google.common.cache.AbstractLoadingCache;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheLoader.InvalidCacheLoadException;
import com.google.common.cache.CacheStats;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.inject.TypeLiteral;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A persistent cache of Gerrit, with a heap tier in front of a store.
 *
 * <p>How it works: a read asks the heap tier, which reads a missing value from disk. A value that
 * is not on disk either is computed by the loader, only once if several threads ask for the key.
 * Values that were computed or put go to both tiers. An invalidation first ends all tickets of the
 * key and removes the key from disk, then from the heap. {@link Held} explains why a value that is
 * on its way to the heap meanwhile does no harm.
 *
 * <p>No operation fails because of the disk. Safe for any thread. Like Gerrit's own disk caches,
 * the cache has no map view.
 */
final class ChronicleMapCache<K, V> extends AbstractLoadingCache<K, V> implements PersistentCache {
  private final String name;
  private final TypeLiteral<K> keyType;
  private final DiskTier<K, V> disk;
  private final Cache<K, Held<V>> heap;

  /** The loader; null if the cache was made without one. */
  @Nullable private final HeldLoader<K, V> loader;

  /** Whether a command is checking or compacting the store. Only one may do so at a time. */
  private final AtomicBoolean upkeep = new AtomicBoolean();

  ChronicleMapCache(
      String name,
      TypeLiteral<K> keyType,
      DiskTier<K, V> disk,
      Cache<K, Held<V>> heap,
      @Nullable HeldLoader<K, V> loader) {
    this.name = name;
    this.keyType = keyType;
    this.disk = disk;
    this.heap = heap;
    this.loader = loader;
  }

  String name() {
    return name;
  }

  DiskTier<K, V> disk() {
    return disk;
  }

  @Override
  public V get(K key) throws ExecutionException {
    LoadingCache<K, Held<V>> loading = loading();
    Held<V> held = obtain(key, () -> loader.load(key));
    if (disk.needsRefresh(held)) {
      loading.refresh(key);
    }
    return held.value;
  }

  @Override
  public V get(K key, Callable<? extends V> source) throws ExecutionException {
    requireNonNull(source);
    return obtain(key, () -> HeldLoader.load(disk, key, source)).value;
  }

  /**
   * Asks the heap tier, which loads, until its value may be used. A value that an invalidation
   * overtook may be used too if this call loaded it: as in Gerrit's own caches, one load for each
   * call is enough, so a key that changes all the time does not make its source run in a loop.
   */
  private Held<V> obtain(K key, Callable<Held<V>> load) throws ExecutionException {
    requireNonNull(key);
    AtomicBoolean isLoadedHere = new AtomicBoolean();
    Callable<Held<V>> noted =
        () -> {
          isLoadedHere.set(true);
          return load.call();
        };
    Held<V> held = present(key, heap.get(key, noted));
    while (!isUsable(held)) {
      heap.asMap().remove(key, held);
      if (isLoadedHere.get()) {
        return held;
      }
      held = present(key, heap.get(key, noted));
    }
    return held;
  }

  private static <V> Held<V> present(Object key, @Nullable Held<V> held) {
    if (held == null) {
      throw new InvalidCacheLoadException("the loader returned no value for key " + key);
    }
    return held;
  }

  private boolean isUsable(Held<V> held) {
    return held.confirm(disk) && !disk.isExpired(held);
  }

  @Override
  public ImmutableMap<K, V> getAll(Iterable<? extends K> keys) throws ExecutionException {
    LoadingCache<K, Held<V>> loading = loading();
    long asked = System.nanoTime();
    Map<K, V> result = new LinkedHashMap<>();
    // As a set, since a heap tier that is off rejects a key that occurs twice.
    for (Map.Entry<K, Held<V>> entry : loading.getAll(ImmutableSet.copyOf(keys)).entrySet()) {
      K key = entry.getKey();
      Held<V> held = entry.getValue();
      if (!isUsable(held)) {
        heap.asMap().remove(key, held);
        // As in obtain, a value that an invalidation overtook may be used if this call loaded it.
        result.put(key, held.isComputedSince(asked) ? held.value : get(key));
        continue;
      }
      result.put(key, held.value);
      if (disk.needsRefresh(held)) {
        loading.refresh(key);
      }
    }
    return ImmutableMap.copyOf(result);
  }

  private LoadingCache<K, Held<V>> loading() {
    if (heap instanceof LoadingCache) {
      return (LoadingCache<K, Held<V>>) heap;
    }
    throw new UnsupportedOperationException("the cache was made without a loader");
  }

  @Override
  @Nullable
  public V getIfPresent(Object object) {
    if (!isKey(object)) {
      return null;
    }
    K key = asKey(object);
    Held<V> held = heap.getIfPresent(key);
    if (held != null) {
      if (isUsable(held)) {
        return held.value;
      }
      heap.asMap().remove(key, held);
    }
    held = readFromDisk(key);
    return held == null ? null : held.value;
  }

  @Nullable
  private Held<V> readFromDisk(K key) {
    Held<V> found = disk.read(disk.keyBytes(key));
    if (found == null) {
      return null;
    }
    // A value that is there was put after this thread read, so it is never replaced.
    Held<V> present = heap.asMap().putIfAbsent(key, found);
    if (present != null && isUsable(present)) {
      return present;
    }
    if (!found.confirm(disk)) {
      heap.asMap().remove(key, found);
    }
    return found;
  }

  @Override
  public void put(K key, V value) {
    requireNonNull(key);
    requireNonNull(value);
    Held<V> held = disk.put(disk.keyBytes(key), value);
    heap.put(key, held);
    if (!held.confirm(disk)) {
      heap.asMap().remove(key, held);
    }
  }

  @Override
  public void refresh(K key) {
    LoadingCache<K, Held<V>> loading = loading();
    // The value has to be on the heap first. Otherwise the heap tier would load the old value from
    // disk instead of calling the source.
    var unused = getIfPresent(key);
    loading.refresh(key);
  }

  @Override
  public void invalidate(Object object) {
    if (isKey(object)) {
      disk.remove(disk.keyBytes(asKey(object)));
      heap.invalidate(object);
    }
  }

  @Override
  public void invalidateAll() {
    disk.clear();
    heap.invalidateAll();
  }

  private boolean isKey(Object object) {
    return keyType.getRawType().isInstance(object);
  }

  @SuppressWarnings("unchecked")
  private K asKey(Object object) {
    return (K) object;
  }

  @Override
  public void cleanUp() {
    heap.cleanUp();
  }

  /** Returns the number of entries of the heap tier, as Gerrit expects. */
  @Override
  public long size() {
    return heap.size();
  }

  /** Returns the figures of the heap tier, as Gerrit expects. */
  @Override
  public CacheStats stats() {
    return heap.stats();
  }

  CacheReport report() {
    return new CacheReport(
        name,
        heap.size(),
        heap.stats(),
        disk.store().stats(),
        disk.serializerErrors(),
        disk.latencies());
  }

  /** See {@link CacheInventory#verify}. */
  VerifyReport verify(boolean repair, Progress progress)
      throws CacheUpkeepException, InterruptedException {
    beginUpkeep();
    try {
      return disk.store().verify(repair, progress);
    } finally {
      upkeep.set(false);
    }
  }

  /** See {@link CacheInventory#compact}. */
  CompactReport compact(Progress progress) throws CacheUpkeepException, InterruptedException {
    beginUpkeep();
    try {
      return disk.store().compact(progress);
    } finally {
      upkeep.set(false);
    }
  }

  private void beginUpkeep() throws CacheUpkeepException {
    if (!upkeep.compareAndSet(false, true)) {
      throw new CacheUpkeepException("another command is verifying or compacting the cache");
    }
  }

  @Override
  public DiskStats diskStats() {
    StoreStats stats = disk.store().stats();
    return new DiskStats(
        stats.entries(), stats.liveBytes(), stats.hits(), stats.misses(), stats.invalidated());
  }
}
