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

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.common.flogger.FluentLogger;
import com.google.common.primitives.Ints;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedCache;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StartReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Value;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;

/**
 * The disk tier of a cache: its store, behind the serializers of keys and values. A key or value
 * that its serializer rejects is not kept on disk. Such an error is counted and logged, and fails
 * no request.
 */
final class DiskTier<K, V> implements SharedCache {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /**
   * One in so many reads and serializations is timed; a power of two. A read takes 2 microseconds,
   * so reading the clock each time would be felt.
   */
  private static final int TIMED_ONE_IN = 16;

  /**
   * One in so many hits of the heap of a shared cache counts as a use of the value on disk; a power
   * of two. The key has to be serialized for that, which takes longer than the hit.
   */
  private static final int HEAP_HIT_ONE_IN = 256;

  private final String name;
  private final int version;
  final Store store;
  final CacheTrace trace;
  private final CacheSerializer<K> keySerializer;
  private final CacheSerializer<V> valueSerializer;
  private final long maxAgeMillis;
  private final long refreshAfterMillis;
  private final AtomicBoolean readOnly;

  /** Where computed values go to other servers; null if they do not. */
  @Nullable private final SharedValues shared;

  /** Whether another cache's values are made from this one's. */
  private final boolean hasParts;

  /** Null if each value is written when it is put. */
  @Nullable final DelayedWrites<K, V> delayed;

  final LongAdder serializerErrors = new LongAdder();
  private final EnumMap<DiskOperation, RecentTimes> times = new EnumMap<>(DiskOperation.class);

  /**
   * Makes the tier of a store.
   *
   * @param readOnly whether the store must not be changed; may be set later
   * @param shared where computed values go to other servers; empty if they do not
   * @param writeSoon has another thread call {@link #write}
   */
  DiskTier(
      PersistentCacheDef<K, V> def,
      Store store,
      AtomicBoolean readOnly,
      Optional<Duration> maxAge,
      Optional<Duration> refreshAfterWrite,
      Optional<SharedValues> shared,
      Runnable writeSoon) {
    this.name = def.name();
    this.version = def.version();
    this.shared = shared.orElse(null);
    this.hasParts = name.equals(PoorValues.PARTS);
    if (hasParts) {
      PoorValues.watch();
    }
    this.readOnly = readOnly;
    this.store = store;
    this.trace = new CacheTrace(name);
    this.keySerializer = def.keySerializer();
    this.valueSerializer = def.valueSerializer();
    this.maxAgeMillis = maxAge.map(Duration::toMillis).orElse(Long.MAX_VALUE);
    this.refreshAfterMillis = refreshAfterWrite.map(Duration::toMillis).orElse(Long.MAX_VALUE);
    this.delayed =
        DelayedWrites.CACHES.contains(name)
            ? new DelayedWrites<>(store, this::serialize, readOnly, writeSoon)
            : null;
    for (DiskOperation operation : DiskOperation.values()) {
      times.put(operation, new RecentTimes(System.nanoTime()));
    }
  }

  /** Whether to time this one of the operations that are sampled. */
  private static boolean isTimed() {
    return (ThreadLocalRandom.current().nextInt() & (TIMED_ONE_IN - 1)) == 0;
  }

  /** The recent latencies. */
  ImmutableMap<DiskOperation, Latency> latencies() {
    long now = System.nanoTime();
    return ImmutableMap.copyOf(Maps.transformValues(times, recent -> recent.latency(now)));
  }

  /** Returns the stored form of a key. */
  DiskKey<K> key(K key) {
    try {
      return new DiskKey<>(key, keySerializer.serialize(key), /* isStored= */ true);
    } catch (RuntimeException | StackOverflowError | LinkageError e) {
      count("write a key", "its entry is kept in memory only", e);
      return new DiskKey<>(key, Ints.toByteArray(key.hashCode()), /* isStored= */ false);
    }
  }

