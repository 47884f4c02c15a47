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
 * The changes of a store: puts, removals, clears and imports. When a put or removal returns, the
 * older value in the file is invalidated or replaced; {@link StoreWriter} writes what is queued.
 * {@link Store} says what each change promises.
 *
 * <p>Safe for any thread.
 */
final class StoreChanges {
  /** How long a change waits for a disk that does not respond. */
  private static final long BUSY_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final FileHolder holder;
  private final StoreContext context;
  private final StoreWriter writer;
  private final StoreGrowth growth;
  private final long maxValue;
  private final int maxKey;

  /** The changes of the store that uses the files now; null if there is none. */
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
      // Like a computed value: not noted, and the older value may stay until this one is written.
      long ticket = context.tickets.current(HashedKey.hashOf(keyBytes));
      putIfCurrent(keyBytes, value, created, ticket);
      return ticket;
    }
    return change(new HashedKey(keyBytes), PendingWrite.put(value, created));
  }

  /**
   * Makes later changes in another store, which is about to use the files, once this one is closed.
   * A user that still has this store, such as the old version of a plugin being replaced, thus
   * invalidates what both stores read.
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

  /** The state of a change when its key is unlocked, which decides what is left to do. */
  private enum Outcome {
    /** The change is in the file. */
    WRITTEN,
    /** The change is queued, and the older value is invalidated. */
    WAITS,
    /** The change is queued, but the disk was too busy to invalidate the older value. */
    BUSY,
    /** The change is queued until the file is open, which may hold an older value. */
    EARLY,
    /** There is no file any more, and nothing was queued. */
    OVER
  }

  /** A change of one key, which is one step with respect to other changes of that key. */
  private final class Change {
    private final PendingWrite write;
    private long ticket;
    private Outcome outcome;

    Change(PendingWrite write) {
      this.write = write;
    }

    void make(HashedKey key) {
      // Only tried, as a thread that waits for the lock would wait for the writes of others.
      boolean mayWrite = context.lock.tryLock();
      try {
        context.pending.change(
            key,
            (k, before) ->
                // A change that replaces a queued one is queued too: in the file, it could be read
                // before the queued one is gone.
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
      // Asked last, so that a file that came or went meanwhile is noticed.
      if (holder.isOver()) {
        outcome = Outcome.OVER;
      }
      // A write that stays queued when a file fails must not be found in the next file.
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

  /** Notes a change before it is made, so that no value is imported for its key afterwards. */
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
   * Ensures that the older value of a key is not found again, if it could not be invalidated
   * because the holder of its segment's lock waits for the disk.
   */
  private void takeAway(HashedKey key) {
    long begun = System.nanoTime();
    while (!writer.writeNow(key)) {
      if (System.nanoTime() - begun > BUSY_NANOS) {
        // The queued write hides the older value here, so only another process would find it.
        holder.markForDiscard();
        return;
      }
    }
  }

  /** Makes a change that came too late for this store in the one that uses the files now. */
  private void changeElsewhere(HashedKey key, PendingWrite write) {
    StoreChanges next = lastSuccessor();
    if (next != null) {
      var unused = next.change(key, write);
    }
  }

  /** Returns null if there is none; the files are then marked for the next start. */
  private StoreChanges lastSuccessor() {
    if (successor == null) {
      holder.forgetIfClosed();
    }
    // Read again: a store that was created before the mark was made has not seen the mark.
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
            // In place of a queued put or removal, a write must not be superseded: it would only be
            // dropped, and a crash could bring back what was to be invalidated.
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
      // The next file is empty as well.
      holder.fail(holder.file(), e);
    } finally {
      // Last and under the lock, so that no writer considers a write current that this supersedes.
      context.tickets.advanceAll();
      context.lock.unlock();
    }
    // Not before: a store puts these files aside while it opens, and deletes them itself if it is
    // cleared until then.
    context.dropOtherVersions();
    if (cleared != null) {
      growth.unmapLater(file, cleared);
    }
    if (next != null) {
      next.clear();
    }
  }

  /**
   * Ensures that a crash does not bring back the older value of a key that was changed before the
   * file was open, and so could not be invalidated.
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

  // ---- import

  /** Whether values may be imported; to be asked once the store is open. */
  boolean mayImport() {
    return context.importGuard.mayImport() && holder.file() != null;
  }

  /** Ends the import. */
  void endImport() {
    try {
      context.importGuard.end();
    } catch (IOException e) {
      context.faults.warn(e, "cannot note that all was imported; the next start looks again");
    }
  }

  /**
   * Imports a value that was held elsewhere before the store was created. Whatever the store knows
   * of the key wins: a value in the file, a queued one, or a change noted by {@link ImportGuard}.
   * Nothing is evicted for an import.
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
      // A file below its limit may still grow later, when the disk has room.
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
      // The imported value is better than a damaged one.
      return false;
    }
  }
}
