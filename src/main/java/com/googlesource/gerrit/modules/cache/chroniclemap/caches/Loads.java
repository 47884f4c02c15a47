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

import com.google.common.cache.AbstractCache.SimpleStatsCounter;
import com.google.common.cache.AbstractCache.StatsCounter;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.CacheLoader.InvalidCacheLoadException;
import com.google.common.cache.CacheLoader.UnsupportedLoadingOperationException;
import com.google.common.cache.CacheStats;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.Lists;
import com.google.common.flogger.FluentLogger;
import com.google.common.util.concurrent.ExecutionError;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.CacheDef;
import com.google.gerrit.server.cache.MemoryCacheFactory;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.mem.PassthroughLoadingCache;
import com.google.gerrit.server.cancellation.RequestCancelledException;
import com.google.gerrit.server.logging.TraceContext.TraceTimer;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The loads of a cache, which bring values to its heap tier: from disk, or else from the source.
 *
 * <p>The heap tier is Gerrit's own memory cache. It does not load values itself, since it would
 * lock a part of its table for as long as a load takes, and so delay threads that ask for other
 * keys. Here each one is a {@link Load}, and only threads that ask for the same key wait for it.
 * Only refreshes are run by the memory cache, in its own threads and outside of its table.
 *
 * <p>A load that fails throws what Guava's caches throw. Safe for any thread.
 */
final class Loads<K, V> {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** So many loads a thread joins that fail for reasons of their own threads. */
  private static final int MAX_JOINED = 3;

  private final String name;
  private final DiskTier<K, V> disk;

  /** Computes values; null if the cache was made without a loader. */
  @Nullable private final CacheLoader<K, V> source;

  /** Whether the source computes the values of many keys at once. */
  private final boolean isBulk;

  /** The memory cache, to which the loads bring values. */
  final Cache<K, CachedValue<V>> heap;

  /** Whether the memory cache keeps anything, which it does not with {@code memoryLimit = 0}. */
  private final boolean isKept;

  private final ConcurrentMap<K, Load<K, V>> open = new ConcurrentHashMap<>();
  private final StatsCounter counts = new SimpleStatsCounter();

  Loads(
      PersistentCacheDef<K, V> def,
      MemoryCacheFactory memory,
      DiskTier<K, V> disk,
      @Nullable CacheLoader<K, V> source) {
    this.name = def.name();
    this.disk = disk;
    this.source = source;
    this.isBulk = source != null && hasLoadAll(source);
    CacheDef<K, CachedValue<V>> cached = CachedValue.cacheDef(def);
    this.heap = source == null ? memory.build(cached) : memory.build(cached, new Refresher());
    this.isKept = !(heap instanceof PassthroughLoadingCache);
  }

  private static boolean hasLoadAll(CacheLoader<?, ?> source) {
    try {
      return source.getClass().getMethod("loadAll", Iterable.class).getDeclaringClass()
          != CacheLoader.class;
    } catch (NoSuchMethodException e) {
      throw new AssertionError(e);
    }
  }

  void checkHasLoader() {
    if (source == null) {
      throw new UnsupportedOperationException("the cache was made without a loader");
    }
  }

  void checkMayRefresh() {
    checkHasLoader();
    if (!isKept) {
      throw new UnsupportedOperationException("the cache has no heap tier");
    }
  }

  // ---- loading

  /** Returns a value that is on disk, and puts it on the heap; null if there is none. */
  @Nullable
  CachedValue<V> find(DiskKey<K> key) {
    try (Ticket ticket = disk.ticket(key)) {
      CachedValue<V> found = disk.read(key, ticket, /* counts= */ true);
      return found == null ? null : putOnHeap(key.key(), found);
    }
  }

