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

import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.Generation;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.HashedKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.PendingWrite;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Changes values. Whatever it is, the older value is invalidated in the file when the change
 * returns, and the rest is left to the {@link StoreWriter}. {@link Store} says what each of them
 * promises.
 *
 * <p>Safe for any thread.
 */
final class StoreChanges {
  /** How long a change waits for a disk that does not answer. */
  private static final long BUSY_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final FileHolder holder;
  private final StoreContext context;
  private final StoreWriter writer;
  private final StoreGrowth growth;
  private final long maxValue;
  private final int maxKey;

  /** The changes of the store that has the files now; null if none has. */
  private volatile StoreChanges successor;

  StoreChanges(StoreContext context, FileHolder holder, StoreGrowth growth, StoreWriter writer) {
    this.holder = holder;
    this.context = context;
    this.writer = writer;
    this.growth = growth;
    this.maxValue = context.settings.maxValue();
    this.maxKey = context.settings.maxKey();
  }

  /** Stores a value in place of any older one; returns a ticket. */
  long put(byte[] keyBytes, byte[] value, long created) {
    if (context.settings.oldValues() == OldValues.VALID) {
      // As if it had been computed: nothing is noted, and the older value may stay until then.
      long ticket = context.tickets.current(HashedKey.hashOf(keyBytes));
      putIfCurrent(keyBytes, value, created, ticket);
      return ticket;
    }
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
    context.counters.invalidated.increment();
    return change(new HashedKey(keyBytes), PendingWrite.remove());
  }

  /** What a change has come to when the key is free again, and so what is left to do. */
  private enum Outcome {
    /** It is in the file. */
    WRITTEN,
    /** It waits, and the older value is invalidated. */
    WAITS,
    /** It waits, and the disk kept the older value from being invalidated. */
    BUSY,
    /** It waits for the file to be opened, which may hold an older value. */
    EARLY,
    /** There is no file any more: nothing was noted. */
    OVER
  }

  /** A change of one key, which is one step with respect to others of that key. */
  private final class Change {
    private final PendingWrite write;
    private long ticket;
    private Outcome outcome;

    Change(PendingWrite write) {
      this.write = write;
    }

    void make(HashedKey key) {
      // Who could not have the lock at once would wait for others' writes.
      boolean mayWrite = context.lock.tryLock();
      try {
        context.pending.change(
            key,
            (k, before) ->
                // In place of one that is queued it is queued too: in the file it could be read
                // before that one is gone.
                makeAlone(k, mayWrite && before == null));
      } finally {
        if (mayWrite) {
          context.lock.unlock();
        }
        if (ticket != 0) {
          context.tickets.end(ticket);
        }
      }
    }

    /** Returns what is queued for the key from now on. */
    private PendingWrite makeAlone(HashedKey key, boolean mayWrite) {
      ticket = context.tickets.begin(key.hash);
      FileInUse file = holder.file();
      if (mayWrite && file != null && writer.writeAsItIs(file, key, write)) {
        outcome = Outcome.WRITTEN;
      } else {
        outcome = file == null ? Outcome.EARLY : invalidateOlder(file, key);
      }
      // Asked here, and after that: a file that came or went since is seen.
      if (holder.isOver()) {
        outcome = Outcome.OVER;
      }
      // What was left waiting when a file failed must not be found in the next one.
      return outcome == Outcome.OVER || outcome == Outcome.WRITTEN ? null : write;
    }
  }

