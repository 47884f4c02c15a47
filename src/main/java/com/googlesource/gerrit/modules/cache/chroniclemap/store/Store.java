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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.DamagedEntryException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoreBusyException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredValue;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.FileInUse;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.HashedKey;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.pending.PendingWrite;
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
 *       unless old values are {@link StoreSettings.OldValues#VALID}. Such a change of a closed
 *       store is made in the store that uses the files now. If there is none, the next start begins
 *       with an empty file.
 *   <li>A value that {@link #putIfCurrent} stores was computed from data no older than the last
 *       change of its key.
 *   <li>A value may be lost if the process is killed, or if the store is closed before the value is
 *       written. When there is no room, the values used least are evicted. An evicted value may be
 *       found again after a crash of the machine, even if {@link #putIfCurrent} has stored another
 *       one since. If a value that {@link #putIfCurrent} stored is lost at a kill or a close, the
 *       one before it is found, as the key was not changed.
 * </ul>
 *
 * <p>The parts: {@link FileHolder} holds the current file; {@link StoreLife} opens, replaces and
 * closes it. {@link StoreChanges} makes changes and imports values; {@link StoreWriter} writes the
 * queued ones to the file. {@link StoreGrowth} rebuilds the file in another size; {@link
 * StoreUpkeep} checks, compacts and sweeps it. {@link StoreContext} is what the parts share, and
 * {@link WriterLock} has them take turns.
 *
 * <p>All methods may be called from any thread. Keys and values are not copied: callers must not
 * change them afterwards.
 */
public final class Store {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often a read is tried while its key is being changed. */
  private static final int READ_ATTEMPTS = 3;

  private final StoreContext context;
  private final FileHolder holder;
  private final StoreGrowth growth;
  private final StoreWriter writer;
  final StoreLife life;
  private final StoreChanges changes;
  final StoreUpkeep upkeep;

  /** Creates a store whose file is not open yet. */
  Store(StoreContext context) {
    this.context = context;
    this.holder = new FileHolder(context, this::fileFailed);
    this.growth = new StoreGrowth(context, holder, this::writeSoon);
    this.writer = new StoreWriter(context, holder, growth);
    this.life = new StoreLife(context, holder, growth, writer);
    this.changes = new StoreChanges(context, holder, growth, writer);
    this.upkeep = new StoreUpkeep(context, holder, growth, writer);
  }

  private void fileFailed(FileInUse failed) {
    life.replaceLater(failed);
  }

  private void writeSoon() {
    writer.writeSoon();
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
    Value value = readAgain(key);
    context.usage.asked(key);
    (value != null ? context.counters.hits : context.counters.misses).increment();
    return value;
  }

  /** Like {@link #read}, for a caller whose read of a moment ago was counted. */
  public Value readAgain(byte[] key) {
    holder.awaitOpenBriefly();
    if (holder.isOver()) {
      // Queued writes may be out of date: changes are not noted any more.
      return null;
    }
    Value value = findNewest(key);
    if (value != null && context.isTooOld(value.created())) {
      context.counters.expired.increment();
      var unused = context.threads.write(() -> dropIfUseless(key));
      return null;
    }
    return value;
  }

  private Value findNewest(byte[] key) {
    for (int i = 0; i < READ_ATTEMPTS; i++) {
      PendingWrite waiting =
          context.pending.isEmpty() ? null : context.pending.get(new HashedKey(key));
      if (waiting != null) {
        // Even if it is superseded, others may have read it; the value in the file is older.
        return waiting.value() == null || waiting.isSuperseded(context.tickets)
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
    FileInUse file = holder.file();
    if (file == null) {
      return null;
    }
    try {
      return file.read(key);
    } catch (DamagedEntryException e) {
      if (e.isCertain()) {
        countDamaged(e);
      }
      var unused = context.threads.write(() -> dropIfUseless(key));
    } catch (StoreBusyException e) {
      // A miss: the holder of the segment's lock waits for the disk.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError e) {
      holder.fail(file, e);
    }
    return null;
  }

  private void countDamaged(DamagedEntryException e) {
    context.counters.damaged.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
        "Cache %s: a damaged entry was found and is dropped: %s",
        context.settings.name(), e.getMessage());
  }

  /**
   * Removes a value from the file if it is still too old or damaged, now that nobody changes it.
   */
  private void dropIfUseless(byte[] key) {
    context.lock.lock();
    try {
      FileInUse file = holder.file();
      if (file != null && isUseless(file, key)) {
        file.drop(key);
      }
    } catch (StoreBusyException e) {
      // The next read finds the value again.
      logger.atFine().withCause(e).log("Cache %s", context.settings.name());
    } catch (RuntimeException | InternalError e) {
      holder.fail(holder.file(), e);
    } finally {
      context.lock.unlock();
    }
  }

  private boolean isUseless(FileInUse file, byte[] key) {
    try {
      StoredValue value = file.read(key);
      return value != null && !value.isInvalidated() && context.isTooOld(value.created());
    } catch (DamagedEntryException e) {
      if (!e.isCertain()) {
        // Under the lock, no change in progress explains the damage. Certain damage was counted by
        // the reader.
        countDamaged(e);
      }
      return true;
    }
  }

  // ---- tickets

  /**
   * Returns a ticket, to be taken before a key's value is computed from its source; see {@link
   * #putIfCurrent}.
   *
   * @return a number that has a meaning for this store only
   */
  public long ticket(byte[] key) {
    return context.tickets.current(HashedKey.hashOf(key));
  }

  /** Whether the key of a ticket was not changed since. A change of another key may end it, too. */
  public boolean isCurrent(long ticket) {
    return context.tickets.isCurrent(ticket);
  }

  /**
   * Ends the tickets of a key without a change of the store.
   *
   * @return a ticket that is current until the key is changed
   */
  public long endTickets(byte[] key) {
    return context.tickets.advance(HashedKey.hashOf(key));
  }

  /**
   * Begins a change of a key that is made outside of the store. What {@link #ticket} returns until
   * its end is not current.
   *
   * @return for {@link #endChange}; also a ticket that is current until the key is changed again
   */
  public long beginChange(byte[] key) {
    return context.tickets.begin(HashedKey.hashOf(key));
  }

  /** Ends a change; to be called once for each {@link #beginChange}. */
  public void endChange(long ticket) {
    context.tickets.end(ticket);
  }

  /** Ends all tickets without a change of the store. */
  public void endAllTickets() {
    context.tickets.advanceAll();
  }

  // ---- writing

  /**
   * Stores a value in place of any older one. On return the older value is not found any more,
   * unless old values are {@link StoreSettings.OldValues#VALID}; the new one may still be queued.
   *
   * @param created milliseconds since the epoch at which the value was made
   * @return a ticket that is current until the key is changed again
   */
  public long put(byte[] key, byte[] value, long created) {
    return changes.put(key, value, created);
  }

  /**
   * Removes a value. On return it is not found any more.
   *
   * @return a ticket that is current until the key is changed again
   */
  public long remove(byte[] key) {
    return changes.remove(key);
  }

  /**
   * Stores a value unless its key was put or removed since the ticket was taken. While the file is
   * not open yet, the value may be dropped.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public void putIfCurrent(byte[] key, byte[] value, long created, long ticket) {
    changes.putIfCurrent(key, value, created, ticket);
  }

  /** Removes all values. On return they are not found any more. */
  public void clear() {
    changes.clear();
  }

  /** Writes all that is queued at the call; returns when it is in the file. */
  public void flush() {
    writer.flush();
  }

  // ---- import

  /**
   * Whether values that were held elsewhere before this store was created may be imported; to be
   * asked once the store is open. The {@link ImportMode} must allow it, and when the file was
   * opened it must have been new, or unchanged since its creation except by {@link #putIfCurrent}.
   */
  public boolean isImportable() {
    return changes.mayImport();
  }

  /**
   * Imports a value that was held elsewhere before this store was created. A value in the store
   * wins, and so does a put or removal since. Nothing is evicted for an import.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public ImportResult importValue(byte[] key, byte[] value, long created) {
    return changes.importValue(key, value, created);
  }

  /**
   * Whether values may be imported now or once the file is open. Also true while the import marker
   * cannot be deleted. To be asked before a read, so that a miss is followed by {@link
   * #readForGood}. Costs one volatile read.
   */
  public boolean isImporting() {
    return context.importGuard.isNoting();
  }

  /**
   * Reads a value that {@link #read} has not found, and prevents imports of its key from then on.
   * For a cache in which a key that was reported as missing must stay missing.
   *
   * @return what was imported meanwhile; null if there is nothing
   */
  public Value readForGood(byte[] key) {
    HashedKey hashed = new HashedKey(key);
    changes.noteForImport(hashed);
    // An import of this key that began before the key was noted has ended after this.
    context.pending.await(hashed);
    return readAgain(key);
  }

  /** Ends the import: no more values are imported, in this process or a later one. */
  public void endImport() {
    changes.endImport();
  }

  // ---- opening and closing

  /** Returns when the file is open, or opening it has failed. */
  public void awaitOpened() throws InterruptedException {
    holder.awaitOpened();
  }

  /** Like {@link #awaitOpened}, but not interruptible: an interrupt stays pending. */
  void awaitOpenedForever() {
    holder.awaitOpenedForever();
  }

  /**
   * Closes the store like {@link StoreLife#close}, and leaves its files alone afterwards, as
   * another store of this process may open them.
   */
  void closeAndRelease() {
    life.close();
    life.release();
    // A growth may be creating a file that the other store will create, too.
    growth.end();
  }

  /**
   * Closes the store like {@link #closeAndRelease}, for another store of the same files that is
   * about to be opened. Later changes of this store are made in the other one.
   */
  void closeFor(Store other) {
    forwardTo(other);
    closeAndRelease();
  }

  /**
   * Has later changes of this store, once it is closed, made in another store of the same files.
   */
  void forwardTo(Store other) {
    changes.forwardTo(other.changes);
  }

  // ---- upkeep

  /**
   * Reads and checks all entries of the file. Requests continue meanwhile; writes wait for
   * milliseconds at most. If the thread is interrupted meanwhile, not all entries are checked.
   *
   * @param repair whether to rebuild the file without its damaged entries, if there are any
   * @throws InterruptedException if the thread is interrupted while it waits
   */
  public VerifyReport verify(boolean repair, Progress progress) throws InterruptedException {
    return upkeep.verify(repair, progress);
  }

  /**
   * Makes the file as small as its values allow, without those that are too old. Requests continue
   * meanwhile.
   */
  public CompactReport compact(Progress progress) throws InterruptedException {
    return upkeep.compact(progress);
  }

  /** Runs the periodic upkeep: {@link StoreLife#healIfDue} and {@link StoreUpkeep#everyMinute}. */
  void everyMinute() {
    life.healIfDue();
    upkeep.everyMinute();
  }

  // ---- figures

  /** The store's figures. */
  public StoreStats stats() {
    FileInUse file = holder.file();
    StoreContext.Counters counters = context.counters;
    return new StoreStats(
        context.settings.name(),
        holder.state(),
        holder.report(),
        file == null ? 0 : file.values().entries(),
        file == null ? 0 : file.values().liveBytes(),
        file == null ? 0 : file.diskBytes(),
        context.settings.maxBytes(),
        counters.hits.sum(),
        counters.misses.sum(),
        counters.puts.sum(),
        counters.notStored.sum(),
        counters.damaged.sum(),
        counters.expired.sum(),
        counters.invalidated.sum(),
        counters.evictions.sum(),
        counters.growths.sum(),
        context.pending.count(),
        context.faults.count());
  }
}
