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
import com.google.gerrit.common.Nullable;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * The values of a cache that were put lately and are not written to disk yet. Of several values of
 * a key, only the last is written.
 *
 * <p>It is used for caches that hold one value for each project, as large as the project has tags
 * or changes. Gerrit puts that value again at each submit, or at each list of refs after a new
 * change. To serialize it takes 180 ms for 500,000 tags, and would do so in the request.
 *
 * <p>Gerrit compares the values of these caches with the refs whenever it uses them. So if the
 * process is killed before a value is written, the older one is good enough.
 *
 * <p>Safe for any thread.
 */
final class DelayedWrites<V> {
  /** The names of the caches whose values are written later. */
  static final ImmutableSet<String> CACHES = ImmutableSet.of("changes_by_project", "git_tags");

  /** How long a value waits, so that those that are put meanwhile are not written. */
  static final long DELAY_SECONDS = 30;

  /** So many values wait at most, as all of them are kept on the heap. */
  static final int MOST = 64;

  /** A value that is not written yet. Each put makes a new one, even of the same object. */
  static final class Waiting<V> {
    final V value;

    /** Milliseconds since the epoch at which it was put. */
    final long created;

    private final byte[] key;

    private Waiting(byte[] key, V value, long created) {
      this.key = key;
      this.value = value;
      this.created = created;
    }
  }

  private final Store store;
  private final Function<V, byte[]> serializer;
  private final ScheduledExecutorService timer;

  /** By key. Each change of a key is made in here and in the store as one step. */
  private final ConcurrentMap<ByteBuffer, Waiting<V>> waiting = new ConcurrentHashMap<>();

  private final AtomicBoolean isScheduled = new AtomicBoolean();

  /**
   * Makes the delayed writes of a store.
   *
   * @param serializer returns null for a value that cannot be stored
   * @param timer runs the writes; once it is shut down, values are written at once
   */
  DelayedWrites(Store store, Function<V, byte[]> serializer, ScheduledExecutorService timer) {
    this.store = store;
    this.serializer = serializer;
    this.timer = timer;
  }

  /** Returns the last value of a key if it is not written yet; otherwise null. */
  @Nullable
  Waiting<V> get(byte[] key) {
    return waiting.isEmpty() ? null : waiting.get(ByteBuffer.wrap(key));
  }

  /** Like {@link Store#put}, but the older value may be found again after a kill. */
  long put(byte[] key, V value, long created) {
    long[] ticket = new long[1];
    Waiting<V> put = new Waiting<>(key, value, created);
    var unused =
        waiting.compute(
            ByteBuffer.wrap(key),
            (k, before) -> {
              ticket[0] = store.endTickets(key);
              return put;
            });
    writeLater();
    return ticket[0];
  }

  /** Like {@link Store#putIfCurrent}. */
  void putIfCurrent(byte[] key, V value, long created, long ticket) {
    Waiting<V> put = new Waiting<>(key, value, created);
    var unused =
        waiting.compute(
            ByteBuffer.wrap(key), (k, before) -> store.isCurrent(ticket) ? put : before);
    writeLater();
  }

  /**
   * Forgets the value of a key that is not written yet.
   *
   * @param change changes the key in the store; returns a ticket
   * @return that ticket
   */
  long remove(byte[] key, ToLongFunction<byte[]> change) {
    long[] ticket = new long[1];
    var unused =
        waiting.compute(
            ByteBuffer.wrap(key),
            (k, before) -> {
              ticket[0] = change.applyAsLong(key);
              return null;
            });
    return ticket[0];
  }

  /** Forgets all values that are not written yet; to be called before the store is cleared. */
  void clear() {
    waiting.clear();
  }

  private void writeLater() {
    if (waiting.size() > MOST) {
      // One for one, so that no request writes more than it puts.
      waiting.values().stream().findAny().ifPresent(this::write);
    }
    if (isScheduled.compareAndSet(false, true)) {
      try {
        var unused = timer.schedule(this::writeAll, DELAY_SECONDS, TimeUnit.SECONDS);
      } catch (RejectedExecutionException e) {
        writeAll();
      }
    }
  }

  /** Writes all values that wait. */
  void writeAll() {
    isScheduled.set(false);
    waiting.values().forEach(this::write);
  }

  private void write(Waiting<V> last) {
    byte[] bytes = serializer.apply(last.value);
    var unused =
        waiting.computeIfPresent(
            ByteBuffer.wrap(last.key),
            (k, present) -> {
              if (present != last) {
                return present;
              }
              if (bytes != null) {
                store.putIfCurrent(last.key, bytes, last.created, store.ticket(last.key));
              }
              return null;
            });
  }
}
