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

  /** How long, from the store's making, a reader may wait for the file to be opened. */
  private static final long OPEN_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final StoreSettings settings;
  private final StoreFiles files;
  private final Geometry geometry;
  private final Executor background;
  private final long openDeadline = System.nanoTime() + OPEN_WAIT_NANOS;
  private final long maxAgeMillis;

  private final Tickets tickets = new Tickets();
  private final PendingWrites pending = new PendingWrites();
  private final StoreCounters counters = new StoreCounters();
  private final Gate gate = new Gate();
  private final CountDownLatch opened = new CountDownLatch(1);
  private final AtomicBoolean draining = new AtomicBoolean();

  /**
   * Held by whoever writes to {@link #values}, and to change {@link #state}. Fair: no putter
   * starves.
   */
  private final ReentrantLock writer = new ReentrantLock(true);

  private volatile StoreState state = StoreState.OPENING;
  private volatile StartReport start = StartReport.PENDING;

  /**
   * Null unless the state is READY. Readers use it inside {@link #gate}, the writer under its lock.
   */
  private volatile ValueFile values;

  /** The key whose waiting write is being applied; null most of the time. */
  private volatile HashedKey writing;

  /** Whether all values were removed before the file was open. Guarded by {@link #writer}. */
  private boolean clearWhenOpen;

  private final AtomicBoolean failed = new AtomicBoolean();

  Store(StoreSettings settings, StoreFiles files, Geometry geometry, Executor background) {
    this.settings = settings;
    this.files = files;
    this.geometry = geometry;
    this.background = background;
    this.maxAgeMillis = settings.maxAge().map(age -> age.toMillis()).orElse(Long.MAX_VALUE);
  }

  /** Name of the cache. */
  public String name() {
    return settings.name();
  }

  // ---- opening

  /** Opens the file; returns when that is done or has failed. */
  void open() {
    try {
      StoreOpener.Opened result = new StoreOpener(settings, geometry, files).open();
      takeOver(result);
    } catch (IOException | RuntimeException | Error e) {
      writer.lock();
      try {
        start = new StartReport(StartReport.Kind.NONE, StoreOpener.reasonOf(e), 0, 0, 0);
        if (state == StoreState.OPENING) {
          state = StoreState.FAILED;
        }
        pending.clear();
      } finally {
        writer.unlock();
      }
      logger.atSevere().withCause(e).log(
          "Cache %s is kept in memory only: %s could not be made. Free disk or mend the folder's"
              + " rights and restart, or lower cache.%s.diskLimit",
          settings.name(), files.store(), settings.name());
    } finally {
      opened.countDown();
    }
  }

  private void takeOver(StoreOpener.Opened result) {
    writer.lock();
    try {
      start = result.report();
      if (state != StoreState.OPENING) {
        result.values().file().close();
        return;
      }
      if (clearWhenOpen) {
        result.values().clear();
      }
      values = result.values();
      state = StoreState.READY;
      // Applied before anyone else writes: after that the marker is not needed any more.
      for (HashedKey key : pending.keys()) {
        writeWaiting(key);
      }
      removeDiscardMarker();
    } finally {
      writer.unlock();
    }
  }

  private void removeDiscardMarker() {
    try {
      Files.deleteIfExists(files.discardMarker());
    } catch (IOException e) {
      logger.atWarning().withCause(e).log(
          "Cache %s will start empty: cannot delete %s", settings.name(), files.discardMarker());
    }
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
    long now = System.currentTimeMillis();
    PendingWrite waiting = pending.isEmpty() ? null : pending.get(new HashedKey(key));
    Value value;
    if (waiting == null || waiting.isVoid(tickets)) {
      value = findInFile(key, now);
    } else {
      value = waiting.value() == null ? null : new Value(waiting.value(), waiting.created());
    }
    if (value != null && now - value.created() > maxAgeMillis) {
      dropExpired(key);
      return null;
    }
    return value;
  }

  private Value findInFile(byte[] key, long now) {
    long stamp = gate.enter();
    if (stamp == 0) {
      return null;
    }
    try {
      ValueFile file = values;
      return file == null ? null : file.read(key, now);
    } catch (DamagedEntryException e) {
      dropDamaged(key, e);
      return null;
    } catch (RuntimeException | InternalError e) {
      fail(e);
      return null;
    } finally {
      gate.leave(stamp);
    }
  }

  private void dropDamaged(byte[] key, DamagedEntryException e) {
    counters.damaged.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
        "Cache %s: a damaged entry was found and is dropped: %s", settings.name(), e.getMessage());
    inBackground(() -> removeIf(key, this::isDamaged));
  }

  private void dropExpired(byte[] key) {
    counters.expired.increment();
    inBackground(() -> removeIf(key, this::isExpired));
  }

  private interface FileCheck {
    boolean holds(ValueFile file, byte[] key) throws DamagedEntryException;
  }

  private boolean isExpired(ValueFile file, byte[] key) throws DamagedEntryException {
    long now = System.currentTimeMillis();
    Value value = file.read(key, now);
    return value != null && now - value.created() > maxAgeMillis;
  }

  private boolean isDamaged(ValueFile file, byte[] key) throws DamagedEntryException {
    var unused = file.read(key, System.currentTimeMillis());
    return false;
  }

  /** Removes a value from the file, if under the writer's lock it still is what a reader saw. */
  private void removeIf(byte[] key, FileCheck check) {
    writer.lock();
    try {
      ValueFile file = values;
      if (file == null) {
        return;
      }
      boolean remove;
      try {
        remove = check.holds(file, key);
      } catch (DamagedEntryException e) {
        remove = true;
      }
      if (remove) {
        file.remove(key);
      }
    } catch (RuntimeException | InternalError e) {
      fail(e);
    } finally {
      writer.unlock();
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
    long[] ticket = new long[1];
    if (isOver()) {
      return tickets.advance(key.hash);
    }
    awaitOpen();
    boolean roomLeft = hasRoom();
    pending.change(
        key,
        (k, before) -> {
          ticket[0] = tickets.advance(k.hash);
          return state == StoreState.OPENING && !roomLeft
              ? PendingWrite.remove()
              : PendingWrite.put(value, created);
        });
    if (state == StoreState.OPENING) {
      forgetOlderAfterCrash(key);
    } else if (!roomLeft || key.equals(writing) || isInFile(keyBytes)) {
      // An older value is, or is just being, written to the file: it must be gone on return.
      writeNow(key);
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
    if (isOver() || (state == StoreState.OPENING && !hasRoom())) {
      return;
    }
    HashedKey key = new HashedKey(keyBytes);
    boolean roomLeft = hasRoom();
    pending.change(
        key,
        (k, before) ->
            tickets.isCurrent(ticket) ? PendingWrite.putIfCurrent(value, created, ticket) : before);
    if (roomLeft) {
      writeSoon();
    } else {
      writeNow(key);
    }
  }

  /** Removes a value. On return it is not in the file any more. */
  public void remove(byte[] keyBytes) {
    HashedKey key = new HashedKey(keyBytes);
    awaitOpen();
    counters.invalidated.increment();
    writer.lock();
    try {
      tickets.advance(key.hash);
      if (state == StoreState.OPENING) {
        pending.change(key, (k, before) -> PendingWrite.remove());
        forgetOlderAfterCrash(key);
        return;
      }
      ValueFile file = values;
      if (file != null) {
        file.remove(keyBytes);
      }
      pending.change(key, (k, before) -> null);
    } catch (RuntimeException | InternalError e) {
      fail(e);
    } finally {
      writer.unlock();
    }
  }

  /** Removes all values. On return they are not in the file any more. */
  public void clear() {
    awaitOpen();
    counters.invalidated.increment();
    writer.lock();
    try {
      tickets.advanceAll();
      ValueFile file = values;
      if (file != null) {
        file.clear();
      } else if (state == StoreState.OPENING) {
        clearWhenOpen = true;
        markForDiscard();
      }
      pending.clear();
    } catch (RuntimeException | InternalError e) {
      fail(e);
    } finally {
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
    long stamp = gate.enter();
    if (stamp == 0) {
      return false;
    }
    try {
      ValueFile file = values;
      return file != null && file.contains(key);
    } catch (RuntimeException | InternalError e) {
      fail(e);
      return false;
    } finally {
      gate.leave(stamp);
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
          "Cache %s: cannot make %s", settings.name(), files.discardMarker());
    }
  }

  private void writeNow(HashedKey key) {
    writer.lock();
    try {
      writeWaiting(key);
    } finally {
      writer.unlock();
    }
  }

  private void writeSoon() {
    if (state == StoreState.READY && draining.compareAndSet(false, true)) {
      inBackground(this::drain);
    }
  }

  /** Writes what waits, until nothing does. One thread at a time; others come in between. */
  private void drain() {
    do {
      flush();
      draining.set(false);
    } while (!pending.isEmpty() && draining.compareAndSet(false, true));
  }

  /** Writes what waits for a key. Under the writer's lock. */
  private void writeWaiting(HashedKey key) {
    if (state == StoreState.OPENING) {
      return;
    }
    // Set before the write is taken: a putter that replaces it afterwards sees that, and waits.
    writing = key;
    PendingWrite write = pending.get(key);
    if (write == null) {
      writing = null;
      return;
    }
    try {
      ValueFile file = values;
      if (file != null && !write.isVoid(tickets)) {
        apply(file, key, write);
      }
    } catch (RuntimeException | InternalError e) {
      fail(e);
    } finally {
      pending.done(key, write);
      writing = null;
    }
  }

  private void apply(ValueFile file, HashedKey key, PendingWrite write) {
    if (write.value() == null) {
      file.remove(key.bytes);
    } else if (file.put(key.bytes, write.value(), write.created())) {
      counters.puts.increment();
    } else {
      counters.notStored.increment();
      logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
          "Cache %s has no room for a value of %d bytes and keeps it in memory only;"
              + " cache.%s.diskLimit is %d bytes",
          settings.name(), write.value().length, settings.name(), settings.maxBytes());
    }
  }

  /** Writes what waits; returns when it is in the file. */
  public void flush() {
    for (HashedKey key : pending.keys()) {
      writeNow(key);
    }
  }

  // ---- the end

  /** Runs a task on a writer thread; not at all once those were stopped. */
  private void inBackground(Runnable task) {
    try {
      background.execute(task);
    } catch (RejectedExecutionException e) {
      logger.atFine().log("Cache %s: the writers have stopped", settings.name());
    }
  }

  /** Gives the file up after an error that Chronicle-Map should not have thrown. */
  private void fail(Throwable cause) {
    ValueFile file = values;
    if (state != StoreState.READY || file == null || !failed.compareAndSet(false, true)) {
      return;
    }
    state = StoreState.FAILED;
    values = null;
    logger.atSevere().withCause(cause).log(
        "Cache %s is kept in memory only until the next start: its file failed", settings.name());
    try {
      // What could not be removed from it must not come back at the next start.
      files.deleteAll();
    } catch (IOException e) {
      markForDiscard();
    }
    // Not here: the caller may be a reader inside the gate.
    inBackground(
        () -> {
          pending.clear();
          unmap(file);
        });
  }

  private void unmap(ValueFile file) {
    writer.lock();
    try {
      gate.shut();
      file.file().close();
    } catch (RuntimeException | InternalError e) {
      logger.atWarning().withCause(e).log("Cache %s: cannot unmap its file", settings.name());
    } finally {
      writer.unlock();
    }
  }

  /** Writes what waits, unmaps the file and says on disk that it is in order. */
  void close() {
    boolean interrupted = false;
    while (true) {
      try {
        opened.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    writer.lock();
    try {
      for (HashedKey key : pending.keys()) {
        writeWaiting(key);
      }
      ValueFile file = values;
      if (state != StoreState.FAILED) {
        state = StoreState.CLOSED;
      }
      values = null;
      if (file != null) {
        IndexArea area = file.file().indexArea();
        gate.shut();
        file.file().close();
        writeMarker(file, area);
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

  private void writeMarker(ValueFile file, IndexArea area) throws IOException {
    // A newer version of a plugin's cache may have removed the file of this one.
    if (Files.exists(files.store())) {
      CleanMarker.write(files.store(), area, file.entries(), file.liveBytes());
    }
  }

  // ---- figures

  /** The store's figures. */
  public StoreStats stats() {
    ValueFile file = values;
    long diskBytes = 0;
    try {
      if (file != null) {
        diskBytes = file.file().fileBytes();
      }
    } catch (IOException e) {
      logger.atFine().withCause(e).log("Cache %s: no length of its file", settings.name());
    }
    return new StoreStats(
        settings.name(),
        state,
        start,
        file == null ? 0 : file.entries(),
        file == null ? 0 : file.liveBytes(),
        diskBytes,
        settings.maxBytes(),
        counters.hits.sum(),
        counters.misses.sum(),
        counters.puts.sum(),
        counters.notStored.sum(),
        counters.damaged.sum(),
        counters.expired.sum(),
        counters.invalidated.sum(),
        pending.count());
  }
}
