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
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A persistent map of byte strings for one cache: off-heap, on disk, bounded.
 *
 * <p>How it works: values live in one file, mapped into memory. A read looks at the writes that
 * wait, then copies the value out of the file under the lock of one segment. A put is handed to a
 * writer thread and found by reads at once; the writers of one store take turns, because
 * Chronicle-Map's own locks spin. Opening runs in the background, so that a server's start does not
 * wait for it.
 *
 * <p>What a caller may rely on:
 *
 * <ul>
 *   <li>{@link #read} returns the value last put, or none; never another one. What is damaged, of
 *       another version or too old is not found. Nothing here throws because of the disk: a store
 *       whose file fails finds nothing and stores nothing from then on.
 *   <li>When {@link #remove} or {@link #clear} returns, the values are gone from the file, and no
 *       crash brings them back. The same holds for the older value when {@link #put} returns.
 *   <li>A value that {@link #putIfCurrent} stores was computed from data no older than the last
 *       change of its key.
 *   <li>Values put may be lost when the process is killed, and when there is no room.
 * </ul>
 *
 * <p>All methods may be called from any thread. Keys and values are not copied: callers must not
 * change them afterwards.
 */
public final class Store {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Heap that waiting writes of one store may take; beyond it, putters write themselves. */
  private static final long MAX_PENDING_BYTES = 16 << 20;

  private static final long GIVE_WAY_NANOS = 20_000;

  /** How long, from the store's making, a caller may wait for the file to be opened. */
  private static final long OPEN_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final StoreSettings settings;
  private final StoreFiles files;
  private final boolean sameBoot;

  /** Whether the files must not be used: noted before anyone could ask for it in this run. */
  private final boolean discarded;

  private final Executor background;
  private final StoreGrowth growth;
  private final long openDeadline = System.nanoTime() + OPEN_WAIT_NANOS;
  private final long maxAgeMillis;
  private final long maxValue;

  private final Tickets tickets = new Tickets();
  private final PendingWrites pending = new PendingWrites();
  private final StoreCounters counters = new StoreCounters();
  private final CountDownLatch opened = new CountDownLatch(1);
  private final AtomicBoolean draining = new AtomicBoolean();
  private final AtomicBoolean failed = new AtomicBoolean();
  private final BusyCount busy = new BusyCount();

  /**
   * Held by whoever writes to {@link #file}. Not fair: handing it over in order costs a switch of
   * threads for each put, several times the put itself.
   */
  private final ReentrantLock writer = new ReentrantLock();

  /** Invalidations that wait for {@link #writer}; see {@link #giveWay}. */
  private final AtomicInteger urgent = new AtomicInteger();

  private volatile StoreState state = StoreState.OPENING;
  private volatile StartReport start = StartReport.PENDING;

  /** Null unless the state is READY. */
  private volatile Generations file;

  /** The key whose waiting write is being applied; null most of the time. */
  private volatile HashedKey writing;

  /** Whether all values were removed before the file was open. Guarded by {@link #writer}. */
  private boolean clearWhenOpen;

  /**
   * Makes a store that is not open yet.
   *
   * @param sameBoot whether the machine has run on since the files were last used
   */
  Store(StoreSettings settings, StoreFiles files, boolean sameBoot, Executor background) {
    this.settings = settings;
    this.files = files;
    this.sameBoot = sameBoot;
    this.discarded = Files.exists(files.discardMarker());
    this.background = background;
    this.maxAgeMillis = settings.maxAge().map(age -> age.toMillis()).orElse(Long.MAX_VALUE);
    this.maxValue = StoreOpener.maxValue(settings);
    this.growth = new StoreGrowth(settings, writer, counters, new GrowthHost());
  }

  private final class GrowthHost implements StoreGrowth.Host {
    @Override
    public boolean inBackground(Runnable task) {
      return Store.this.inBackground(task);
    }

    @Override
    public boolean uses(Generations generations) {
      return file == generations;
    }

    @Override
    public void giveWay() {
      Store.this.giveWay();
    }

    @Override
    public void grown() {
      writeSoon();
    }

    @Override
    public void fail(Throwable cause) {
      Store.this.fail(cause);
    }
  }

  /** Name of the cache. */
  public String name() {
    return settings.name();
  }

  // ---- opening

  /** Opens the file; returns how it was found when that is done or has failed. */
  StartReport open() {
    try {
      takeOver(new StoreOpener(settings, files, sameBoot, discarded).open());
    } catch (IOException | RuntimeException | Error e) {
      giveUp(e);
    } finally {
      opened.countDown();
    }
    return start;
  }

  private void takeOver(StoreOpener.Opened result) {
    writer.lock();
    try {
      start = result.report();
      if (state != StoreState.OPENING) {
        result.generation().unmap();
        return;
      }
      Generations opening = new Generations(settings, files, result.generation());
      if (clearWhenOpen) {
        opening.clear();
      }
      file = opening;
      state = StoreState.READY;
      // Applied before anyone else writes: after that the marker is not needed any more.
      writeAllWaiting();
      if (state == StoreState.READY) {
        removeDiscardMarker();
      }
    } finally {
      writer.unlock();
    }
  }

  private void giveUp(Throwable cause) {
    writer.lock();
    try {
      start = new StartReport(StartReport.Kind.NONE, StoreOpener.reasonOf(cause), 0, 0, 0);
      if (state == StoreState.OPENING) {
        state = StoreState.FAILED;
      }
      pending.clear();
    } finally {
      writer.unlock();
    }
    logger.atFine().withCause(cause).log("Cache %s has no file", settings.name());
  }

  private void removeDiscardMarker() {
    try {
      Files.deleteIfExists(files.discardMarker());
    } catch (IOException e) {
      logger.atWarning().withCause(e).log(
          "Cache %s will start empty: cannot delete %s", settings.name(), files.discardMarker());
    }
  }

  /** Returns when the file is open, or opening it has failed. */
  public void awaitOpened() throws InterruptedException {
    opened.await();
  }

  /** Waits for the file to be opened, for a short while after the store was made. */
  private void awaitOpen() {
    if (state == StoreState.OPENING) {
      try {
        long nanos = openDeadline - System.nanoTime();
        if (nanos > 0) {
          var unused = opened.await(nanos, TimeUnit.NANOSECONDS);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  // ---- reading

  /**
   * Reads a value.
   *
   * @return null if there is none
   */
  public Value read(byte[] key) {
    Value value = find(key);
    (value != null ? counters.hits : counters.misses).increment();
    return value;
  }

  private Value find(byte[] key) {
    awaitOpen();
    if (isOver()) {
      // What still waits was changed since, perhaps: those changes are not noted any more.
      return null;
    }
    long now = System.currentTimeMillis();
    PendingWrite waiting = pending.isEmpty() ? null : pending.get(new HashedKey(key));
    Value value;
    if (waiting == null || waiting.isVoid(tickets)) {
      value = findInFile(key, now);
    } else {
      value = waiting.value() == null ? null : new Value(waiting.value(), waiting.created());
    }
    if (value != null && now - value.created() > maxAgeMillis) {
      counters.expired.increment();
      inBackground(() -> removeIf(key, this::isExpired));
      return null;
    }
    return value;
  }

  private Value findInFile(byte[] key, long now) {
    Generations generations = file;
    if (generations == null) {
      return null;
    }
    try {
      return generations.read(key, now);
    } catch (DamagedEntryException e) {
      counters.damaged.increment();
      logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
          "Cache %s: a damaged entry was found and is dropped: %s",
          settings.name(), e.getMessage());
      inBackground(() -> removeIf(key, this::isDamaged));
    } catch (StoreBusyException e) {
      // A miss; unless it goes on, then the lock is held for ever.
      if (busy.isTooMuch()) {
        fail(e);
      }
    } catch (RuntimeException | InternalError e) {
      fail(e);
    }
    return null;
  }

  private interface FileCheck {
    boolean holds(Generations generations, byte[] key) throws DamagedEntryException;
  }

  private boolean isExpired(Generations generations, byte[] key) throws DamagedEntryException {
    long now = System.currentTimeMillis();
    Value value = generations.read(key, now);
    return value != null && now - value.created() > maxAgeMillis;
  }

  private boolean isDamaged(Generations generations, byte[] key) throws DamagedEntryException {
    var unused = generations.read(key, System.currentTimeMillis());
    return false;
  }

  /** Removes a value from the file, if under the writer's lock it still is what a reader saw. */
  private void removeIf(byte[] key, FileCheck check) {
    writer.lock();
    try {
      Generations generations = file;
      if (generations != null && holds(check, generations, key)) {
        generations.remove(key);
      }
    } catch (RuntimeException | InternalError e) {
      fail(e);
    } finally {
      writer.unlock();
    }
  }

  private static boolean holds(FileCheck check, Generations generations, byte[] key) {
    try {
      return check.holds(generations, key);
    } catch (DamagedEntryException e) {
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
    return tickets.current(HashedKey.hashOf(key));
  }

  /** Whether the key a ticket was taken for has not been put or removed since. */
  public boolean isCurrent(long ticket) {
    return tickets.isCurrent(ticket);
  }

  // ---- writing

  /**
   * Stores a value in place of any older one. On return the older one is not in the file any more;
   * the new one may still be on its way to it.
   *
   * @param created milliseconds since the epoch at which the value was made
   * @return a ticket that is current until the key is changed again
   */
  public long put(byte[] keyBytes, byte[] value, long created) {
    HashedKey key = new HashedKey(keyBytes);
    awaitOpen();
    if (isOver()) {
      return tickets.advance(key.hash);
    }
    if (value.length > maxValue) {
      countNotStored(value.length);
      return drop(key);
    }
    boolean roomLeft = hasRoom();
    long[] ticket = new long[1];
    try {
      pending.change(
          key,
          (k, before) -> {
            ticket[0] = tickets.begin(k.hash);
            return state == StoreState.OPENING && !roomLeft
                ? PendingWrite.remove()
                : PendingWrite.put(value, created);
          });
    } finally {
      if (ticket[0] != 0) {
        tickets.end(ticket[0]);
      }
    }
    if (state == StoreState.OPENING) {
      forgetOlderAfterCrash(key);
    } else if (!roomLeft) {
      writeOrDrop(key);
    } else if (key.equals(writing) || isInFile(keyBytes)) {
      // An older value is, or is just being, written to the file: it must be gone on return.
      var unused = writeNow(key);
    } else {
      writeSoon();
    }
    return ticket[0];
  }

  /**
   * Stores a value unless its key was put or removed since the ticket was taken. May leave it out
   * while there are too many writes to do.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public void putIfCurrent(byte[] keyBytes, byte[] value, long created, long ticket) {
    boolean roomLeft = hasRoom();
    if (isOver() || (state == StoreState.OPENING && !roomLeft)) {
      return;
    }
    if (value.length > maxValue) {
      countNotStored(value.length);
      return;
    }
    HashedKey key = new HashedKey(keyBytes);
    pending.change(
        key,
        (k, before) ->
            // In place of a put or removal that waits, it must not become void: what that one was
            // to replace in the file would stay there.
            tickets.isCurrent(ticket)
                ? new PendingWrite(value, created, before == null || before.conditional(), ticket)
                : before);
    if (roomLeft) {
      writeSoon();
    } else {
      writeOrDrop(key);
    }
  }

  /** Removes a value. On return it is not in the file any more. */
  public void remove(byte[] key) {
    awaitOpen();
    counters.invalidated.increment();
    var unused = drop(new HashedKey(key));
  }

  /** Removes a value; returns a ticket that is current until the key is changed again. */
  private long drop(HashedKey key) {
    lockFirst();
    try {
      if (state == StoreState.OPENING) {
        pending.change(
            key,
            (k, before) -> {
              // Or else a load with an older ticket could replace what waits here.
              var unused = tickets.advance(k.hash);
              return PendingWrite.remove();
            });
        markForDiscard();
      } else {
        Generations generations = file;
        if (generations != null) {
          generations.remove(key.bytes);
        }
        pending.change(key, (k, before) -> null);
      }
      // Last: whoever took a ticket before may still have read the value. Under the lock, so that
      // no writer takes a write for valid that this makes void.
      return tickets.advance(key.hash);
    } catch (RuntimeException | InternalError e) {
      fail(e);
      return tickets.advance(key.hash);
    } finally {
      writer.unlock();
    }
  }

  /** Removes all values. On return they are not in the file any more. */
  public void clear() {
    awaitOpen();
    counters.invalidated.increment();
    lockFirst();
    try {
      Generations generations = file;
      if (generations != null) {
        generations.clear();
      } else if (state == StoreState.OPENING) {
        clearWhenOpen = true;
        markForDiscard();
      }
      pending.clear();
    } catch (RuntimeException | InternalError e) {
      fail(e);
    } finally {
      // Last, and under the lock, as in drop.
      tickets.advanceAll();
      writer.unlock();
    }
  }

  private boolean isOver() {
    return state == StoreState.FAILED || state == StoreState.CLOSED;
  }

  private boolean hasRoom() {
    return pending.bytes() < MAX_PENDING_BYTES;
  }

  private boolean isInFile(byte[] key) {
    Generations generations = file;
    try {
      return generations != null && generations.contains(key);
    } catch (RuntimeException | InternalError e) {
      fail(e);
      return false;
    }
  }

  /**
   * Called while the file is not open yet, so that the older value of a key can't be removed: makes
   * sure that a crash before it is removed does not bring it back.
   */
  private void forgetOlderAfterCrash(HashedKey key) {
    writer.lock();
    try {
      if (state == StoreState.OPENING) {
        markForDiscard();
      } else {
        writeWaiting(key);
      }
    } finally {
      writer.unlock();
    }
  }

  private void markForDiscard() {
    try {
      if (!Files.exists(files.discardMarker())) {
        Files.createFile(files.discardMarker());
      }
    } catch (IOException e) {
      logger.atWarning().withCause(e).log(
          "Cache %s: cannot make %s; entries that were invalidated may come back at the next start",
          settings.name(), files.discardMarker());
    }
  }

  private void writeSoon() {
    if (state == StoreState.READY && !pending.isEmpty() && draining.compareAndSet(false, true)) {
      inBackground(this::drain);
    }
  }

  /** Writes what waits, until nothing does. One thread at a time; others come in between. */
  private void drain() {
    boolean again;
    do {
      boolean all;
      try {
        all = writeAllWaiting();
      } finally {
        draining.set(false);
      }
      // What waits for the file to grow is written when it has.
      again = all || !growth.isRunning();
    } while (again && !pending.isEmpty() && draining.compareAndSet(false, true));
  }

  /** Writes what waited when this was called; returns when it is in the file. */
  public void flush() {
    while (!writeAllWaiting()) {
      growth.await();
    }
  }

  /** Takes the writer's lock before the loops that take it again and again. */
  private void lockFirst() {
    urgent.incrementAndGet();
    try {
      writer.lock();
    } finally {
      urgent.decrementAndGet();
    }
  }

  /**
   * Lets invalidations go first. The lock is not fair: a loop that takes it again and again would
   * keep them waiting for its end.
   */
  private void giveWay() {
    while (urgent.get() > 0 && !writer.isHeldByCurrentThread()) {
      LockSupport.parkNanos(GIVE_WAY_NANOS);
    }
  }

  /** Writes what waits; returns false if some of it has to wait for the file to grow. */
  private boolean writeAllWaiting() {
    boolean all = true;
    for (HashedKey key : pending.keys()) {
      giveWay();
      all &= writeNow(key);
    }
    return all;
  }

  /** Writes what waits for a key where nothing more can wait; leaves it out if that takes long. */
  private void writeOrDrop(HashedKey key) {
    if (writeNow(key)) {
      return;
    }
    growth.awaitBriefly();
    writer.lock();
    try {
      if (!writeWaiting(key)) {
        // The older value is gone since the first attempt.
        PendingWrite write = pending.get(key);
        pending.change(key, (k, before) -> null);
        countNotStored(write == null || write.value() == null ? 0 : write.value().length);
      }
    } finally {
      writer.unlock();
    }
  }

  private boolean writeNow(HashedKey key) {
    writer.lock();
    try {
      return writeWaiting(key);
    } finally {
      writer.unlock();
    }
  }

  /**
   * Writes what waits for a key. Under the writer's lock.
   *
   * @return false if it has to wait for the file to grow
   */
  private boolean writeWaiting(HashedKey key) {
    if (state == StoreState.OPENING) {
      return true;
    }
    // Set before the write is taken: a putter that replaces it afterwards sees that, and waits.
    writing = key;
    try {
      PendingWrite write = pending.get(key);
      if (write == null) {
        return true;
      }
      boolean applied = apply(key, write);
      if (applied) {
        pending.done(key, write);
      }
      return applied;
    } finally {
      writing = null;
    }
  }

  /** Returns false if the write has to wait for the file to grow. */
  private boolean apply(HashedKey key, PendingWrite write) {
    Generations generations = file;
    if (generations == null || write.isVoid(tickets)) {
      return true;
    }
    try {
      if (write.value() == null) {
        generations.remove(key.bytes);
        return true;
      }
      int length = write.value().length;
      if (generations.put(key.bytes, write.value(), write.created())) {
        counters.puts.increment();
        if (generations.isFilling()) {
          var unused = growth.request(generations, 0);
        }
        return true;
      }
      if (growth.request(generations, length)) {
        return false;
      }
      countNotStored(length);
    } catch (RuntimeException | InternalError e) {
      fail(e);
    }
    return true;
  }

  private void countNotStored(int length) {
    counters.notStored.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
        "Cache %s has no room for a value of %d bytes and keeps it in memory only;"
            + " cache.%s.diskLimit is %d bytes, or the disk is full",
        settings.name(), length, settings.name(), settings.maxBytes());
  }

  // ---- the end

  /** Runs a task on a writer thread; returns false if those were stopped. */
  private boolean inBackground(Runnable task) {
    try {
      background.execute(task);
      return true;
    } catch (RejectedExecutionException e) {
      logger.atFine().log("Cache %s: the writers have stopped", settings.name());
      return false;
    }
  }

  /** Gives the file up after an error that Chronicle-Map should not have thrown. */
  private void fail(Throwable cause) {
    Generations generations = file;
    if (state != StoreState.READY || generations == null || !failed.compareAndSet(false, true)) {
      return;
    }
    try {
      // First: whoever sees that there is no file takes a removal for done.
      files.deleteAll();
    } catch (IOException e) {
      markForDiscard();
    }
    start =
        new StartReport(
            start.kind(),
            StoreOpener.reasonOf(cause),
            start.entries(),
            start.damaged(),
            start.millis());
    state = StoreState.FAILED;
    file = null;
    logger.atSevere().withCause(cause).log(
        "Cache %s is kept in memory only until the next start: its file failed", settings.name());
    // Not here: the caller may be a reader inside the gate.
    inBackground(() -> unmap(generations));
  }

  private void unmap(Generations generations) {
    writer.lock();
    try {
      pending.clear();
      generations.unmap();
    } catch (RuntimeException | InternalError e) {
      logger.atWarning().withCause(e).log("Cache %s: cannot unmap its file", settings.name());
    } finally {
      writer.unlock();
    }
  }

  /** Writes what waits, unmaps the file and says on disk that it is in order. */
  void close() {
    boolean interrupted = awaitOpenForever();
    flush();
    // What did not fit the old file is in the next one only.
    growth.await();
    writer.lock();
    try {
      writeAllWaiting();
      Generations generations = file;
      if (state != StoreState.FAILED) {
        state = StoreState.CLOSED;
      }
      file = null;
      pending.clear();
      if (generations != null) {
        generations.closeCleanly();
      }
    } catch (IOException | RuntimeException | InternalError e) {
      logger.atWarning().withCause(e).log(
          "Cache %s could not be closed properly; it will be recovered at the next start",
          settings.name());
    } finally {
      writer.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns whether the thread was interrupted meanwhile. */
  private boolean awaitOpenForever() {
    boolean interrupted = false;
    while (true) {
      try {
        opened.await();
        return interrupted;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
  }

  // ---- figures

  /** The store's figures. */
  public StoreStats stats() {
    Generations generations = file;
    return new StoreStats(
        settings.name(),
        state,
        start,
        generations == null ? 0 : generations.entries(),
        generations == null ? 0 : generations.liveBytes(),
        generations == null ? 0 : generations.diskBytes(),
        settings.maxBytes(),
        counters.hits.sum(),
        counters.misses.sum(),
        counters.puts.sum(),
        counters.notStored.sum(),
        counters.damaged.sum(),
        counters.expired.sum(),
        counters.invalidated.sum(),
        counters.growths.sum(),
        pending.count());
  }
}
