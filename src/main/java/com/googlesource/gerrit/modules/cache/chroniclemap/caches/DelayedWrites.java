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
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * The values of a cache that were put lately and are not written to disk yet. Of several values of
 * a key, only the last is written.
 *
 * <p>This is for caches with one value for each project, whose size grows with the project's tags
 * or changes. Gerrit puts that value again at each submit, or at each list of refs after a new
 * change. Serializing it takes 180 ms for 500,000 tags, and a request would wait for that.
 *
 * <p>Gerrit compares the values of these caches with the refs whenever it uses them. So if the
 * process is killed before a value is written, the older value on disk may be used. As long as the
 * process lives, it finds the newer one.
 *
 * <p>Safe for any thread.
 */
final class DelayedWrites<V> {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The names of the caches whose values are written later. */
  static final ImmutableSet<String> CACHES = ImmutableSet.of("changes_by_project", "git_tags");

  /**
   * How often {@link #writeAll} is to be called, hence how long a value waits at most; one that is
   * put meanwhile for its key replaces it.
   */
  static final long DELAY_SECONDS = 30;

  /** If more values wait, they are written at once, as all of them are kept on the heap. */
  static final int MAX_WAITING = 64;

  /** Writing a key's value takes at most this share of one thread's time. */
  private static final int ONE_IN = 50;

  /** In so many bins, a write of one key seldom delays the put of another. */
  private static final int ROOM = 512;

  /** A value that is not written yet. Each put makes a new one, even of the same object. */
  private record Waiting<V>(byte[] key, V value, long created) {}

  private final Store store;
  private final Function<V, byte[]> serializer;
  private final AtomicBoolean readOnly;
  private final ExecutorService writer;
  private final ConcurrentMap<ByteBuffer, Waiting<V>> waiting = new ConcurrentHashMap<>(ROOM);
  private final AtomicBoolean writesSoon = new AtomicBoolean();

  /** Held during a write and a removal, so that no write brings back what was removed. */
  private final ReentrantLock writing = new ReentrantLock();

  /** How many removals there were. */
  private final AtomicLong removals = new AtomicLong();

  /** Until when the values of some keys are not written again, as {@link System#nanoTime}. */
  private final ConcurrentMap<ByteBuffer, Long> pauses = new ConcurrentHashMap<>();

  /**
   * Makes the delayed writes of a store.
   *
   * @param serializer returns null for a value that cannot be stored
   * @param readOnly while it is true, values wait, and none may be put or removed
   * @param writer writes if many values wait; once it was shut down, nobody will call {@link
   *     #writeAll} any more, so that values are written when they are put
   */
  DelayedWrites(
      Store store, Function<V, byte[]> serializer, AtomicBoolean readOnly, ExecutorService writer) {
    this.store = store;
    this.serializer = serializer;
    this.readOnly = readOnly;
    this.writer = writer;
  }

  /**
   * Returns the last value of a key if it is not written yet; otherwise null.
   *
   * @param ticket one of the key that was taken before this call
   */
  @Nullable
  CachedValue<V> get(byte[] key, Ticket ticket) {
    Waiting<V> last = waiting.get(ByteBuffer.wrap(key));
    return last == null ? null : new CachedValue<>(last.value(), last.created(), ticket);
  }

  /** Like {@link Store#beginPut}, but the older value may be found again after a kill. */
  Ticket put(byte[] key, V value, long created) {
    Ticket ticket = change(key, new Waiting<>(key, value, created), store::beginChange);
    writeLater();
    return ticket;
  }

  /** Like {@link Store#putIfCurrent}. */
  void putIfCurrent(byte[] key, V value, long created, Ticket ticket) {
    Waiting<V> put = new Waiting<>(key, value, created);
    // Not during a clear, which could miss a value that it should remove.
    synchronized (this) {
      var unused =
          waiting.compute(ByteBuffer.wrap(key), (k, before) -> ticket.hasEnded() ? before : put);
    }
    writeLater();
  }