  /**
   * Loads a value, or waits for a thread that does.
   *
   * @param callable computes the value; null to use the cache's loader
   */
  CachedValue<V> load(K key, @Nullable Callable<? extends V> callable) throws ExecutionException {
    try {
      // Gerrit's own caches time their loaders only.
      TraceTimer timer = callable == null ? disk.trace.loading(key) : null;
      try (timer) {
        DiskKey<K> diskKey = disk.key(key);
        // Without a heap tier all reads come here, and a read from disk costs less than to wait for
        // that of another one.
        CachedValue<V> found = isKept ? null : find(diskKey);
        return found == null ? join(diskKey, callable) : found;
      }
    } catch (RequestCancelledException e) {
      throw failure(e);
    }
  }

  private CachedValue<V> join(DiskKey<K> diskKey, @Nullable Callable<? extends V> callable)
      throws ExecutionException {
    for (int joined = 1; ; joined++) {
      try (Load<K, V> mine = newLoad(diskKey, /* isBulk= */ false)) {
        Load<K, V> other = begin(mine);
        CachedValue<V> cached = other == null ? null : await(other);
        if (cached != null) {
          return cached;
        }
        // If there is another one, either its thread waits for this one, or one after another has
        // failed for reasons of their own. Then this one loads for itself.
        if (other == null || !other.hasEnded() || joined == MAX_JOINED) {
          return compute(mine, callable);
        }
      }
    }
  }

  private Load<K, V> newLoad(DiskKey<K> key, boolean isBulk) {
    return new Load<>(open, key, disk.ticket(key), isBulk);
  }

  /**
   * Begins a load if there is none that may be joined. A load that began before a change of the key
   * is left to those who wait for it.
   *
   * @return the load to join; null if the given one has begun
   */
  @Nullable
  private Load<K, V> begin(Load<K, V> mine) {
    Load<K, V> begun =
        open.compute(
            mine.key.key(), (k, other) -> other != null && other.mayBeJoined() ? other : mine);
    return begun == mine ? null : begun;
  }

