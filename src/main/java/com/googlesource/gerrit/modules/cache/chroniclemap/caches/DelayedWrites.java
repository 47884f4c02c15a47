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

import com.google.common.cache.Cache;
import com.google.common.cache.Weigher;
import com.google.common.collect.ImmutableSet;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * The values of a cache that were put lately and are not written to disk yet. Of several values of
 * a key, only the last is written.
 *
 * <p>This is for caches with one value for each project, whose size grows with the project's tags
 * or changes. Gerrit puts that value again at each submit, or at each list of refs after a new
 * change. Serializing it takes 180 ms for 500,000 tags, and a request would wait for that.
 *
 * <p>A value that waits costs memory only if the heap tier does not keep it. By default, that of
 * {@code changes_by_project} keeps no value above 1 KB. Such values wait up to {@link #MAX_BYTES}
 * in all; those above that are written at once by the thread that brings one.
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

  /**
   * How often {@link #writeAll} is to be called, hence how long a value waits at most; one that is
   * put meanwhile for its key replaces it.
   */
  static final long DELAY_SECONDS = 30;

  /** How much the values may weigh that wait and are not on the heap tier. */
  static final int MAX_BYTES = 16 << 20;

  /** If more values wait, some are written at once, as each value that is put looks at all. */
  static final int MAX_WAITING = 64;

  /** Writing a key's value takes at most this share of one thread's time. */
  private static final int ONE_IN = 50;

  /**
   * A value that is not written yet. Each put makes a new one, even of the same object.
   *
   * @param run the same for all values of a key between which it was not removed
   */
  private record Waiting<V>(DiskKey key, V value, long created, long weight, Object run) {}

  private final Store store;
  @Nullable private final Weigher<K, V> weigher;
  private final Function<V, byte[]> serializer;
  private final AtomicBoolean readOnly;
  private final BooleanSupplier isStopping;

  /** In so many bins, a write of one key seldom delays the put of another. */
  private final ConcurrentMap<Object, Waiting<V>> waiting = new ConcurrentHashMap<>(512);

  /** Until when the values of some keys are not written again, as {@link System#nanoTime}. */
  private final ConcurrentMap<Object, Long> pauses = new ConcurrentHashMap<>();

  /**
   * Makes the delayed writes of a store.
   *
   * @param weigher tells the bytes of a value; if it is null, none waits that is not on the heap
   * @param serializer returns null for a value that cannot be stored
   * @param readOnly while it is true, values wait, and none may be put or removed
   * @param isStopping whether nobody will call {@link #writeAll} any more, so that values are
   *     written when they are put
   */
  DelayedWrites(
      Store store,
      @Nullable Weigher<K, V> weigher,
      Function<V, byte[]> serializer,
      AtomicBoolean readOnly,
      BooleanSupplier isStopping) {
    this.store = store;
    this.weigher = weigher;
    this.serializer = serializer;
    this.readOnly = readOnly;
    this.isStopping = isStopping;
  }

  /**
   * Returns the last value of a key if it is not written yet; otherwise null.
   *
   * @param ticket one of the key that was taken before this call
   */
  @Nullable
  CachedValue<V> get(DiskKey key, Ticket ticket) {
    Waiting<V> last = waiting.get(key.key());
    return last == null ? null : new CachedValue<>(last.value(), last.created(), ticket);
  }

  /**
   * Like {@link Store#beginPut}, but the older value may be found again after a kill. The caller
   * then calls {@link #arrived}.
   */
  Ticket put(DiskKey key, V value, long created) {
    // Outside of the step, which other keys may wait for: it is Gerrit's code.
    int weight = weigh(key, value);
    return change(key, before -> next(before, key, value, created, weight), store::beginChange);
  }

  /**
   * Like {@link Store#putIfCurrent}. The caller then calls {@link #arrived}. Not during a {@link
   * #clear}, which could miss a value that it should remove.
   */
  void putIfCurrent(DiskKey key, V value, long created, Ticket ticket) {
    int weight = weigh(key, value);
    synchronized (this) {
      var unused =
          waiting.compute(
              key.key(),
              (k, before) ->
                  ticket.hasEnded() ? before : next(before, key, value, created, weight));
    }
  }

  @SuppressWarnings("unchecked")
  private int weigh(DiskKey key, V value) {
    return weigher == null ? MAX_BYTES + 1 : weigher.weigh((K) key.key(), value);
  }

  private Waiting<V> next(
      @Nullable Waiting<V> before, DiskKey key, V value, long created, int weight) {
    return new Waiting<>(key, value, created, weight, before == null ? new Object() : before.run());
  }

  /** Like {@link Store#beginRemove}. Waits for a write of the key, but not for its serializer. */
  Ticket remove(DiskKey key) {
    return change(key, before -> null, store::beginRemove);
  }

  /**
   * Changes the store and then the value that waits, in one step for other changes of the key.
   * Otherwise a read in between would find an older value in the store. No ticket is current
   * meanwhile, so a value that is read then is not kept.
   */
  private Ticket change(
      DiskKey key, UnaryOperator<Waiting<V>> change, Function<byte[], Ticket> beginInStore) {
    Ticket[] begun = new Ticket[1];
    var unused =
        waiting.compute(
            key.key(),
            (k, before) -> {
              begun[0] = beginInStore.apply(key.bytes());
              return change.apply(before);
            });
    return begun[0];
  }

  /**
   * Removes all values, here and on disk. To be called after {@link Store#beginRemoval}, so that no
   * value that was computed before is put after this.
   */
  synchronized void clear() {
    // Each with its older value on disk, which would be found once it does not wait any more.
    waiting.values().forEach(each -> remove(each.key()).close());
    store.clear();
  }

  /**
   * To be called when a value was put and is on the heap, where it may have displaced others, or
   * was not kept. Looks at up to {@link #MAX_WAITING} values and writes those that may not wait.
   */
  void arrived(Cache<K, ?> heap) {
    if (waiting.isEmpty()) {
      return;
    }
    // Evicts what is to be evicted now.
    heap.cleanUp();
    ConcurrentMap<K, ?> kept = heap.asMap();
    long bytes = 0;
    int count = 0;
    for (Waiting<V> each : waiting.values()) {
      long weight = kept.containsKey(each.key().key()) ? 0 : each.weight();
      boolean isOneTooMany = ++count > MAX_WAITING && !isPaused(each);
      if (bytes + weight > MAX_BYTES || isOneTooMany || isStopping.getAsBoolean()) {
        write(each);
      } else {
        bytes += weight;
      }
    }
  }

  /**
   * Writes the values that wait, unless the disk is read-only. A value of 3 million changes takes
   * seconds to serialize, so one that took long waits for longer, until the server stops.
   */
  void writeAll() {
    for (Waiting<V> each : waiting.values()) {
      if (!isPaused(each) || isStopping.getAsBoolean()) {
        write(each);
      }
    }
  }

  private boolean isPaused(Waiting<V> last) {
    Long until = pauses.get(last.key().key());
    return until != null && System.nanoTime() - until < 0;
  }

  /** Never throws: the value of one project must not keep those of others from the disk. */
  @SuppressWarnings("ReferenceEquality")
  private void write(Waiting<V> last) {
    Object key = last.key().key();
    if (readOnly.get() || waiting.get(key) != last) {
      return;
    }
    try {
      long begun = System.nanoTime();
      byte[] bytes = serializer.apply(last.value());
      // In one step for changes of the key, so that this brings nothing back that was removed.
      var unused =
          waiting.computeIfPresent(
              key, (k, now) -> now.run() != last.run() ? now : writeBefore(now, last, bytes));
      long ended = System.nanoTime();
      // The disk may have hung.
      long pause = Math.min(ONE_IN * (ended - begun), TimeUnit.MINUTES.toNanos(10));
      if (pause > TimeUnit.SECONDS.toNanos(DELAY_SECONDS)) {
        pauses.put(key, ended + pause);
      } else {
        pauses.remove(key);
      }
    } catch (RuntimeException | Error e) {
      logger.atWarning().withCause(e).atMostEvery(10, TimeUnit.MINUTES).log(
          "Cache %s: a value cannot be written yet", store.name());
    }
  }

  /**
   * Writes a value; returns what waits then. One that was put meanwhile is found before this one,
   * and is written next: values that are put faster than they are serialized get to disk, too.
   */
  @Nullable
  @SuppressWarnings("ReferenceEquality")
  private Waiting<V> writeBefore(Waiting<V> now, Waiting<V> last, @Nullable byte[] bytes) {
    if (readOnly.get()) {
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