  /** Like {@link Store#beginRemove}. Waits for a write, which takes seconds for a large value. */
  Ticket remove(byte[] key) {
    writing.lock();
    try {
      Ticket ticket = change(key, null, store::beginRemove);
      // Last: a write that sees the count before it also sees that the value does not wait any
      // more.
      removals.incrementAndGet();
      return ticket;
    } finally {
      writing.unlock();
    }
  }

  /**
   * Changes the store and then the value that waits, in one step for other changes of the key.
   * Otherwise a read in between would find an older value in the store. No ticket is current
   * meanwhile, so a value that is read then is not kept.
   */
  private Ticket change(
      byte[] key, @Nullable Waiting<V> after, Function<byte[], Ticket> beginInStore) {
    Ticket[] begun = new Ticket[1];
    var unused =
        waiting.compute(
            ByteBuffer.wrap(key),
            (k, before) -> {
              begun[0] = beginInStore.apply(key);
              return after;
            });
    return begun[0];
  }

  /**
   * Removes all values, here and on disk. To be called after {@link Store#beginRemoval}, so that no
   * value that was computed before is put after this.
   */
  synchronized void clear() {
    writing.lock();
    try {
      for (Waiting<V> last : waiting.values()) {
        remove(last.key()).close();
      }
      store.clear();
      removals.incrementAndGet();
    } finally {
      writing.unlock();
    }
  }

  private void writeLater() {
    if (writer.isShutdown()) {
      writeAll();
    } else if (waiting.size() > MAX_WAITING && writesSoon.compareAndSet(false, true)) {
      try {
        writer.execute(
            () -> {
              writesSoon.set(false);
              writeAll();
            });
      } catch (RejectedExecutionException e) {
        writeAll();
      }
    }
  }

  /**
   * Writes the values that wait, unless the disk is read-only. A value of 3 million changes takes
   * seconds to serialize, so one that took long waits for longer, until the server stops.
   */
  void writeAll() {
    for (Waiting<V> last : waiting.values()) {
      long begun = System.nanoTime();
      ByteBuffer key = ByteBuffer.wrap(last.key());
      if (begun - pauses.getOrDefault(key, begun) < 0 && !writer.isShutdown()) {
        continue;
      }
      write(last);
      long ended = System.nanoTime();
      // The disk may have hung.
      long pause = Math.min(ONE_IN * (ended - begun), TimeUnit.MINUTES.toNanos(10));
      if (pause > TimeUnit.SECONDS.toNanos(DELAY_SECONDS)) {
        pauses.put(key, ended + pause);
      } else {
        pauses.remove(key);
      }
    }
  }

  /** Never throws: the value of one project must not keep those of others from the disk. */
  @SuppressWarnings("ReferenceEquality")
  private void write(Waiting<V> last) {
    if (readOnly.get()) {
      return;
    }
    try {
      long removalsBefore = removals.get();
      ByteBuffer key = ByteBuffer.wrap(last.key());
      if (waiting.get(key) != last) {
        return;
      }
      byte[] bytes = serializer.apply(last.value());
      writing.lock();
      try {
        Waiting<V> present = waiting.get(key);
        // A value that was put meanwhile is found before this one, and is written next.
        if (present == null
            || (present != last && removals.get() != removalsBefore)
            || readOnly.get()) {
          return;
        }
        // Without a condition, so that the older value is gone even if this one has no room.
        if (bytes == null) {
          store.remove(last.key());
        } else {
          store.put(last.key(), bytes, last.created());
        }
        var unused = waiting.computeIfPresent(key, (k, now) -> now == last ? null : now);
      } finally {
        writing.unlock();
      }
    } catch (RuntimeException | Error e) {
      logger.atWarning().withCause(e).atMostEvery(10, TimeUnit.MINUTES).log(
          "Cache %s: a value cannot be written yet", store.name());
    }
  }
}
