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

import com.google.common.cache.Cache;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.CacheLoader.InvalidCacheLoadException;
import com.google.common.cache.CacheLoader.UnsupportedLoadingOperationException;
import com.google.common.cache.CacheStats;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.Lists;
import com.google.common.flogger.FluentLogger;
import com.google.common.util.concurrent.ExecutionError;
import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.CacheDef;
import com.google.gerrit.server.cache.MemoryCacheFactory;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.mem.PassthroughLoadingCache;
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
import java.util.concurrent.atomic.LongAdder;

/**
 * The loads of a cache, which bring values to its heap tier: from disk, or else from the source.
 *
 * <p>The heap tier is Gerrit's own memory cache. It does not load values itself, since it would
 * lock a part of its table for as long as a load takes, and so delay threads that ask for other
 * keys. Here each load is a {@link Flight}, and only threads that ask for the same key wait for it.
 * Only refreshes are run by the memory cache, in its own threads and outside of its table.
 *
 * <p>A load that fails throws what Guava's caches throw. Safe for any thread.
 */
final class Loads<K, V> {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** So many flights a thread joins that fail for reasons of their own threads. */
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

  private final ConcurrentMap<K, Flight<V>> flights = new ConcurrentHashMap<>();
  private final LongAdder loads = new LongAdder();
  private final LongAdder failedLoads = new LongAdder();
  private final LongAdder loadNanos = new LongAdder();

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

  /**
   * Loads a value, or waits for a thread that does.
   *
   * @param callable computes the value; null to use the cache's loader
   */
  CachedValue<V> load(K key, @Nullable Callable<? extends V> callable) throws ExecutionException {
    DiskKey diskKey = disk.key(key);
    if (!isKept) {
      // All reads come here, and a read from disk costs less than to wait for that of another one.
      CachedValue<V> found = readAlone(key, diskKey, callable);
      if (found != null) {
        return found;
      }
    }
    for (int joined = 1; ; joined++) {
      Flight<V> mine = new Flight<>(disk.ticket(diskKey), /* isBulk= */ false);
      try {
        Flight<V> other = begin(key, mine);
        CachedValue<V> cached = other == null ? null : awaitLanding(key, other);
        if (cached != null) {
          return cached;
        }
        // If there is another one, either its thread waits for this one, or one after another has
        // failed for reasons of their own. Then this one loads for itself.
        if (other == null || !other.hasEnded() || joined == MAX_JOINED) {
          return fly(mine, key, diskKey, callable);
        }
      } finally {
        mine.close();
      }
    }
  }

  /**
   * Begins a flight if there is none that may be joined. A flight that began before a change of the
   * key is left to those who wait for it.
   *
   * @return the flight to join; null if the given one has begun
   */
  @Nullable
  private Flight<V> begin(K key, Flight<V> mine) {
    Flight<V> flying =
        flights.compute(key, (k, other) -> other != null && other.mayBeJoined() ? other : mine);
    return flying == mine ? null : flying;
  }

  @Nullable
  private CachedValue<V> awaitLanding(K key, Flight<V> other) throws ExecutionException {
    if (other.isRecursive()) {
      throw failure(new IllegalStateException("recursive load of key " + key));
    }
    try {
      return other.await();
    } catch (Throwable e) {
      throw failure(e);
    }
  }

  private CachedValue<V> fly(
      Flight<V> flight, K key, DiskKey diskKey, @Nullable Callable<? extends V> callable)
      throws ExecutionException {
    try {
      CachedValue<V> cached = landedBefore(key, flight);
      if (cached == null) {
        long start = System.nanoTime();
        try {
          cached = keep(key, compute(key, diskKey, flight, callable));
        } finally {
          loadNanos.add(System.nanoTime() - start);
        }
        loads.increment();
      }
      land(flight, key, cached);
      return cached;
    } catch (Throwable e) {
      throw crash(flight, key, e);
    }
  }

  /**
   * Returns the value of a flight that landed after this thread had looked for the value, and
   * before it began its own flight; null if there was none.
   */
  @Nullable
  private CachedValue<V> landedBefore(K key, Flight<V> flight) {
    CachedValue<V> cached = isKept ? heap.asMap().get(key) : null;
    // Threads that come later may join this flight, so no change may have been under way when it
    // began: that leaves the old value on the heap until its end.
    return cached != null && cached.isUsable(disk) && !flight.ticket.hasEnded() ? cached : null;
  }

  private CachedValue<V> compute(
      K key, DiskKey diskKey, Flight<V> flight, @Nullable Callable<? extends V> callable)
      throws Exception {
    // Gerrit's own caches time their loaders only.
    TraceTimer timer = callable == null ? disk.trace.loading(key) : null;
    try (timer) {
      CachedValue<V> found = disk.read(diskKey, flight.ticket, /* counts= */ isKept);
      if (found != null) {
        return found;
      }
      long begun = System.nanoTime();
      V value = callable == null ? source.load(key) : callable.call();
      if (value == null) {
        throw noValue(key);
      }
      return disk.putLoaded(diskKey, value, flight.ticket, System.nanoTime() - begun);
    }
  }

  @Nullable
  private CachedValue<V> readAlone(K key, DiskKey diskKey, @Nullable Callable<? extends V> callable)
      throws ExecutionException {
    try {
      Ticket ticket = disk.ticket(diskKey);
      TraceTimer timer = callable == null ? disk.trace.loading(key) : null;
      try (ticket;
          timer) {
        return disk.read(diskKey, ticket, /* counts= */ true);
      }
    } catch (Throwable e) {
      // The request was cancelled.
      throw failure(e);
    }
  }

