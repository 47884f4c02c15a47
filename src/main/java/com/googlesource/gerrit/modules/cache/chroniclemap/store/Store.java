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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.PendingWrites.PendingWrite;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable.Evict;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * A persistent map of byte strings for one cache: off-heap, on disk, of limited size.
 *
 * <p>How it works: values live in one file, mapped into memory. A read checks the queued writes
 * first, then copies the value out of the file under the lock of one segment. A put writes to the
 * file at once if no other thread is writing. Otherwise it invalidates the older value in place, by
 * one byte, and is queued for a writer thread; reads find the queued value at once. A removal works
 * the same way. The file is opened in the background, so that a server's start does not wait for
 * it.
 *
 * <p>What a caller may rely on:
 *
 * <ul>
 *   <li>{@link #read} returns the value last put, or none; never another one. A value that is
 *       damaged, of another version or too old is not found. No method throws because of the disk.
 *       A store whose file fails finds nothing and stores nothing until it has a new file.
 *   <li>When {@link #remove} or {@link #clear} returns, the values are not found any more, and no
 *       crash brings them back. The same holds for the older value when {@link #put} returns,
 *       unless old values are {@link StoreSettings.OldValues#PURE}. Such a change of a closed store
 *       is made in the store that uses the files now. If there is none, the next start begins with
 *       an empty file.
 *   <li>A value that {@link #putIfCurrent} stores was computed from data no older than the last
 *       change of its key.
 *   <li>A value may be lost if the process is killed, or if the store is closed before the value is
 *       written. When there is no room, the values used least are evicted. An evicted value may be
 *       found again after a crash of the machine, even if {@link #putIfCurrent} has stored another
 *       one since. If a value that {@link #putIfCurrent} stored is lost at a kill or a close, the
 *       one before it is found, as the key was not changed.
 * </ul>
 *
 * <p>The parts: {@link CurrentFile} opens, replaces and closes the file. {@link StoreWriter} writes
 * to it what is queued. {@link StoreUpkeep} checks, repairs and sweeps it. {@link StoreContext} is
 * what the parts share; its lock has them take turns.
 *
 * <p>All methods may be called from any thread. Keys and values are not copied: callers must not
 * change them afterwards.
 */
public final class Store {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often a read is tried while its key is being changed. */
  private static final int MAX_READ_ATTEMPTS = 3;

  final StoreContext context;
  final CurrentFile current;
  private final StoreWriter writer;
  final StoreUpkeep upkeep;

  private final long maxValue;
  private final int maxKey;

  /**
   * The store that uses the files now, in which later changes of this one are made once it is
   * closed; null if there is none. A user that still has this store, such as the old version of a
   * plugin being replaced, thus invalidates what both stores read.
   */
  volatile Store successor;

  /** How many users share it. Guarded by the {@link StoreDirectory}. */
  int users;

  /** Creates a store whose file is not open yet. */
  Store(StoreContext context) {
    this.context = context;
    this.current = new CurrentFile(context);
    this.writer = current.writer;
    this.maxValue = context.settings.maxValue();
    this.maxKey = context.settings.maxKey();
    this.upkeep = new StoreUpkeep(context, current);
  }

  /** Name of the cache. */
  public String name() {
    return context.settings.name();
  }

  // ---- reading

  /**
   * Reads a value.
   *
   * @return null if there is none
   */
  public Value read(byte[] key) {
    Value value = readUncounted(key);
    context.usage.asked(key);
    (value != null ? context.counts.hits : context.counts.misses).increment();
    return value;
  }

  /** Like {@link #read}, for a caller whose read of a moment ago was counted. */
  public Value readUncounted(byte[] key) {
    boolean mustStayMissing = false;
    boolean isOver = false;
    if (current.file() == null) {
      current.awaitOpenBriefly();
      // Asked before the value, which may arrive at any time.
      mustStayMissing = context.isSeedAwaited;
      // Then queued writes may be out of date: changes are not noted any more.
      isOver = current.isOver();
    }
    Value value = isOver ? null : findNewest(key);
    // Unless the process ends: the next one begins with the whole seed again.
    if (value == null && mustStayMissing && !context.isClosing) {
      remove(key);
    }
    if (value != null && context.isTooOld(value.created())) {
      context.counts.expired.increment();
      var unused = context.threads.write(() -> dropIfExpiredOrDamaged(key));
      return null;
    }
    return value;
  }

  private Value findNewest(byte[] key) {
    for (int i = 0; i < MAX_READ_ATTEMPTS; i++) {
      PendingWrite waiting =
          context.pending.isEmpty() ? null : context.pending.get(new HashedKey(key));
      if (waiting != null) {
        // Even if it is superseded, others may have read it; the value in the file is older.
        return waiting.value() == null || waiting.isSuperseded(context.tickets.removals.get())
            ? null
            : new Value(waiting.value(), waiting.created());
      }
      StoredValue stored = findInFile(key);
      if (stored == null || !stored.isInvalidated()) {
        return stored == null ? null : new Value(stored.payload(), stored.created());
      }
      // Another thread is changing the key; the new value can be found in a moment.
      context.pending.await(new HashedKey(key));
    }
    return null;
  }

  private StoredValue findInFile(byte[] key) {
    StoreFile file = current.file();
    try {
      return file == null ? null : file.values.read(key);
    } catch (DamagedEntryException e) {
      var unused = context.threads.write(() -> dropIfExpiredOrDamaged(key));
    } catch (StoreBusyException e) {
      // A miss: the holder of the segment's lock waits for the disk.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError | LinkageError e) {
      current.fail(file, e);
    }
    return null;
  }

  /**
   * Removes a value from the file if it is still too old or damaged, now that nobody changes it.
   */
  private void dropIfExpiredOrDamaged(byte[] key) {
    context.lock.lock();
    try {
      StoreFile file = current.file();
      if (file == null) {
        return;
      }
      try {
        StoredValue value = file.values.read(key);
        if (value != null && !value.isInvalidated() && context.isTooOld(value.created())) {
          file.values.remove(key);
        }
      } catch (DamagedEntryException e) {
        // Under the lock, no change in progress explains the damage.
        file.values.remove(key);
        var unused = file.noteDamaged(1, 1, /* isAll= */ false);
        logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
            "Cache %s: a damaged entry was found and is dropped: %s",
            context.settings.name(), e.getMessage());
      }
    } catch (StoreBusyException e) {
      // The next read finds the value again.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError | LinkageError e) {
      current.fail(current.file(), e);
    } finally {
      context.lock.unlock();
    }
  }

  // ---- tickets

  /**
   * Takes a ticket, which must be done before a key's value is computed from its source; see {@link
   * #putIfCurrent}. The caller closes it.
   */
  public Ticket ticket(byte[] key) {
    return context.tickets.take(new HashedKey(key));
  }

  /** Begins a change of a key that is not made in the store. The caller closes the ticket. */
  public Ticket beginChange(byte[] key) {
    return context.tickets.begin(new HashedKey(key));
  }

  /** Ends all tickets, and those that are taken before {@link #endRemoval}. */
  public void beginRemoval() {
    context.tickets.beginRemoval();
  }

  /** Ends a removal of all values; to be called once for each {@link #beginRemoval}. */
  public void endRemoval() {
    context.tickets.endRemoval();
  }

  // ---- writing

  /**
   * Stores a value in place of any older one. On return the older value is not found any more,
   * unless old values are {@link StoreSettings.OldValues#PURE}; the new one may still be queued.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public void put(byte[] keyBytes, byte[] value, long created) {
    beginPut(keyBytes, value, created).close();
  }

  /** Like {@link #put}; the caller ends the change by closing its ticket. */
  public Ticket beginPut(byte[] keyBytes, byte[] value, long created) {
    if (context.settings.oldValues() == OldValues.PURE) {
      // Like a computed value: not noted, and the older value may stay until this one is written.
      Ticket ticket = ticket(keyBytes);
      putIfCurrent(keyBytes, value, created, ticket);
      return ticket;
    }
    return change(new HashedKey(keyBytes), PendingWrite.put(value, created));
  }

  /** Removes a value. On return it is not found any more. */
  public void remove(byte[] keyBytes) {
    beginRemove(keyBytes).close();
  }

  /** Like {@link #remove}; the caller ends the change by closing its ticket. */
  public Ticket beginRemove(byte[] keyBytes) {
    context.counts.invalidated.increment();
    return change(new HashedKey(keyBytes), PendingWrite.remove());
  }

  /**
   * Stores a value unless its key was put or removed since the ticket was taken. While the file is
   * not open yet, the value may be dropped.
   *
   * @param value null, or too large, if it cannot be stored: then an older one, in whose place it
   *     was computed, is not found again, unless old values are {@link
   *     StoreSettings.OldValues#PURE}
   * @param created milliseconds since the epoch at which the value was made
   */
  public void putIfCurrent(byte[] keyBytes, byte[] value, long created, Ticket ticket) {
    boolean hasRoom = context.pending.hasRoom(value == null ? 0 : value.length);
    if (current.isOver()) {
      return;
    }
    boolean isRefused = value == null || refuse(keyBytes, value);
    if (isRefused && (context.settings.oldValues() == OldValues.PURE || !contains(keyBytes))) {
      return;
    }
    HashedKey key = new HashedKey(keyBytes);
    boolean mayWrite = context.lock.tryLock();
    try {
      context.pending.change(
          key,
          (k, before) -> {
            if (ticket.hasEnded()) {
              return before;
            }
            // In place of a queued put or removal, a write must not be superseded: it would only be
            // dropped, and a crash could bring back what was to be invalidated.
            boolean conditional = before == null || before.conditional();
            PendingWrite write =
                new PendingWrite(isRefused ? null : value, created, conditional, ticket.removals);
            StoreFile file = current.file();
            return mayWrite
                    && before == null
                    && file != null
                    && writer.apply(file, k, write, /* mayEvict= */ false)
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

  /** Removes all values. On return they are not found any more. */
  public void clear() {
    context.counts.flushes.increment();
    current.awaitOpenBriefly();
    context.counts.invalidated.increment();
    Store next = null;
    StoreFile file = null;
    context.lock.lock();
    try {
      file = current.file();
      if (file != null) {
        file.clear();
        upkeep.sweep();
      } else if (current.isOpening()) {
        current.clearWhenOpen();
      } else if (successor != null || current.noteMissed(/* all= */ true)) {
        // Read again: a store that was created before the mark was made has not seen the mark.
        next = successor;
      }
      context.pending.clear();
    } catch (IOException | RuntimeException | InternalError | LinkageError e) {
      current.fail(file, e);
    } finally {
      if (file != null && current.file() == null) {
        // It failed meanwhile, perhaps by another thread.
        boolean unused = current.noteMissed(/* all= */ true);
      }
      // Last: T1 would end the tickets, T2 take a new one and read what T1 is about to remove.
      // Under the lock: T1 would unlock, T2 write what was computed before, T1 end the tickets.
      context.tickets.endAll();
      context.lock.unlock();
    }
    if (next != null) {
      next.clear();
    }
  }

  /** Writes all that is queued at the call; returns when it is in the file. */
  public void flush() {
    writer.flush();
  }

  // ---- the note

  /** Reads the note that is kept beside the values and is lost with them; null if there is none. */
  public Value note() {
    return readUncounted(StoredKey.NOTE);
  }

  /** Replaces the note, which counts as no value and is not evicted. */
  public void setNote(byte[] note) {
    put(StoredKey.NOTE, note, System.currentTimeMillis());
  }

  // ---- values of others

  /**
   * Takes in a value that another server has computed, unless the key has one, or was changed since
   * the ticket was taken. It may take the place of values that nobody has asked for, and of no
   * others. Only for a store whose old values are {@link StoreSettings.OldValues#PURE}.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public ImportResult putIfAbsent(byte[] keyBytes, byte[] value, long created, Ticket ticket) {
    if (context.isTooOld(created)) {
      return ImportResult.TOO_OLD;
    }
    if (!fits(keyBytes, value)) {
      return ImportResult.TOO_LARGE;
    }
    ImportResult[] result = {ImportResult.OVER};
    context.yieldToWaiters();
    context.lock.lock();
    try {
      StoreFile file = current.file();
      if (file != null && context.settings.oldValues() == OldValues.PURE) {
        context.pending.change(
            new HashedKey(keyBytes),
            (key, before) -> {
              if (before != null || isThere(file, keyBytes)) {
                result[0] = ImportResult.KNOWN;
              } else if (!ticket.hasEnded()) {
                result[0] =
                    writer.put(file, key, value, created, Evict.NEVER_USED)
                        ? ImportResult.STORED
                        : ImportResult.NO_ROOM;
              }
              return before;
            });
      }
    } catch (StoreBusyException e) {
      // Left out, and computed here when it is needed.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError | LinkageError e) {
      current.fail(current.file(), e);
    } finally {
      context.lock.unlock();
    }
    return result[0];
  }

  /** Whether there is a file, which may fail at any time. */
  public boolean isOpen() {
    return current.file() != null;
  }

  /** Notes that a value is in use, though nobody has to read it from this store. */
  public void used(byte[] key) {
    context.usage.asked(key);
  }

  /** Whether there is a value, for a caller whom a wrong answer would cost some work only. */
  public boolean contains(byte[] key) {
    Value value = current.isOver() ? null : findNewest(key);
    return value != null && !context.isTooOld(value.created());
  }

  private boolean isThere(StoreFile file, byte[] key) {
    try {
      StoredValue there = file.values.read(key);
      return there != null && (there.isInvalidated() || !context.isTooOld(there.created()));
    } catch (DamagedEntryException e) {
      // The new value is better than a damaged one.
      return false;
    }
  }

  // ---- how a change is made

  private boolean fits(byte[] key, byte[] value) {
    return key.length <= maxKey && value.length <= maxValue;
  }

  /** Whether a value can neither be written nor queued; counts and logs it then. */
  private boolean refuse(byte[] key, byte[] value) {
    boolean fits = fits(key, value);
    if (fits && (!current.isOpening() || context.pending.hasRoom(0))) {
      return false;
    }
    writer.notStored(
        value.length,
        fits
            ? "its file is still being opened, and too many writes are queued"
            : writer.overLimit(value.length));
    return true;
  }

  /** The state of a change when its key is unlocked, which decides what is left to do. */
  private enum Outcome {
    /** The change is in the file. */
    WRITTEN,
    /** The change is queued, and the older value is invalidated. */
    QUEUED,
    /** The change is queued; an older value stays in a file that is busy, or not open yet. */
    OLDER_LEFT,
    /** There is no file for now or for good, and nothing was queued. */
    NO_FILE
  }

  /** A change of one key, which is one step with respect to other changes of that key. */
  private final class Change {
    private final PendingWrite write;
    private Ticket ticket;
    private Outcome outcome;

    Change(PendingWrite write) {
      this.write = write;
    }

    /** Makes it while the key is locked; returns what is queued for the key from now on. */
    PendingWrite make(HashedKey key, boolean mayWrite) {
      ticket = context.tickets.begin(key);
      StoreFile file;
      do {
        file = current.file();
        if (mayWrite && file != null && writer.apply(file, key, write, /* mayEvict= */ false)) {
          outcome = Outcome.WRITTEN;
        } else {
          outcome = file == null ? Outcome.OLDER_LEFT : invalidateOlder(file, key);
        }
        // If the file failed meanwhile, it may miss the change.
      } while (current.file() != file);
      // Last: T1 finds no file, T2 gives the opening up and drops what is queued, T1 queues.
      if (current.isOver()) {
        outcome = Outcome.NO_FILE;
      }
      // A write that stays queued when a file fails must not be found in the next file.
      return outcome == Outcome.NO_FILE || outcome == Outcome.WRITTEN ? null : write;
    }
  }

  private Ticket change(HashedKey key, PendingWrite write) {
    if (!isOpen()) {
      current.awaitOpenBriefly();
    }
    boolean hasRoom =
        write.value() == null
            ? context.pending.hasRoomToRemove()
            : context.pending.hasRoom(write.value().length);
    PendingWrite fitting = write;
    if (write.value() != null && refuse(key.bytes, write.value())) {
      fitting = PendingWrite.remove();
    }
    Change change = new Change(fitting);
    // Only tried, as a thread that waits for the lock would wait for the writes of others.
    boolean mayWrite = context.lock.tryLock();
    try {
      try {
        // A change that replaces a queued one is queued too: in the file, it could be read before
        // the queued one is gone.
        context.pending.change(key, (k, before) -> change.make(k, mayWrite && before == null));
      } finally {
        if (mayWrite) {
          context.lock.unlock();
        }
      }
      finish(change, key, write, hasRoom);
      return change.ticket;
    } catch (RuntimeException | Error e) {
      if (change.ticket != null) {
        change.ticket.close();
      }
      throw e;
    }
  }

  private void finish(Change change, HashedKey key, PendingWrite write, boolean hasRoom) {
    Outcome outcome = change.outcome;
    if (outcome == Outcome.OLDER_LEFT && !forgetOlderAfterCrash(key)) {
      outcome = Outcome.NO_FILE;
    }
    if (outcome == Outcome.QUEUED || outcome == Outcome.OLDER_LEFT) {
      // Of the last, the write itself may still be queued.
      writeLater(key, hasRoom);
    }
    if (outcome == Outcome.NO_FILE) {
      if (successor == null && !current.noteMissed(/* all= */ false)) {
        change(key, write).close();
        return;
      }
      Store next = successor; // read again, as in clear
      if (next != null) {
        next.change(key, write).close();
      }
    } else if (context.settings.oldValues() == OldValues.SECRET) {
      current.force(/* all= */ false);
    }
  }

  private void writeLater(HashedKey key, boolean hasRoom) {
    if (hasRoom) {
      writer.writeSoon();
    } else {
      boolean unused = writer.write(key);
    }
  }

  private Outcome invalidateOlder(StoreFile file, HashedKey key) {
    try {
      file.values.invalidate(key.bytes);
      return Outcome.QUEUED;
    } catch (StoreBusyException e) {
      return Outcome.OLDER_LEFT;
    } catch (RuntimeException | InternalError | LinkageError e) {
      current.fail(file, e);
      return Outcome.QUEUED;
    }
  }

  /**
   * Ensures that a crash does not bring back the older value of a key that was changed before the
   * file was open or while the holder of its segment's lock waited for the disk, and so could not
   * be invalidated. The queued write hides that value from this process.
   *
   * @return false if there is no file, for now or for good
   */
  private boolean forgetOlderAfterCrash(HashedKey key) {
    context.lock.lock();
    try {
      boolean isOpening = current.isOpening();
      boolean isWritten = !isOpening && writer.write(key);
      if (isOpening && !context.pending.hasRoomToRemove()) {
        // However long the opening takes, the queue is bounded.
        current.clearWhenOpen();
        context.pending.clear();
      } else if (!isWritten && context.settings.oldValues() != OldValues.PURE) {
        current.markEarly();
      }
      return !current.isOver();
    } finally {
      context.lock.unlock();
    }
  }

  // ---- opening and closing

  /** Returns when the file is open, or opening it has failed. */
  public void awaitOpened() throws InterruptedException {
    current.opened.await();
  }

  /**
   * Closes the store like {@link CurrentFile#close}, and leaves its files alone afterwards, as
   * another store of this process may open them.
   */
  void closeAndRelease() {
    current.close();
    current.release();
  }

  // ---- upkeep

  /**
   * Reads and checks all entries of the file. Requests continue meanwhile; writes wait for
   * milliseconds at most. If the thread is interrupted meanwhile, not all entries are checked.
   *
   * @param repair whether to drop the damaged entries
   * @throws InterruptedException if the thread is interrupted before the file is open
   */
  public VerifyReport verify(boolean repair, Progress progress) throws InterruptedException {
    return upkeep.verify(repair, progress);
  }

  /**
   * Runs the periodic upkeep: {@link CurrentFile#heal}, which takes long with a seed, and {@link
   * StoreUpkeep#everyMinute}. Writes what is queued, as it may have waited for the disk.
   */
  void everyMinute() {
    if (context.seed.isEmpty() || !context.threads.fill(current::heal)) {
      current.heal();
    }
    writer.writeSoon();
    upkeep.everyMinute();
  }

  // ---- figures

  /** How the file was found when it was opened last. Each opening has a report of its own. */
  public StartReport start() {
    return current.report();
  }

  /** The store's figures. Their cost grows with the file's segments. */
  public StoreStats stats() {
    StoreFile file = current.file();
    return new StoreStats(
        current.state(),
        current.report(),
        context.counts.copy(),
        file == null ? 0 : file.values.entries(),
        file == null ? 0 : file.values.liveBytes(),
        file == null ? 0 : file.values.map.diskBytes(),
        context.settings.maxBytes(),
        context.pending.count(),
        file == null ? 0 : file.unrepaired(),
        context.usage.keysInUse());
  }
}
