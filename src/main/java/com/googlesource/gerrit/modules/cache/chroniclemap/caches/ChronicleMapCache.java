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
import com.google.common.cache.CacheLoader;
import com.google.common.cache.CacheStats;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Maps;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.MemoryCacheFactory;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.CompactReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A persistent cache of Gerrit: a {@link HeapTier} in front of a {@link DiskTier}.
 *
 * <p>How it works: a read asks the heap tier. If the value is not there, it is read from disk. If
 * it is not on disk either, it is computed, only once if several threads ask for the key. Values
 * that were computed or put go to both tiers. An invalidation first ends all tickets of the key and
 * removes the key from disk, then from the heap. {@link Held} explains why a value that is on its
 * way to the heap meanwhile does no harm.
 *
 * <p>No operation fails because of the disk. Safe for any thread. Like Gerrit's own disk caches,
 * the cache has no map view.
 */
final class ChronicleMapCache<K, V> extends AbstractLoadingCache<K, V> implements PersistentCache {
  private final String name;
  private final Class<?> keyType;
  private final DiskTier<K, V> disk;
  private final HeapTier<K, V> heap;

  /** Whether a command is checking or compacting the store. Only one may do so at a time. */
  private final AtomicBoolean upkeep = new AtomicBoolean();

  /**
   * Makes a cache.
   *
   * @param loader computes values; null for a cache that is only asked with {@link Callable}s
   */
  ChronicleMapCache(
      PersistentCacheDef<K, V> def,
      MemoryCacheFactory memory,
      DiskTier<K, V> disk,
      @Nullable CacheLoader<K, V> loader) {
    this.name = def.name();
    this.keyType = def.keyType().getRawType();
    this.disk = disk;
    this.heap = new HeapTier<>(def, memory, disk, loader);
  }

  String name() {
    return name;
  }

  DiskTier<K, V> disk() {
    return disk;
  }

  @Override
  public V get(K key) throws ExecutionException {
    return heap.get(requireNonNull(key)).value;
  }

  @Override
  public V get(K key, Callable<? extends V> source) throws ExecutionException {
    return heap.get(requireNonNull(key), requireNonNull(source)).value;
  }

  @Override
  public ImmutableMap<K, V> getAll(Iterable<? extends K> keys) throws ExecutionException {
    return ImmutableMap.copyOf(
        Maps.transformValues(heap.getAll(ImmutableSet.copyOf(keys)), held -> held.value));
  }

  @Override
  @Nullable
  public V getIfPresent(Object key) {
    Held<V> held = isKey(key) ? heap.getIfPresent(asKey(key)) : null;
    return held == null ? null : held.value;
  }

  @Override
  public void put(K key, V value) {
    heap.put(requireNonNull(key), requireNonNull(value));
  }

  @Override
  public void refresh(K key) {
    heap.refresh(key);
  }

  @Override
  public void invalidate(Object key) {
    if (isKey(key)) {
      heap.invalidate(asKey(key));
    }
  }

  @Override
  public void invalidateAll() {
    heap.invalidateAll();
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
