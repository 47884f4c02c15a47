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

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Changes values. Whatever it is, the older value is void in the file when the change returns, and
 * the rest is left to the {@link StoreWriter}. {@link Store} says what each of them promises.
 *
 * <p>Safe for any thread.
 */
final class StoreChanges {
  /** How long a change waits for a disk that does not answer. */
  private static final long BUSY_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final StoreFile file;
  private final PendingWrites pending;
  private final Tickets tickets;
  private final StoreCounters counters;
  private final StoreWriter writer;
  private final StoreGrowth growth;
  private final WriterLock lock;
  private final long maxValue;
  private final int maxKey;

  /** The changes of the store that has the files now; null if none has. */
  private volatile StoreChanges successor;

  StoreChanges(
      StoreSettings settings,
      StoreFile file,
      PendingWrites pending,
      Tickets tickets,
      StoreCounters counters,
      StoreWriter writer,
      StoreGrowth growth,
      WriterLock lock) {
    this.file = file;
    this.pending = pending;
    this.tickets = tickets;
    this.counters = counters;
    this.writer = writer;
    this.growth = growth;
    this.lock = lock;
    this.maxValue = StoreOpener.maxValue(settings);
    this.maxKey = StoreOpener.maxKey(settings);
  }

  /** Stores a value in place of any older one; returns a ticket. */
  long put(byte[] keyBytes, byte[] value, long created) {
    return change(new HashedKey(keyBytes), PendingWrite.put(value, created));
  }

  /**
   * Has another store, which is about to have the files, make what changes are made here when this
   * one is over: whoever still uses it, such as the old one of a plugin that is being replaced,
   * invalidates what both read.
   */
  void forwardTo(StoreChanges other) {
    successor = other;
  }

  private boolean fits(byte[] key, byte[] value) {
    return key.length <= maxKey && value.length <= maxValue;
  }

  /** Removes a value; returns a ticket. */
  long remove(byte[] keyBytes) {
    counters.invalidated.increment();
    return change(new HashedKey(keyBytes), PendingWrite.remove());
  }

  private long change(HashedKey key, PendingWrite write) {
    file.awaitOpenBriefly();
    boolean roomLeft = writer.hasRoom();
    boolean early = file.isOpening();
    PendingWrite waiting = write;
    if (write.value() != null && (!fits(key.bytes, write.value()) || (early && !roomLeft))) {
      writer.notStored(write.value().length);
      waiting = PendingWrite.remove();
    }
    PendingWrite stored = waiting;
    long[] ticket = new long[1];
    boolean[] isVoid = new boolean[1];
    boolean[] isOver = new boolean[1];
    try {
      pending.change(
          key,
          (k, before) -> {
            ticket[0] = tickets.begin(k.hash);
            isVoid[0] = markVoid(k);
            // Asked here, and after that: a file that came or went since is seen.
            isOver[0] = file.isOver();
            // What was left waiting when a file failed must not be found in the next one.
            return isOver[0] ? null : stored;
          });
    } finally {
      if (ticket[0] != 0) {
        tickets.end(ticket[0]);
      }
    }
    if (isOver[0]) {
      changeElsewhere(key, write);
    } else if (early) {
      forgetOlderAfterCrash(key);
    } else if (!isVoid[0]) {
      takeAway(key);
    } else if (roomLeft) {
      writer.writeSoon(key);
    } else {
      var unused = writer.writeNow(key);
    }
    if (!isOver[0] && !isVoid[0] && file.isOver()) {
      // Closed since, perhaps with the older value in it.
      changeElsewhere(key, write);
    }
    return ticket[0];
  }

  /**
   * Sees to it that the older value of a key, which could not be made void, is not found again: the
   * disk keeps whoever has its segment waiting.
   */
  private void takeAway(HashedKey key) {
    long begun = System.nanoTime();
    while (!writer.writeNow(key)) {
      if (System.nanoTime() - begun > BUSY_NANOS) {
        // It is still in the queue, so only a start of another process would find it.
        file.markForDiscard();
        return;
      }
    }
  }

  /** Makes a change that came too late for this store's file. */
  private void changeElsewhere(HashedKey key, PendingWrite write) {
    StoreChanges next = successor;
    if (next == null) {
      file.forgetIfClosed();
    } else {
      var unused = next.change(key, write);
    }
  }

  /** Makes the value of a key void in the file; returns false if that has to be done otherwise. */
  private boolean markVoid(HashedKey key) {
    Generations generations = file.generations();
    try {
      if (generations != null) {
        generations.markVoid(key.bytes);
      }
      return true;
    } catch (StoreBusyException e) {
      return false;
    } catch (RuntimeException | InternalError e) {
      file.fail(generations, e);
      return true;
    }
  }

  /** Stores a value unless its key was changed since the ticket was taken. */
  void putIfCurrent(byte[] keyBytes, byte[] value, long created, long ticket) {
    boolean roomLeft = writer.hasRoom();
    boolean early = file.isOpening();
    if (file.isOver()) {
      return;
    }
    if (!fits(keyBytes, value) || (early && !roomLeft)) {
      writer.notStored(value.length);
      return;
    }
    HashedKey key = new HashedKey(keyBytes);
    pending.change(
        key,
        (k, before) ->
            // In place of a put or removal that waits, it must not become void: what that one was
            // to take away from the file would stay there.
            tickets.isCurrent(ticket)
                ? new PendingWrite(value, created, before == null || before.conditional(), ticket)
                : before);
    if (roomLeft) {
      writer.writeSoon(key);
    } else {
      var unused = writer.writeNow(key);
    }
  }

  /** Removes all values. */
  void clear() {
    file.awaitOpenBriefly();
    counters.invalidated.increment();
    StoreChanges next = null;
    Generation cleared = null;
    lock.lock();
    try {
      Generations generations = file.generations();
      if (generations != null) {
        cleared = growth.clear(generations);
      } else if (file.isOpening()) {
        file.clearWhenOpen();
      } else if (successor == null) {
        file.forgetIfClosed();
      } else {
        next = successor;
      }
      pending.clear();
    } catch (IOException | RuntimeException | InternalError e) {
      // The next file is empty too.
      file.fail(file.generations(), e);
    } finally {
      // Last, and under the lock, so that no writer takes a write for valid that this makes void.
      tickets.advanceAll();
      lock.unlock();
    }
    if (cleared != null) {
      growth.unmap(cleared);
    }
    if (next != null) {
      next.clear();
    }
  }

  /**
   * Called while the file is not open yet, so that the older value of a key can't be made void:
   * makes sure that a crash before it is removed does not bring it back.
   */
  private void forgetOlderAfterCrash(HashedKey key) {
    lock.lock();
    try {
      if (file.isOpening()) {
        file.markForDiscard();
      } else {
        var unused = writer.writeNow(key);
      }
    } finally {
      lock.unlock();
    }
  }
}