  boolean isExpired(CachedValue<V> cached) {
    return isOlder(cached, maxAgeMillis);
  }

  boolean needsRefresh(CachedValue<V> cached) {
    return isOlder(cached, refreshAfterMillis);
  }

  private static boolean isOlder(CachedValue<?> cached, long millis) {
    // The store, too, treats a value that is as far in the future as expired.
    return millis != Long.MAX_VALUE
        && Math.abs(System.currentTimeMillis() - cached.created) > millis;
  }

  /** Takes the ticket for a value that is about to be read or computed. The caller closes it. */
  Ticket ticket(DiskKey<K> key) {
    return store.ticket(key.bytes());
  }

  /**
   * Reads a value.
   *
   * @param ticket the ticket that was taken before
   * @param counts false if the caller's read of a moment ago was counted
   * @return null if there is none
   */
  @Nullable
  CachedValue<V> read(DiskKey<K> key, Ticket ticket, boolean counts) {
    if (!key.isStored()) {
      return null;
    }
    CachedValue<V> waiting = delayed == null ? null : delayed.get(key, ticket);
    if (waiting != null) {
      return isExpired(waiting) ? null : waiting;
    }
    boolean timed = isTimed();
    long begun = timed ? System.nanoTime() : 0;
    Value stored = counts ? store.read(key.bytes()) : store.readUncounted(key.bytes());
    if (stored == null) {
      return null;
    }
    long read = timed ? System.nanoTime() : 0;
    V value = deserialize(stored.bytes());
    if (timed) {
      times.get(DiskOperation.READ).add(begun, read);
      times.get(DiskOperation.DESERIALIZE).add(read, System.nanoTime());
    }
    return value == null ? null : new CachedValue<>(value, stored.created(), ticket);
  }

  /**
   * Removes a value, if there is one.
   *
   * @return the ticket of the change, which the caller closes once the heap tier was changed, too
   */
  Ticket remove(DiskKey<K> key) {
    if (!key.isStored() || readOnly.get()) {
      return store.beginChange(key.bytes());
    }
    return delayed != null ? delayed.remove(key) : store.beginRemove(key.bytes());
  }

  /** Removes all values. To be called after {@link Store#beginRemoval}. */
  void clear() {
    if (shared != null) {
      shared.flushed(this);
    }
    boolean mayChange = !readOnly.get();
    if (mayChange && delayed != null) {
      delayed.clear();
    } else if (mayChange) {
      store.clear();
    }
  }

  @Nullable
  private V deserialize(byte[] bytes) {
    try {
      return valueSerializer.deserialize(bytes);
    } catch (RuntimeException | StackOverflowError | LinkageError e) {
      count("read a value", "the value is computed anew", e);
      return null;
    }
  }

  /**
   * Stores a value.
   *
   * @return the ticket of the change, which the caller closes once the heap tier was changed, too
   */
  Ticket put(DiskKey<K> key, V value, long now) {
    if (isDelayed(key)) {
      return delayed.put(key, value, now);
    }
    if (key.isStored() && !readOnly.get()) {
      long begun = System.nanoTime();
      byte[] bytes = serialize(value);
      if (bytes != null) {
        boolean isNew = isNew(key);
        Ticket ticket = store.beginPut(key.bytes(), bytes, now);
        if (isNew) {
          share(key, value, bytes, now, /* nanos= */ 0);
        }
        times.get(DiskOperation.PUT).add(begun, System.nanoTime());
        return ticket;
      }
    }
    // The value before this one must not be found again when this one has left the heap.
    return remove(key);
  }

