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

import com.google.common.collect.ImmutableSet;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * The values of a cache that were put lately and are not written to disk yet. Of several values of
 * a key, only the last is written, in the background.
 *
 * <p>This is for caches with one value for each project, whose size grows with the project's tags
 * or changes. Gerrit puts that value again at each submit, or at each list of refs after a new
 * change. Serializing it takes 180 ms for 500,000 tags, and a request would wait for that.
 *
 * <p>Values are found here until they are written, as the heap tier may not keep them: by default,
 * that of {@code changes_by_project} keeps no value above 1 KB. Those cost memory here, so that few
 * keys wait at a time.
 *
 * <p>Gerrit compares the values of these caches with the refs whenever it uses them. So if the
 * process is killed before a value is written, the older value on disk may be used. As long as the
 * process lives, it finds the newer one.
 *
 * <p>Safe for any thread.
 */
final class DelayedWrites<K, V> {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The names of the caches whose values are written later. */
  static final ImmutableSet<String> CACHES = ImmutableSet.of("changes_by_project", "git_tags");

  /** How often {@link #writeAll} is to be called, hence how long a value waits if few do. */
  static final long DELAY_SECONDS = 30;

  /** So many keys wait at most; from half of that on, their values are written soon. */
  static final int MAX_WAITING = 32;

  /** Writing a key's value takes at most this share of one thread's time. */
  private static final int ONE_IN = 50;

  /**
   * A value that is not written yet. Each put makes a new one, even of the same object.
   *
   * @param run the same object for values of which each took the place of the one before; between
   *     two runs, the key was written or removed
   */
  private record Waiting<K, V>(DiskKey<K> key, V value, long created, Object run) {}

  private final Store store;
  private final Function<V, byte[]> serializer;
  private final AtomicBoolean readOnly;
  private final Runnable writeSoon;

  /** In so many bins, a write of one key seldom delays the put of another. */
  private final ConcurrentMap<K, Waiting<K, V>> waiting = new ConcurrentHashMap<>(512);

  /** Held by who brings a loaded value, and briefly by who removes all. */
  private final ReadWriteLock loading = new ReentrantReadWriteLock();

  /** Until when the values of some keys are not written again, as {@link System#nanoTime}. */
  private final ConcurrentMap<K, Long> pauses = new ConcurrentHashMap<>();

  /** Whether {@link #writeAll} is not called again. */
  private volatile boolean isOver;

  /**
   * Makes the delayed writes of a store.
   *
   * @param serializer returns null for a value that cannot be stored
   * @param readOnly while it is true, values wait, and none may be put or removed
   * @param writeSoon has another thread call {@link #writeAll}
   */
  DelayedWrites(
      Store store, Function<V, byte[]> serializer, AtomicBoolean readOnly, Runnable writeSoon) {
    this.store = store;
    this.serializer = serializer;
    this.readOnly = readOnly;
    this.writeSoon = writeSoon;
  }

  /**
   * Returns the last value of a key if it is not written yet; otherwise null.
   *
   * @param ticket one of the key that was taken before this call
   */
  @Nullable
  CachedValue<V> get(DiskKey<K> key, Ticket ticket) {
    Waiting<K, V> last = waiting.get(key.key());
    return last == null ? null : new CachedValue<>(last.value(), last.created(), ticket);
  }

  /**
   * Like {@link Store#beginPut}, but the older value may be found again after a kill. If too many
   * keys wait, this thread writes the value itself.
   */
  Ticket put(DiskKey<K> key, V value, long created) {
    if (mayWait(key)) {
      return change(key, before -> next(key, value, created, before), store::beginChange);
    }
    byte[] bytes = serializer.apply(value);
    return bytes == null
        ? remove(key)
        : change(key, before -> null, stored -> store.beginPut(stored, bytes, created));
  }

  private Waiting<K, V> next(DiskKey<K> key, V value, long created, @Nullable Waiting<K, V> old) {
    return new Waiting<>(key, value, created, old == null ? new Object() : old.run);
  }

  /** Like {@link Store#putIfCurrent}. If too many keys wait, this thread writes the value. */
  void putIfCurrent(DiskKey<K> key, V value, long created, Ticket ticket) {
    if (mayWait(key)) {
      loading.readLock().lock();
      try {
        var unused =
            waiting.compute(
                key.key(),
                (k, before) -> ticket.hasEnded() ? before : next(key, value, created, before));
      } finally {
        loading.readLock().unlock();
      }
      writeIfOver(key);
      return;
    }
    store.putIfCurrent(key.bytes(), serializer.apply(value), created, ticket);
  }