  private long change(HashedKey key, PendingWrite write) {
    holder.awaitOpenBriefly();
    boolean hasRoom = context.pending.hasRoom();
    PendingWrite fitting = write;
    if (write.value() != null
        && (!fits(key.bytes, write.value()) || (holder.isOpening() && !hasRoom))) {
      writer.notStored(write.value().length);
      fitting = PendingWrite.remove();
    }
    noteForImport(key);
    Change change = new Change(fitting);
    change.make(key);
    switch (change.outcome) {
      case WRITTEN, OVER -> {}
      case WAITS -> writeLater(key, hasRoom);
      case BUSY -> takeAway(key);
      case EARLY -> forgetOlderAfterCrash(key);
    }
    boolean olderMayBeThere = change.outcome == Outcome.BUSY || change.outcome == Outcome.EARLY;
    if (change.outcome == Outcome.OVER || (olderMayBeThere && holder.isOver())) {
      changeElsewhere(key, write);
    } else if (context.settings.oldValues() == OldValues.DANGEROUS) {
      holder.force(/* all= */ false);
    }
    return change.ticket;
  }

  /** First of all: a value from before must not be imported once the key has changed. */
  void noteForImport(HashedKey key) {
    try {
      context.importGuard.changing(key.bytes);
    } catch (IOException e) {
      holder.forgetAll(e);
    }
  }

  private void noteAllForImport() {
    try {
      context.importGuard.changingAll();
    } catch (IOException e) {
      holder.forgetAll(e);
    }
  }

  private void writeLater(HashedKey key, boolean hasRoom) {
    if (hasRoom) {
      writer.writeSoon();
    } else {
      var unused = writer.writeNow(key);
    }
  }

  /**
   * Sees to it that the older value of a key, which could not be invalidated, is not found again:
   * the disk keeps whoever has its segment waiting.
   */
  private void takeAway(HashedKey key) {
    long begun = System.nanoTime();
    while (!writer.writeNow(key)) {
      if (System.nanoTime() - begun > BUSY_NANOS) {
        // It is still in the queue, so only a start of another process would find it.
        holder.markForDiscard();
        return;
      }
    }
  }

  /** Makes a change that came too late for this store's file. */
  private void changeElsewhere(HashedKey key, PendingWrite write) {
    StoreChanges next = lastSuccessor();
    if (next != null) {
      var unused = next.change(key, write);
    }
  }

  /** Null if there is none; then whoever opens the files later sees that they are marked. */
  private StoreChanges lastSuccessor() {
    if (successor == null) {
      holder.forgetIfClosed();
    }
    // Asked again: one that came before the mark was made has not seen it.
    return successor;
  }

  private Outcome invalidateOlder(FileInUse file, HashedKey key) {
    try {
      file.invalidate(key.bytes);
      return Outcome.WAITS;
    } catch (StoreBusyException e) {
      return Outcome.BUSY;
    } catch (RuntimeException | InternalError e) {
      holder.fail(file, e);
      return Outcome.WAITS;
    }
  }

  /** Stores a value unless its key was changed since the ticket was taken. */
  void putIfCurrent(byte[] keyBytes, byte[] value, long created, long ticket) {
    boolean hasRoom = context.pending.hasRoom();
    if (holder.isOver()) {
      return;
    }
    if (!fits(keyBytes, value) || (holder.isOpening() && !hasRoom)) {
      writer.notStored(value.length);
      return;
    }
    HashedKey key = new HashedKey(keyBytes);
    boolean mayWrite = context.lock.tryLock();
    try {
      context.pending.change(
          key,
          (k, before) -> {
            if (!context.tickets.isCurrent(ticket)) {
              return before;
            }
            // In place of a put or removal that is queued, it must not become superseded: what
            // that one was to take away from the file would stay there.
            boolean conditional = before == null || before.conditional();
            PendingWrite write = new PendingWrite(value, created, conditional, ticket);
            FileInUse file = holder.file();
            return mayWrite && before == null && file != null && writer.writeAsItIs(file, k, write)
                ? null
                : write;
          });
    } finally {
      if (mayWrite) {
        context.lock.unlock();
      }
    }
    if (!context.pending.isEmpty()) {
      writeLater(key, hasRoom);
    }
  }