  @Nullable
  private CachedValue<V> await(Load<K, V> other) throws ExecutionException {
    if (other.isRecursive()) {
      throw failure(new IllegalStateException("recursive load of key " + other.key.key()));
    }
    try {
      return other.await();
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  private CachedValue<V> compute(Load<K, V> load, @Nullable Callable<? extends V> callable)
      throws ExecutionException {
    long start = System.nanoTime();
    try {
      CachedValue<V> cached = completedBefore(load);
      if (cached == null) {
        cached = putOnHeap(load.key.key(), readOrCompute(load, callable));
        counts.recordLoadSuccess(System.nanoTime() - start);
      }
      load.complete(cached);
      return cached;
    } catch (Throwable e) {
      load.fail(e);
      counts.recordLoadException(System.nanoTime() - start);
      throw failure(e);
    }
  }

  /**
   * Returns the value of a load that was completed after this thread had looked for the value, and
   * before it began its own load; null if there was none.
   */
  @Nullable
  private CachedValue<V> completedBefore(Load<K, V> load) {
    CachedValue<V> cached = isKept ? heap.asMap().get(load.key.key()) : null;
    // Threads that come later may join this load, so no change may have been under way when it
    // began: that leaves the old value on the heap until its end.
    return cached != null && cached.isUsable(disk) && !load.ticket.hasEnded() ? cached : null;
  }

  private CachedValue<V> readOrCompute(Load<K, V> load, @Nullable Callable<? extends V> callable)
      throws Exception {
    K key = load.key.key();
    CachedValue<V> found = disk.read(load.key, load.ticket, /* counts= */ isKept);
    if (found != null) {
      return found;
    }
    long begun = System.nanoTime();
    V value = callable == null ? source.load(key) : callable.call();
    if (value == null) {
      throw noValue(key);
    }
    return disk.putLoaded(load.key, value, load.ticket, System.nanoTime() - begun);
  }

  /**
   * Puts a value on the heap unless there is one already, which is at least as new, or the key was
   * changed meanwhile.
   *
   * @param cached a new value that nobody else has seen; see {@link CachedValue}
   * @return the value to be used
   */
  private CachedValue<V> putOnHeap(K key, CachedValue<V> cached) {
    if (!isKept) {
      return cached;
    }
    Map<K, CachedValue<V>> values = heap.asMap();
    CachedValue<V> present = values.putIfAbsent(key, cached);
    if (present != null) {
      if (present.isUsable(disk)) {
        return present;
      }
      values.replace(key, present, cached);
    }
    confirm(key, cached);
    return cached;
  }

  /** Takes a value off the heap again if its key was changed before it got there. */
  void confirm(K key, CachedValue<V> cached) {
    if (!cached.confirm()) {
      heap.asMap().remove(key, cached);
    }
  }

  // ---- loading many

  /**
   * Loads the values of many keys, and computes at once those that are not on disk. Leaves out
   * those that another thread loads meanwhile; does nothing if the loader cannot compute many at
   * once.
   *
   * @param result takes the values
   */
  void loadAll(List<K> keys, Map<K, CachedValue<V>> result) throws ExecutionException {
    if (!isBulk || keys.isEmpty()) {
      return;
    }
    List<Load<K, V>> mine = new ArrayList<>();
    long start = System.nanoTime();
    try {
      for (K key : keys) {
        Load<K, V> load = newLoad(disk.key(key), /* isBulk= */ true);
        // Listed first, so that no failure leaves a load in the map.
        mine.add(load);
        if (begin(load) != null) {
          mine.removeLast().close();
        }
      }
      if (!mine.isEmpty()) {
        readOrComputeAll(mine, result);
        counts.recordLoadSuccess(System.nanoTime() - start);
      }
    } catch (Throwable e) {
      // No effect on those that are complete.
      mine.forEach(load -> load.fail(e));
      counts.recordLoadException(System.nanoTime() - start);
      throw failure(e);
    } finally {
      mine.forEach(Load::close);
    }
  }

  private void readOrComputeAll(List<Load<K, V>> begun, Map<K, CachedValue<V>> result)
      throws Exception {
    TraceTimer timer = disk.trace.loading(null);
    try (timer) {
      List<Load<K, V>> absent = new ArrayList<>();
      for (Load<K, V> load : begun) {
        K key = load.key.key();
        CachedValue<V> cached = completedBefore(load);
        if (cached == null) {
          CachedValue<V> found = disk.read(load.key, load.ticket, /* counts= */ true);
          cached = found == null ? null : putOnHeap(key, found);
        }
        if (cached != null) {
          load.complete(cached);
          result.put(key, cached);
        } else {
          absent.add(load);
        }
      }
      if (!absent.isEmpty()) {
        computeAll(absent, result);
      }
    }
  }

  private void computeAll(List<Load<K, V>> absent, Map<K, CachedValue<V>> result) throws Exception {
    long begun = System.nanoTime();
    Map<K, V> values = callSource(Lists.transform(absent, load -> load.key.key()));
    long nanos = System.nanoTime() - begun;
    if (values == null) {
      throw noValue(absent.get(0).key.key());
    }
    K missing = null;
    for (Load<K, V> load : absent) {
      K key = load.key.key();
      V value = values.get(key);
      if (value == null) {
        missing = key;
      } else {
        CachedValue<V> cached = putOnHeap(key, disk.putLoaded(load.key, value, load.ticket, nanos));
        load.complete(cached);
        result.put(key, cached);
      }
    }
    if (missing != null) {
      throw noValue(missing);
    }
  }

  @Nullable
  private Map<K, V> callSource(List<K> keys) throws Exception {
    try {
      return source.loadAll(keys);
    } catch (UnsupportedLoadingOperationException e) {
      Map<K, V> values = new HashMap<>();
      for (K key : keys) {
        values.put(key, source.load(key));
      }
      return values;
    }
  }

  private static InvalidCacheLoadException noValue(Object key) {
    return new InvalidCacheLoadException("the loader returned no value for key " + key);
  }

  /** Returns or throws what Guava's caches throw when a load fails. */
  private static ExecutionException failure(Throwable failure) {
    if (failure instanceof InvalidCacheLoadException e) {
      throw e;
    }
    if (failure instanceof RuntimeException) {
      throw new UncheckedExecutionException(failure);
    }
    if (failure instanceof Error error) {
      throw new ExecutionError(error);
    }
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    return new ExecutionException(failure);
  }

  // ---- refreshing

  /**
   * Has the memory cache refresh a value. A request that has the old value never fails because of
   * that.
   *
   * @param old the value on the heap; null if no tier has one
   */
  void refresh(K key, @Nullable CachedValue<V> old) {
    // Once its refresh has ended, a value may only be refreshed again if it was not replaced.
    if (old != null && (!old.beginRefresh() || heap.asMap().get(key) != old)) {
      return;
    }
    try {
      ((LoadingCache<K, CachedValue<V>>) heap).refresh(key);
    } catch (RuntimeException | Error e) {
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.MINUTES).log(
          "Cache %s: cannot refresh a value; the old one is still served", name);
      if (old != null) {
        old.endRefresh();
      }
    }
  }

  /** Called by the memory cache when it refreshes a value, because it was told to or by itself. */
  private final class Refresher extends CacheLoader<K, CachedValue<V>> {
    @Override
    public CachedValue<V> load(K key) throws ExecutionException {
      // There is no old value, or it left the heap before the refresh began.
      TraceTimer timer = disk.trace.loading(key);
      try (timer;
          Load<K, V> load = newLoad(disk.key(key), /* isBulk= */ false)) {
        return placed(putOnHeap(key, readOrCompute(load, null)), load.ticket);
      } catch (Exception e) {
        throw failure(e);
      }
    }

    @Override
    public ListenableFuture<CachedValue<V>> reload(K key, CachedValue<V> old) throws Exception {
      DiskKey<K> diskKey = disk.key(key);
      Ticket ticket = disk.ticket(diskKey);
      Runnable end =
          () -> {
            ticket.close();
            old.endRefresh();
          };
      long begun = System.nanoTime();
      try {
        // After the ticket was taken. The source may derive a value from the old one only if no
        // change has overtaken that: then it is still on the heap.
        boolean isValid = old.confirm() && heap.asMap().get(key) == old && !ticket.hasEnded();
        ListenableFuture<V> value =
            isValid ? source.reload(key, old.value) : Futures.immediateFuture(source.load(key));
        ListenableFuture<CachedValue<V>> reloaded =
            Futures.transform(
                value,
                found ->
                    found == null
                        ? null
                        : replace(
                            key,
                            old,
                            disk.putLoaded(diskKey, found, ticket, System.nanoTime() - begun),
                            ticket),
                directExecutor());
        reloaded.addListener(end, directExecutor());
        return reloaded;
      } catch (Throwable e) {
        end.run();
        throw e;
      }
    }

    private CachedValue<V> replace(
        K key, CachedValue<V> old, CachedValue<V> cached, Ticket ticket) {
      if (heap.asMap().replace(key, old, cached)) {
        confirm(key, cached);
      }
      return placed(cached, ticket);
    }

    /**
     * Returns what the memory cache is given, which puts that on the heap if it finds no value of
     * the key there. By then a change may have overtaken the value, so it is on the heap already,
     * and what is given can never be confirmed: its ticket is closed.
     */
    private CachedValue<V> placed(CachedValue<V> cached, Ticket ticket) {
      return new CachedValue<>(cached.value, cached.created, ticket);
    }
  }

  /** Hits and misses of the heap; loads from disk, from the source, and refreshes. */
  CacheStats stats() {
    return heap.stats().plus(counts.snapshot());
  }
}