  private boolean mayWait(DiskKey<K> key) {
    int count = waiting.size();
    if (count >= MAX_WAITING / 2) {
      writeSoon.run();
    }
    return count < MAX_WAITING || waiting.containsKey(key.key());
  }

  /** Called when the value waits, so that either this or the last {@link #writeAll} meets it. */
  private void writeIfOver(DiskKey<K> key) {
    if (isOver) {
      write(waiting.get(key.key()));
    }
  }

  /** Like {@link Store#beginRemove}. Waits for a write of the key, but not for its serializer. */
  Ticket remove(DiskKey<K> key) {
    return change(key, before -> null, store::beginRemove);
  }

  /**
   * Changes the store and then the value that waits, in one step for other changes of the key.
   * Otherwise a read in between would find an older value in the store. No ticket is current
   * meanwhile, so a value that is read then is not kept.
   */
  private Ticket change(
      DiskKey<K> key, UnaryOperator<Waiting<K, V>> next, Function<byte[], Ticket> beginInStore) {
    Ticket[] begun = new Ticket[1];
    var unused =
        waiting.compute(
            key.key(),
            (k, before) -> {
              begun[0] = beginInStore.apply(key.bytes());
              return next.apply(before);
            });
    writeIfOver(key);
    return begun[0];
  }

  /**
   * Removes all values, here and on disk. To be called after {@link Store#beginRemoval}, which ends
   * the tickets of values that were computed before.
   */
  void clear() {
    List<Waiting<K, V>> before;
    loading.writeLock().lock();
    try {
      // T1, a load, finds its ticket current; T2 begins the removal, and would miss the value here,
      // as T1 is about to bring it. This has waited for T1, and later ones find no ticket current.
      before = List.copyOf(waiting.values());
    } finally {
      loading.writeLock().unlock();
    }
    // Each with its older value on disk, which would be found once it does not wait any more. What
    // is put from now on waits until the store is empty, and hides its older value until then.
    before.forEach(each -> remove(each.key()).close());
    store.clear();
  }

  /**
   * Writes the values that wait, unless the disk is read-only. A value of 3 million changes takes
   * seconds to serialize, so one that took long waits for longer.
   *
   * @param isLast whether this is not called again, so that none may wait for longer
   */
  void writeAll(boolean isLast) {
    if (isLast) {
      isOver = true;
    }
    long now = System.nanoTime();
    pauses.values().removeIf(until -> now - until >= 0);
    for (Waiting<K, V> each : waiting.values()) {
      if (isLast || !pauses.containsKey(each.key().key())) {
        write(each);
      }
    }
  }

  /** Never throws: the value of one project must not keep those of others from the disk. */
  private void write(@Nullable Waiting<K, V> last) {
    if (last == null || readOnly.get()) {
      return;
    }
    try {
      long begun = System.nanoTime();
      byte[] bytes = serializer.apply(last.value());
      // In one step for changes of the key, so that this brings nothing back that was removed.
      var unused = waiting.computeIfPresent(last.key.key(), (k, now) -> write(last, bytes, now));
      long ended = System.nanoTime();
      // The disk may have hung.
      long pause = Math.min(ONE_IN * (ended - begun), TimeUnit.MINUTES.toNanos(10));
      if (pause > TimeUnit.SECONDS.toNanos(DELAY_SECONDS)) {
        pauses.put(last.key.key(), ended + pause);
      }
    } catch (RuntimeException | Error e) {
      logger.atWarning().withCause(e).atMostEvery(10, TimeUnit.MINUTES).log(
          "Cache %s: a value cannot be written yet", store.name());
    }
  }

  /**
   * Writes a value even if a newer one waits: otherwise nothing would be written of those that are
   * put faster than they are serialized. Returns what waits afterwards.
   */
  @Nullable
  @SuppressWarnings("ReferenceEquality")
  private Waiting<K, V> write(Waiting<K, V> last, @Nullable byte[] bytes, Waiting<K, V> now) {
    if (readOnly.get() || now.run != last.run) {
      return now;
    }
    // Without a condition, so that the older value is gone even if this one has no room.
    if (bytes == null) {
      store.remove(last.key().bytes());
    } else {
      store.put(last.key().bytes(), bytes, last.created());
    }
    return now == last ? null : now;
  }
}