  /**
   * Stores a value that was computed after the ticket was taken, unless the key has changed since.
   *
   * @param nanos how long it took to compute
   * @return the value for the heap tier
   */
  CachedValue<V> putLoaded(DiskKey<K> key, V value, Ticket ticket, long nanos) {
    long now = System.currentTimeMillis();
    if (isDelayed(key)) {
      delayed.putIfCurrent(key, value, now, ticket);
    } else if (key.isStored() && !readOnly.get()) {
      long computed = System.nanoTime();
      byte[] bytes = serialize(value);
      boolean isNew = bytes != null && isNew(key);
      store.putIfCurrent(key.bytes(), bytes, now, ticket);
      // What a change has overtaken may be made of what that change was to remove.
      if (isNew && !ticket.hasEnded()) {
        share(key, value, bytes, now, nanos);
      }
      times.get(DiskOperation.PUT).add(computed, System.nanoTime());
    }
    return new CachedValue<>(value, now, ticket);
  }

  /** Notes that a caller gets a value, and returns the value. */
  V noteReturned(V value) {
    if (hasParts) {
      PoorValues.seen(value);
    }
    return value;
  }

  /**
   * Has a value that was found on the heap count as used, as values of other servers take the place
   * of those that are not. To be called for each one; counts one of some, as keys have to be
   * serialized for that.
   */
  void foundOnHeap(K key) {
    if (shared != null && (ThreadLocalRandom.current().nextInt() & (HEAP_HIT_ONE_IN - 1)) == 0) {
      DiskKey<K> diskKey = key(key);
      if (diskKey.isStored()) {
        store.used(diskKey.bytes());
      }
    }
  }

  /** Whether other servers may lack a value: one that has arrived here meanwhile came from them. */
  private boolean isNew(DiskKey<K> key) {
    return shared != null && shared.isPublishing() && !store.contains(key.bytes());
  }

  private void share(DiskKey<K> key, V value, byte[] bytes, long now, long nanos) {
    if (!PoorValues.isPoor(value, nanos)) {
      shared.computed(this, key.bytes(), bytes, now - TimeUnit.NANOSECONDS.toMillis(nanos));
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public int version() {
    return version;
  }

  @Override
  public boolean isOpen() {
    return !readOnly.get() && store.isOpen();
  }

  @Override
  public StartReport start() {
    return store.start();
  }

  @Override
  public ImportResult putIfAbsent(
      byte[] key, byte[] value, long created, BooleanSupplier isWanted) {
    // A flush that comes after the question ends the ticket.
    try (Ticket ticket = store.ticket(key)) {
      return !readOnly.get() && isWanted.getAsBoolean()
          ? store.putIfAbsent(key, value, created, ticket)
          : ImportResult.OVER;
    }
  }

  @Override
  @Nullable
  public byte[] resumePoint() {
    Value note = store.note();
    return note == null ? null : note.bytes();
  }

  @Override
  public void setResumePoint(byte[] point) {
    if (!readOnly.get()) {
      store.setNote(point);
    }
  }

  private boolean isDelayed(DiskKey<K> key) {
    return delayed != null && key.isStored() && !readOnly.get();
  }

  /**
   * Writes the values that were put and are not on disk yet.
   *
   * @param isLast whether this is not called again
   */
  void write(boolean isLast) {
    if (delayed != null) {
      delayed.writeAll(isLast);
    }
  }

  /** Returns the stored form of a value; null if it is kept in memory only. */
  @Nullable
  private byte[] serialize(V value) {
    long begun = System.nanoTime();
    try {
      byte[] bytes = valueSerializer.serialize(value);
      if (isTimed()) {
        times.get(DiskOperation.SERIALIZE).add(begun, System.nanoTime());
      }
      return PoorValues.isProvisional(value, bytes) ? null : bytes;
    } catch (RuntimeException | StackOverflowError | LinkageError e) {
      count("write a value", "the value is kept in memory only", e);
      return null;
    }
  }

  private void count(String what, String consequence, Throwable e) {
    serializerErrors.increment();
    logger.atWarning().withCause(e).atMostEvery(10, TimeUnit.MINUTES).log(
        "Cache %s: the serializer failed to %s; %s", name, what, consequence);
  }
}