  /** Removes all values. */
  void clear() {
    holder.awaitOpenBriefly();
    context.counters.invalidated.increment();
    StoreChanges next = null;
    Generation cleared = null;
    FileInUse file = null;
    context.lock.lock();
    try {
      noteAllForImport();
      file = holder.file();
      if (file != null) {
        cleared = growth.clear(file);
      } else if (holder.isOpening()) {
        holder.clearWhenOpen();
      } else {
        next = lastSuccessor();
      }
      context.pending.clear();
    } catch (IOException | RuntimeException | InternalError e) {
      // The next file is empty too.
      holder.fail(holder.file(), e);
    } finally {
      // Last, and under the lock, so that no writer takes a write for valid that this supersedes.
      context.tickets.advanceAll();
      context.lock.unlock();
    }
    // Only now: who opens the file puts them aside before. While it is being opened, that is for
    // them.
    context.dropOtherVersions();
    if (cleared != null) {
      growth.unmapLater(file, cleared);
    }
    if (next != null) {
      next.clear();
    }
  }

  /**
   * Called while the file is not open yet, so that the older value of a key can't be invalidated:
   * makes sure that a crash before it is removed does not bring it back.
   */
  private void forgetOlderAfterCrash(HashedKey key) {
    context.lock.lock();
    try {
      if (holder.isOpening()) {
        holder.markEarly();
        return;
      }
    } finally {
      context.lock.unlock();
    }
    takeAway(key);
  }

  // ---- values from before

  /** Whether values may be imported; asked when the store was opened. */
  boolean mayImport() {
    return context.importGuard.mayImport() && holder.file() != null;
  }

  /** Nothing more is to be imported. */
  void endImport() {
    try {
      context.importGuard.end();
    } catch (IOException e) {
      context.faults.warn(e, "cannot note that all was imported; the next start looks again");
    }
  }

  /**
   * Imports a value from before the store was made. Whatever the store knows of a key wins: a value
   * that is there, one that is queued, and a change of which {@link ImportGuard} knows. Nothing is
   * evicted for what is imported.
   */
  ImportResult importValue(byte[] keyBytes, byte[] value, long created) {
    if (context.isTooOld(created)) {
      return ImportResult.TOO_OLD;
    }
    if (!fits(keyBytes, value)) {
      return ImportResult.TOO_LARGE;
    }
    HashedKey key = new HashedKey(keyBytes);
    ImportResult[] result = {ImportResult.OVER};
    context.lock.giveWay();
    context.lock.lock();
    try {
      FileInUse file = holder.file();
      if (file != null && context.importGuard.mayImport()) {
        context.pending.change(
            key,
            (k, before) -> {
              result[0] = before != null ? ImportResult.KNOWN : importInto(file, k, value, created);
              return before;
            });
      }
    } finally {
      context.lock.unlock();
    }
    return result[0];
  }

  private ImportResult importInto(FileInUse file, HashedKey key, byte[] value, long created) {
    if (context.importGuard.wasChanged(key.bytes)) {
      return ImportResult.KNOWN;
    }
    try {
      if (isThere(file, key)) {
        return ImportResult.KNOWN;
      }
      if (file.put(key.bytes, value, created, /* evict= */ false)) {
        if (file.isFilling() && !growth.request(file, 0)) {
          file.values().expectEviction();
        }
        return ImportResult.STORED;
      }
      boolean grows = growth.request(file, value.length);
      // Where it is not as large as it may be, there may be disk for that later.
      return grows || file.bytes() <= context.settings.maxBytes() / 2
          ? ImportResult.LATER
          : ImportResult.NO_ROOM;
    } catch (StoreBusyException e) {
      return ImportResult.LATER;
    } catch (RuntimeException | InternalError e) {
      holder.fail(file, e);
      return ImportResult.OVER;
    }
  }

  private static boolean isThere(FileInUse file, HashedKey key) {
    try {
      return file.read(key.bytes) != null;
    } catch (DamagedEntryException e) {
      // What is in its place is better.
      return false;
    }
  }
}