  /** Completes the flight with a value that is already in the heap tier. */
  private void land(Flight<V> flight, K key, CachedValue<V> cached) {
    flight.land(cached);
    flights.remove(key, flight);
  }

  /** Ends a flight, if it has not landed, with a failure; returns what to throw. */
  private ExecutionException crash(Flight<V> flight, K key, Throwable failure) {
    fail(flight, key, failure);
    failedLoads.increment();
    return failure(failure);
  }

  private void fail(Flight<V> flight, K key, Throwable failure) {
    try {
      flight.fail(failure);
    } finally {
      flights.remove(key, flight);
    }
  }

  /**
   * Keeps a value on the heap unless there is one already, which is at least as new, or the key was
   * changed meanwhile.
   *
   * @param cached a new value that nobody else has seen; see {@link CachedValue}
   * @return the value to be used
   */
  CachedValue<V> keep(K key, CachedValue<V> cached) {
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

  /** A key whose value this thread loads. */
  private record Begun<K, V>(K key, DiskKey diskKey, Flight<V> flight) {}

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
    List<Begun<K, V>> mine = new ArrayList<>();
    long start = System.nanoTime();
    try {
      for (K key : keys) {
        DiskKey diskKey = disk.key(key);
        Flight<V> flight = new Flight<>(disk.ticket(diskKey), /* isBulk= */ true);
        // Listed first, so that no failure leaves a flight in the map.
        mine.add(new Begun<>(key, diskKey, flight));
        if (begin(key, flight) != null) {
          mine.removeLast();
          flight.close();
        }
      }
      if (!mine.isEmpty()) {
        flyAll(mine, result);
        loads.increment();
      }
    } catch (Throwable e) {
      // No effect on those that have landed.
      mine.forEach(begun -> fail(begun.flight(), begun.key(), e));
      failedLoads.increment();
      throw failure(e);
    } finally {
      mine.forEach(begun -> begun.flight().close());
      loadNanos.add(System.nanoTime() - start);
    }
  }

  private void flyAll(List<Begun<K, V>> flying, Map<K, CachedValue<V>> result) throws Exception {
    TraceTimer timer = disk.trace.loading(null);
    try (timer) {
      List<Begun<K, V>> absent = new ArrayList<>();
      for (Begun<K, V> begun : flying) {
        K key = begun.key();
        CachedValue<V> cached = landedBefore(key, begun.flight());
        if (cached == null) {
          CachedValue<V> found =
              disk.read(begun.diskKey(), begun.flight().ticket, /* counts= */ true);
          cached = found == null ? null : keep(key, found);
        }
        if (cached != null) {
          land(begun.flight(), key, cached);
          result.put(key, cached);
        } else {
          absent.add(begun);
        }
      }
      if (!absent.isEmpty()) {
        computeAll(absent, result);
      }
    }
  }

  private void computeAll(List<Begun<K, V>> absent, Map<K, CachedValue<V>> result)
      throws Exception {
    long begun = System.nanoTime();
    Map<K, V> values = callSource(Lists.transform(absent, Begun::key));
    long nanos = System.nanoTime() - begun;
    if (values == null) {
      throw noValue(absent.get(0).key());
    }
    K missing = null;
    for (Begun<K, V> one : absent) {
      V value = values.get(one.key());
      if (value == null) {
        missing = one.key();
      } else {
        CachedValue<V> cached =
            keep(one.key(), disk.putLoaded(one.diskKey(), value, one.flight().ticket, nanos));
        land(one.flight(), one.key(), cached);
        result.put(one.key(), cached);
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
    if (old != null && !old.beginRefresh()) {
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
      DiskKey diskKey = disk.key(key);
      Flight<V> flight = new Flight<>(disk.ticket(diskKey), /* isBulk= */ false);
      try {
        return placed(keep(key, compute(key, diskKey, flight, null)), flight.ticket);
      } catch (Exception e) {
        throw failure(e);
      } finally {
        flight.close();
      }
    }

    @Override
    @Nullable
    public ListenableFuture<CachedValue<V>> reload(K key, CachedValue<V> old) throws Exception {
      DiskKey diskKey = disk.key(key);
      Ticket ticket = disk.ticket(diskKey);
      EndRefresh<V> end = new EndRefresh<>(old, ticket);
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
        Futures.addCallback(reloaded, end, directExecutor());
        return reloaded;
      } catch (Throwable e) {
        end.onFailure(e);
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

  /** Ends the refresh of a value that was not replaced. */
  private record EndRefresh<V>(CachedValue<V> old, Ticket ticket)
      implements FutureCallback<CachedValue<V>> {
    @Override
    public void onSuccess(@Nullable CachedValue<V> replacement) {
      ticket.close();
      if (replacement == null) {
        old.endRefresh();
      }
    }

    @Override
    public void onFailure(Throwable failure) {
      ticket.close();
      old.endRefresh();
    }
  }

  /** Hits and misses of the heap; loads from disk, from the source, and refreshes. */
  CacheStats stats() {
    return heap.stats()
        .plus(new CacheStats(0, 0, loads.sum(), failedLoads.sum(), loadNanos.sum(), 0));
  }
}
