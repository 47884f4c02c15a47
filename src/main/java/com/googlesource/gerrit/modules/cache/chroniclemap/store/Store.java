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
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A persistent map of byte strings for one cache: off-heap, on disk, bounded.
 *
 * <p>How it works: values live in one file, mapped into memory. A read looks at the writes that
 * wait, then copies the value out of the file under the lock of one segment. A put goes into the
 * file where nobody else is writing to it. Or else it invalidates the older value where it stands,
 * by one byte, and is handed to a writer thread; reads find it at once. A removal works the same
 * way. Opening runs in the background, so that a server's start does not wait for it.
 *
 * <p>What a caller may rely on:
 *
 * <ul>
 *   <li>{@link #read} returns the value last put, or none; never another one. What is damaged, of
 *       another version or too old is not found. Nothing here throws because of the disk: a store
 *       whose file fails finds nothing and stores nothing from then on.
 *   <li>When {@link #remove} or {@link #clear} returns, the values are gone from the file, and no
 *       crash brings them back. The same holds for the older value when {@link #put} returns. After
 *       the store was closed, each of them makes the next start begin with an empty file.
 *   <li>A value that {@link #putIfCurrent} stores was computed from data no older than the last
 *       change of its key.
 *   <li>Values put may be lost when the process is killed, or in the last moment before the store
 *       is closed, and leave when there is no room: those of least use first. One that left may be
 *       found again after a crash of the machine, also if another one was put by {@link
 *       #putIfCurrent} in its place since; and where that other one is lost at a kill or a close,
 *       the one before it is found, as nobody has changed its key.
 * </ul>
 *
 * <p>The parts behind this face: {@link FileHolder} is which file there is, {@link StoreLife} how
 * it comes and goes; {@link StoreChanges} change values and import those from before, and the
 * {@link StoreWriter} brings that to the file; {@link StoreGrowth} makes the file larger, {@link
 * StoreUpkeep} keeps it in order. {@link StoreContext} is what they share, {@link WriterLock} keeps
 * them apart.
 *
 * <p>All methods may be called from any thread. Keys and values are not copied: callers must not
 * change them afterwards.
 */
public final class Store {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How often a read looks again when the key is being changed. */
  private static final int READ_ATTEMPTS = 3;

  private final StoreContext context;
  private final FileHolder holder;
  private final StoreGrowth growth;
  private final StoreWriter writer;
  private final StoreLife life;
  private final StoreChanges changes;
  private final StoreUpkeep upkeep;

  /** Makes a store that is not open yet. */
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

  /** As {@link #read}, for a caller whose read a moment ago was counted. */
  public Value readAgain(byte[] key) {
    holder.awaitOpenBriefly();
    if (holder.isOver()) {
      // What still waits was changed since, perhaps: those changes are not noted any more.
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
        // Superseded or not, others may have read it: what is in the file is older.
        return waiting.value() == null || waiting.isSuperseded(context.tickets)
            ? null
            : new Value(waiting.value(), waiting.created());
      }
      StoredValue stored = findInFile(key);
      if (stored == null || !stored.isInvalidated()) {
        return stored == null ? null : new Value(stored.payload(), stored.created());
      }
      // The key is just being changed; the new value can be found in a moment.
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
      // A miss: whoever has the segment waits for the disk.
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
   * Removes a value from the file, if it still is too old or damaged now that nobody changes it.
   */
  private void dropIfUseless(byte[] key) {
    context.lock.lock();
    try {
      FileInUse file = holder.file();
      if (file != null && isUseless(file, key)) {
        file.drop(key);
      }
    } catch (StoreBusyException e) {
      // The next reader sees it again.
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
        // Now that nobody replaces it, it is. What was certain was counted by the reader.
        countDamaged(e);
      }
      return true;
    }
  }

  // ---- tickets

  /**
   * A ticket to take before computing a key's value from its source; see {@link #putIfCurrent}.
   *
   * @return a number that means nothing but to this store
   */
  public long ticket(byte[] key) {
    return context.tickets.current(HashedKey.hashOf(key));
  }

  /** Whether the key a ticket was taken for has not been put or removed since. */
  public boolean isCurrent(long ticket) {
    return context.tickets.isCurrent(ticket);
  }

  // ---- writing

  /**
   * Stores a value in place of any older one. On return the older one is not in the file any more;
   * the new one may still be on its way to it.
   *
   * @param created milliseconds since the epoch at which the value was made
   * @return a ticket that is current until the key is changed again
   */
  public long put(byte[] key, byte[] value, long created) {
    return changes.put(key, value, created);
  }

  /**
   * Removes a value. On return it is not in the file any more.
   *
   * @return a ticket that is current until the key is changed again
   */
  public long remove(byte[] key) {
    return changes.remove(key);
  }

  /**
   * Stores a value unless its key was put or removed since the ticket was taken. May leave it out
   * while the file is not open yet.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public void putIfCurrent(byte[] key, byte[] value, long created, long ticket) {
    changes.putIfCurrent(key, value, created, ticket);
  }

  /** Removes all values. On return they are not in the file any more. */
  public void clear() {
    changes.clear();
  }

  /** Writes what was queued when this was called; returns when it is in the file. */
  public void flush() {
    writer.flush();
  }

  // ---- values from before

  /**
   * Whether values that something else held before this store was made may be imported; to be asked
   * when it was opened. They may if it was opened for that, and its file was new then or nothing
   * was put into it or removed since it was, but for what was computed.
   */
  public boolean isImportable() {
    return changes.mayImport();
  }

  /**
   * Imports a value from before this store was made. What is there, and what was put or removed
   * since, wins; nothing is evicted for it.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public ImportResult importValue(byte[] key, byte[] value, long created) {
    return changes.importValue(key, value, created);
  }

  /**
   * Whether values may be imported: now, or when the file is open, or as far as is known while it
   * can't be noted that they may not. Asked before a read, so that a miss is followed by {@link
   * #readForGood}. Costs nothing.
   */
  public boolean isImporting() {
    return context.importGuard.isNoting();
  }

  /**
   * Reads a value once more that was not found: for a cache that must not come to have later what
   * somebody was told it does not have. None is imported for this key from here on.
   *
   * @return what was imported meanwhile; null if there is nothing
   */
  public Value readForGood(byte[] key) {
    HashedKey hashed = new HashedKey(key);
    changes.noteForImport(hashed);
    // Whoever was bringing it in when that was noted has done so after this.
    context.pending.await(hashed);
    return readAgain(key);
  }

  /** Says that no more values are imported, in this process or a later one. */
  public void endImport() {
    changes.endImport();
  }

  // ---- opening and closing

  /** Opens the file; returns how it was found when that is done or has failed. */
  StartReport open() {
    return life.open();
  }

  /** Returns when the file is open, or opening it has failed. */
  public void awaitOpened() throws InterruptedException {
    holder.awaitOpened();
  }

  /** As {@link #awaitOpened}; an interrupt is kept for later. */
  void awaitOpenedForever() {
    holder.awaitOpenedForever();
  }

  /** Makes a new file if the last one failed or none could be made. */
  void heal() {
    life.heal();
  }

  /** Writes what is queued, unmaps the file and marks it as whole. */
  void close() {
    life.close();
  }

  /**
   * As {@link #close}, for a store whose files another one may open in this process: nothing is
   * done to them after that.
   */
  void closeAndRelease() {
    life.close();
    life.release();
    // It may be making a file that the other one will want to make, too.
    growth.end();
  }

  /** After {@link #close}: see {@link StoreLife#release}. */
  void release() {
    life.release();
  }

  /** After {@link #close}: see {@link StoreLife#settle}. */
  void settle(AtomicBoolean ours) {
    life.settle(ours);
  }

  /**
   * As {@link #close}, for another store of the same files that is about to be opened: what is
   * changed here from then on is changed there.
   */
  void closeFor(Store other) {
    forwardTo(other);
    closeAndRelease();
  }

  /** What is changed here once this is closed is changed in another store of the same files. */
  void forwardTo(Store other) {
    changes.forwardTo(other.changes);
  }

  // ---- upkeep

  /**
   * Reads all entries from the file and checks them. Requests go on meanwhile; writes wait for
   * milliseconds at most. Where the thread is interrupted meanwhile, not all is checked.
   *
   * @param repair whether to rebuild the file without what is damaged, if anything is
   * @throws InterruptedException if the thread is interrupted while it waits
   */
  public VerifyReport verify(boolean repair, Progress progress) throws InterruptedException {
    return upkeep.verify(repair, progress);
  }

  /**
   * Makes the file as small as what it holds allows, without what is too old. Requests go on
   * meanwhile.
   */
  public CompactReport compact(Progress progress) throws InterruptedException {
    return upkeep.compact(progress);
  }

  /**
   * What is to be done now and then: makes a new file where there is none, and as {@link
   * #sweepExpired}, if the last time was long ago for the age that values may reach.
   */
  void sweepIfDue() {
    life.healIfDue();
    upkeep.sweepIfDue();
  }

  /** Takes away the values that are too old, segment by segment. */
  void sweepExpired() {
    upkeep.sweepExpired();
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
