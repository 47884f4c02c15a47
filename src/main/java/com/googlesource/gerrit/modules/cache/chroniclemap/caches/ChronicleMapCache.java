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
import com.google.common.cache.CacheLoader;
import com.google.common.cache.CacheStats;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Maps;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.MemoryCacheFactory;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;

/**
 * A persistent cache of Gerrit: a heap tier, to which {@link Loads} bring values, in front of a
 * {@link DiskTier}.
 *
 * <p>How it works: a read asks the heap tier. If the value is not there, it is read from disk. If
 * it is not on disk either, it is computed, only once if several threads ask for the key. Values
 * that were computed or put go to both tiers. An invalidation first ends the ticket of the key and
 * removes the key from disk, then from the heap. {@link CachedValue} explains why a value that is
 * on its way to the heap meanwhile does no harm.
 *
 * <p>No operation fails because of the disk. Safe for any thread. Like Gerrit's own disk caches,
 * the cache has no map view.
 */
final class ChronicleMapCache<K, V> extends AbstractLoadingCache<K, V> implements PersistentCache {
  final String name;
  private final Class<?> keyType;
  final DiskTier<K, V> disk;
  private final Loads<K, V> loads;
  private final Cache<K, CachedValue<V>> heap;
  private final long memoryLimit;
  private final long defaultMemoryLimit;

  /**
   * Makes a cache.
   *
   * @param loader computes values; null for a cache that is only asked with {@link Callable}s
   */
  ChronicleMapCache(
      PersistentCacheDef<K, V> def,
      MemoryCacheFactory memory,
      DiskTier<K, V> disk,
      @Nullable CacheLoader<K, V> loader,
      long memoryLimit) {
    this.name = def.name();
    this.memoryLimit = memoryLimit;
    this.defaultMemoryLimit = def.maximumWeight();
    this.keyType = def.keyType().getRawType();
    this.disk = disk;
    this.loads = new Loads<>(def, memory, disk, loader);
    this.heap = loads.heap;
  }

  // ---- reading

  @Override
  public V get(K key) throws ExecutionException {
    loads.checkHasLoader();
    CachedValue<V> cached = onHeap(requireNonNull(key));
    if (cached == null) {
      cached = loads.load(key, null);
    }
    if (disk.needsRefresh(cached)) {
      loads.refresh(key, cached);
    }
    return disk.noteReturned(cached.value);
  }

  @Override
  public V get(K key, Callable<? extends V> source) throws ExecutionException {
    requireNonNull(source);
    CachedValue<V> cached = onHeap(requireNonNull(key));
    return (cached == null ? loads.load(key, source) : cached).value;
  }

  @Override
  public ImmutableMap<K, V> getAll(Iterable<? extends K> keys) throws ExecutionException {
    loads.checkHasLoader();
    Map<K, CachedValue<V>> found = new LinkedHashMap<>();
    List<K> absent = new ArrayList<>();
    for (K key : ImmutableSet.copyOf(keys)) {
      CachedValue<V> cached = onHeap(key);
      found.put(key, cached);
      if (cached == null) {
        absent.add(key);
      }
    }
    loads.loadAll(absent, found);
    for (Map.Entry<K, CachedValue<V>> entry : found.entrySet()) {
      if (entry.getValue() == null) {
        entry.setValue(loads.load(entry.getKey(), null));
      }
      if (disk.needsRefresh(entry.getValue())) {
        loads.refresh(entry.getKey(), entry.getValue());
      }
    }
    return ImmutableMap.copyOf(
        Maps.transformValues(found, cached -> disk.noteReturned(cached.value)));
  }

  @Override
  @Nullable
  public V getIfPresent(Object key) {
    CachedValue<V> cached = isKey(key) ? find(asKey(key)) : null;
    return cached == null ? null : cached.value;
  }

  /** Returns a value that is on the heap or on disk; null if there is none. */
  @Nullable
  private CachedValue<V> find(K key) {
    CachedValue<V> cached = onHeap(key);
    return cached == null ? loads.find(disk.key(key)) : cached;
  }

  @Nullable
  private CachedValue<V> onHeap(K key) {
    CachedValue<V> cached = heap.getIfPresent(key);
    if (cached == null) {
      return null;
    }
    if (cached.isUsable(disk)) {
      disk.foundOnHeap(key);
      return cached;
    }
    heap.asMap().remove(key, cached);
    return null;
  }

  /**
   * Has a value computed anew, while the old one is still served. No effect on a key that is being
   * changed, as the change may come after this. As in Gerrit's own disk caches, a cache without a
   * heap tier refuses.
   */
  @Override
  public void refresh(K key) {
    loads.checkMayRefresh();
    // The value has to be on the heap first. Otherwise the old value would be read from disk.
    loads.refresh(key, find(requireNonNull(key)));
  }

  // ---- changing

  @Override
  public void put(K key, V value) {
    long now = System.currentTimeMillis();
    try (Ticket change = disk.put(disk.key(requireNonNull(key)), requireNonNull(value), now)) {
      CachedValue<V> cached = new CachedValue<>(value, now, change);
      heap.put(key, cached);
      loads.confirm(key, cached);
    }
  }

  /**
   * Removes a value from both tiers: from disk first, which ends its ticket, so that a value on its
   * way to the heap is not kept. Until it has left the heap, no ticket is current.
   */
  @Override
  public void invalidate(Object key) {
    if (isKey(key)) {
      Ticket change = disk.remove(disk.key(asKey(key)));
      try (change) {
        heap.invalidate(key);
      }
    }
  }

  @Override
  public void invalidateAll() {
    disk.store.beginRemoval();
    try {
      disk.clear();
      heap.invalidateAll();
    } finally {
      disk.store.endRemoval();
    }
  }

  private boolean isKey(Object object) {
    return keyType.isInstance(object);
  }

  @SuppressWarnings("unchecked")
  private K asKey(Object object) {
    return (K) object;
  }

  @Override
  public void cleanUp() {
    heap.cleanUp();
  }

  // ---- figures and upkeep

  /** Returns the number of entries of the heap tier, as Gerrit expects. */
  @Override
  public long size() {
    return heap.size();
  }

  /** Returns the figures of the heap tier, as Gerrit expects. */
  @Override
  public CacheStats stats() {
    return loads.stats();
  }

  CacheReport report() {
    return new CacheReport(
        name,
        memoryLimit,
        defaultMemoryLimit,
        heap.size(),
        loads.stats(),
        disk.store.stats(),
        disk.serializerErrors.sum(),
        disk.latencies());
  }

  @Override
  public DiskStats diskStats() {
    StoreStats stats = disk.store.stats();
    return new DiskStats(
        stats.entries(),
        stats.liveBytes(),
        stats.counts().hits.sum(),
        stats.counts().misses.sum(),
        stats.counts().invalidated.sum());
  }
}
