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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Shares a bound on the disk of all stores among them: {@code cache.diskLimitTotal}.
 *
 * <p>A store takes what it asks for as long as the sum stays within the bound. When it does not,
 * each store has a right to its share, in proportion to its own limit: whoever asks for less than
 * that and gets nothing makes the store that is furthest above its share give half of its file
 * back, and has better luck when it asks again. The bound is on files at rest; a file that is being
 * rebuilt exists twice for that time. Files of caches that nobody has open count, too, and what
 * they take is nobody's to share.
 *
 * <p>Safe for any thread.
 */
final class DiskBudget {
  /** A store, as far as its size goes. */
  interface Owner {
    /** Name of the cache, as it is in names of files. */
    String cache();

    /** The most it may take for itself, bytes. */
    long maxBytes();

    /** Begins to give half of its file back, in the background, if it can. */
    void shrink();
  }

  private static final FluentLogger logger = FluentLogger.forEnclosingClass();
  private static final long TAKE_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long TAKE_ASK_AGAIN_MILLIS = 100;
  private static final int FIRST_SHARE = 64;

  private static final long TELL_AFTER_NANOS = TimeUnit.MINUTES.toNanos(10);

  private final long total;
  private final long made = System.nanoTime();
  private final Map<Owner, Long> sizes = new HashMap<>();

  /** Bytes of the files of each cache that nobody has open. Guarded by this. */
  private final Map<String, Long> unused = new TreeMap<>();

  /** Whether what is given back may still be on disk. Guarded by this. */
  private boolean closing;

  /**
   * A bound that nobody has taken anything of.
   *
   * @param total bytes; Long.MAX_VALUE if there is no bound
   */
  DiskBudget(long total) {
    this.total = total;
  }

  /**
   * Changes what a store takes.
   *
   * @return whether that is within the bound; if not, nothing has changed
   */
  boolean resize(Owner owner, long bytes) {
    synchronized (this) {
      if (closing && bytes > sizes.getOrDefault(owner, 0L)) {
        return false;
      }
    }
    return tryTake(owner, bytes, /* opening= */ false);
  }

  boolean isBound() {
    return total != Long.MAX_VALUE;
  }

  /** Tells what the files of each cache take; those that no owner answers for are nobody's. */
  synchronized void setFiles(Map<String, Long> bytes) {
    unused.clear();
    unused.putAll(bytes);
    sizes.keySet().forEach(owner -> unused.remove(owner.cache()));
    notifyAll();
  }

  /**
   * All stores are about to be closed, one after the other: each gives back what it took, but its
   * file stays, so those that are still open must not grow into that.
   */
  synchronized void closing() {
    closing = isBound();
    notifyAll();
  }

  private synchronized boolean isClosing() {
    return closing;
  }

  /**
   * Takes so much in place of what is taken.
   *
   * @param opening whether the file may be there already; then nobody's files are not counted: who
   *     opens one may be their next owner
   */
  private boolean tryTake(Owner owner, long bytes, boolean opening) {
    Owner over = null;
    synchronized (this) {
      if (!sizes.containsKey(owner)) {
        // From here on it is the owner's.
        Long left = unused.remove(owner.cache());
        sizes.put(owner, left != null ? left : 0);
      }
      long before = sizes.get(owner);
      long free = total - (opening ? 0 : unusedBytes());
      // The bound may be less than it was when the file was made.
      if ((!opening && bytes <= before) || sum() - before + bytes <= free) {
        sizes.put(owner, bytes);
        if (bytes < before) {
          notifyAll();
        }
        return true;
      }
      if (!opening) {
        tellOfUnused();
      }
      if (bytes <= share(owner, free)) {
        over = furthestAboveShare(owner, free);
      }
    }
    if (over != null) {
      over.shrink();
    }
    return false;
  }

  private void tellOfUnused() {
    // Before that, plugins may not have opened their caches.
    if (!unused.isEmpty() && System.nanoTime() - made > TELL_AFTER_NANOS) {
      logger.atInfo().atMostEvery(1, TimeUnit.DAYS).log(
          "Of cache.diskLimitTotal, files of caches that this server does not use take %d bytes."
              + " What no plugin needs any more may be deleted while the server is stopped: %s",
          unusedBytes(), unused.keySet());
    }
  }

  /**
   * Takes as much as there is, halving what is asked for until it fits. Waits for a while for a
   * store that is asked to give some back.
   *
   * @return what was taken; 0 if there is less than {@code least}
   */
  long take(Owner owner, long bytes, long least) {
    long deadline = System.nanoTime() + TAKE_WAIT_NANOS;
    while (true) {
      for (long size = bytes; size >= least; size = lessThan(size, least)) {
        if (tryTake(owner, size, /* opening= */ true)) {
          return size;
        }
      }
      if (isClosing() || System.nanoTime() - deadline > 0 || !awaitRelease()) {
        return 0;
      }
    }
  }

  /** Half of a size, and the least that is of use before what is less than that. */
  private static long lessThan(long size, long least) {
    return size > least ? Math.max(size / 2, least) : 0;
  }

  /** Returns when something was given back, or after a moment: who was asked may not be ready. */
  @SuppressWarnings("WaitNotInLoop") // the loop is the caller's
  private synchronized boolean awaitRelease() {
    try {
      wait(TAKE_ASK_AGAIN_MILLIS);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** The size to begin with where {@code bytes} is usual: less where many have to share little. */
  long first(long bytes) {
    return Math.min(bytes, Math.max(Geometry.MIN_FILE_BYTES, total / FIRST_SHARE));
  }

  /** Gives back what a store took whose file is gone. */
  synchronized void release(Owner owner) {
    sizes.remove(owner);
    notifyAll();
  }

  /** A store is closed, and its file stays. */
  synchronized void leave(Owner owner) {
    Long left = sizes.remove(owner);
    if (left != null && left > 0 && isBound()) {
      unused.merge(owner.cache(), left, Math::max);
    }
    notifyAll();
  }

  private long sum() {
    return sizes.values().stream().mapToLong(Long::longValue).sum();
  }

  private long unusedBytes() {
    return unused.values().stream().mapToLong(Long::longValue).sum();
  }

  private long share(Owner owner, long of) {
    double limits = owner.maxBytes();
    for (Owner other : sizes.keySet()) {
      limits += other == owner ? 0 : other.maxBytes();
    }
    return (long) (Math.max(0, of) * (owner.maxBytes() / limits));
  }

  private Owner furthestAboveShare(Owner asking, long of) {
    Owner furthest = null;
    long most = 0;
    for (Map.Entry<Owner, Long> entry : sizes.entrySet()) {
      long above = entry.getValue() - share(entry.getKey(), of);
      if (entry.getKey() != asking && above > most) {
        furthest = entry.getKey();
        most = above;
      }
    }
    return furthest;
  }
}
