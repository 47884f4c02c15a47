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

import com.google.common.util.concurrent.SettableFuture;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cancellation.RequestCancelledException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Ticket;
import java.nio.channels.ClosedByInterruptException;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;

/**
 * A load of a key's value. The thread that creates it loads the value, and then calls {@link
 * #complete} or {@link #fail}. Threads that ask for the key meanwhile wait for it.
 *
 * <p>A thread may join a load as long as the load's ticket is current. If the key is changed
 * afterwards, the value may still be given to those who have joined, as they asked before the
 * change ended; but it is not kept.
 *
 * <p>Deadlocks are detected only among loading threads. A loader waits forever if it waits for a
 * helper thread that asks for a key which this loader is loading.
 */
final class Load<K, V> implements AutoCloseable {
  /** What each waiting thread waits for, in all caches, to find circles. */
  private static final ConcurrentMap<Thread, Load<?, ?>> WAITING = new ConcurrentHashMap<>();

  /** How deep a failure's causes are looked at; causes may go round in circles. */
  private static final int MAX_CAUSES = 20;

  final DiskKey<K> key;

  /** The loads that may be joined, by key. */
  private final ConcurrentMap<K, Load<K, V>> open;

  /** The ticket of the key, taken before the load began. */
  final Ticket ticket;

  /** Whether the source loads the value together with those of other keys. */
  private final boolean isBulk;

  private final Thread loader = Thread.currentThread();
  private final SettableFuture<CachedValue<V>> ending = SettableFuture.create();

  /**
   * Begins a load, which this thread must end.
   *
   * @param open where others find it once it is put there
   * @param ticket the ticket of the key, taken before the load begins
   */
  Load(ConcurrentMap<K, Load<K, V>> open, DiskKey<K> key, Ticket ticket, boolean isBulk) {
    this.open = open;
    this.key = key;
    this.ticket = ticket;
    this.isBulk = isBulk;
  }

  /** To be called once the value is on the heap, or the load has failed. */
  @Override
  public void close() {
    open.remove(key.key(), this);
    ticket.close();
  }

  /** Ends the load with a value, which is on the heap. No effect if it has ended. */
  void complete(CachedValue<V> cached) {
    ending.set(cached);
  }

  /** Ends the load without a value. No effect if it has ended. */
  void fail(Throwable failure) {
    ending.setException(failure);
  }

  /**
   * Whether the loader asks for the very key that it loads. A source that loads many keys at once
   * may do so, if it then loads them one by one.
   */
  boolean isRecursive() {
    return loader == Thread.currentThread() && !isBulk && !hasEnded();
  }

  /** Whether this thread may wait for the load, or else has to be told that it is recursive. */
  boolean mayBeJoined() {
    return isRecursive() || !(hasEnded() || ticket.hasEnded());
  }

  boolean hasEnded() {
    return ending.isDone();
  }

  /**
   * Waits until the load has ended. An interrupt stays pending and does not end the wait, as in
   * Guava's and Caffeine's caches.
   *
   * @return null if the load failed for a reason that does not concern this thread; or, if the load
   *     has not ended, because this thread would wait for itself
   * @throws Throwable the failure of the load
   */
  @Nullable
  CachedValue<V> await() throws Throwable {
    Thread self = Thread.currentThread();
    try {
      // Before looking for a circle: of the threads that close a circle, at least the last one sees
      // it.
      WAITING.put(self, this);
      return leadsTo(self) ? null : Uninterruptibles.getUninterruptibly(ending);
    } catch (ExecutionException e) {
      // A load of many keys may have failed because of another one.
      if (isBulk || isOfItsThread(e.getCause())) {
        return null;
      }
      throw e.getCause();
    } finally {
      WAITING.remove(self);
    }
  }

  /** Whether this load waits for a thread, through any number of others. */
  private boolean leadsTo(Thread thread) {
    Load<?, ?> next = this;
    while (next != null && !next.hasEnded()) {
      if (next.loader == thread) {
        return true;
      }
      next = WAITING.get(next.loader);
    }
    return false;
  }

  /**
   * Whether a load failed because of the thread it ran in: its request was cancelled, it was
   * interrupted, or its stack was full. Another thread may have more luck.
   */
  private static boolean isOfItsThread(Throwable failure) {
    return Stream.iterate(failure, Objects::nonNull, Throwable::getCause)
        .limit(MAX_CAUSES)
        .anyMatch(
            cause ->
                cause instanceof InterruptedException
                    || cause instanceof ClosedByInterruptException
                    || cause instanceof CancellationException
                    || cause instanceof RequestCancelledException
                    || cause instanceof StackOverflowError);
  }
}
