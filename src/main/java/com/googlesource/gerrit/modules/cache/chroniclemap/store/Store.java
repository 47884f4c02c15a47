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
import java.nio.channels.FileChannel;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * A persistent map of byte strings for one cache: off-heap, on disk, bounded.
 *
 * <p>How it works: values live in one file, mapped into memory. A read looks at the writes that
 * wait, then copies the value out of the file under the lock of one segment. A put makes the older
 * value void where it stands, by one byte, and is handed to a writer thread; reads find it at once.
 * A removal works the same way. Opening runs in the background, so that a server's start does not
 * wait for it.
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
 *   <li>Values put may be lost when the process is killed, and leave when there is no room: those
 *       of least use first.
 * </ul>
 *
 * <p>All methods may be called from any thread. Keys and values are not copied: callers must not
 * change them afterwards.
 */
public final class Store {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** How long, from the store's making, a caller may wait for the file to be opened. */
  private static final long OPEN_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How often a read looks again when the key is being changed. */
  private static final int READ_ATTEMPTS = 3;

  private static final long MIN_SWEEP_MILLIS = TimeUnit.MINUTES.toMillis(1);
  private static final long MAX_SWEEP_MILLIS = TimeUnit.HOURS.toMillis(1);

  /** How long after a failure a new file is tried; twice that after the next one, and so on. */
  private static final long HEAL_SECONDS = 60;

  /** How often a new file is tried: twelve times take more than a day. */
  private static final int MAX_HEALS = 12;

  /** Bytes from which a file takes a while to open: it is read whole, and after a crash copied. */
  private static final long LARGE_FILE_BYTES = 32 << 20;

  /** How full a file may be that a store is compacted into, so that it does not grow at once. */
  private static final double COMPACT_FILL = 0.6;

  private final StoreSettings settings;
  private final StoreFiles files;
  private final boolean sameBoot;

  /** Whether the files must not be used: noted before anyone could ask for it in this run. */
  private final boolean discarded;

  private final StoreThreads threads;
  private final DiskBudget budget;
  private final LongSupplier clock;
  private final Usage usage;
  private final long openDeadline = System.nanoTime() + OPEN_WAIT_NANOS;
  private final long maxAgeMillis;
  private final long maxValue;
  private final int maxKey;

  private final Tickets tickets = new Tickets();
  private final PendingWrites pending = new PendingWrites();
  private final StoreCounters counters = new StoreCounters();
  private final FaultLog faults;
  private final CountDownLatch opened = new CountDownLatch(1);

  /**
   * Held while the file comes into use, is replaced by another one or fails: whoever sees it fail
   * goes on when nobody can use it any more. Nothing but the disk is waited for while it is held.
   */
  private final Object switching = new Object();

  /** Held while a new file is made in place of one that failed, and while that is ruled out. */
  private final Object healing = new Object();

  /** How often a new file was tried. Guarded by {@link #healing}. */
  private int heals;

  /** Whether the store was closed. Guarded by {@link #healing}. */
  private boolean closed;

  private final BusyCount busy = new BusyCount();

  /** Held by whoever writes to {@link #file}; see {@link StoreWriter}. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Host host = new Host();
  private final StoreGrowth growth;
  private final StoreWriter writer;

  private volatile StoreState state = StoreState.OPENING;
  private volatile StartReport start = StartReport.PENDING;

  /** Null unless the state is READY, or just about to be. */
  private volatile Generations file;

  /** The last file that failed; null if none has. */
  private volatile Generations givenUp;

  /** Whether another store has the files now: it is not for this one to have them discarded. */
  private volatile boolean superseded;

  /** When values that are too old were last taken away; milliseconds since the epoch. */
  private volatile long lastSweep;

  /** Whether all values were removed before the file was open. Guarded by {@link #lock}. */
  private boolean clearWhenOpen;

  /**
   * Makes a store that is not open yet.
   *
   * @param sameBoot whether the machine has run on since the files were last used
   * @param clock milliseconds since the epoch
   */
  Store(
      StoreSettings settings,
      StoreFiles files,
      boolean sameBoot,
      StoreThreads threads,
      DiskBudget budget,
      LongSupplier clock) {
    this.settings = settings;
    this.files = files;
    this.faults = new FaultLog(settings.name());
    this.sameBoot = sameBoot;
    this.discarded = files.disk().exists(files.discardMarker());
    this.threads = threads;
    this.budget = budget;
    this.clock = clock;
    this.lastSweep = clock.getAsLong();
    this.usage = new Usage(clock);
    this.maxAgeMillis = settings.maxAge().map(age -> age.toMillis()).orElse(Long.MAX_VALUE);
    this.maxValue = StoreOpener.maxValue(settings);
    this.maxKey = StoreOpener.maxKey(settings);
    this.growth = new StoreGrowth(settings, lock, counters, faults, host);
    this.writer = new StoreWriter(pending, tickets, counters, growth, lock, host);
  }

  private final class Host implements StoreGrowth.Host, StoreWriter.Host, DiskBudget.Owner {
    @Override
    public long maxBytes() {
      return settings.maxBytes();
    }

    @Override
    public void shrink() {
      Store.this.shrink();
    }

    @Override
    public boolean resize(long bytes) {
      // A growth may end after the file it was for, when nothing is taken any more.
      return !isOver() && budget.resize(host, bytes);
    }

    @Override
    public Generations file() {
      return file;
    }

    @Override
    public boolean writeInBackground(Runnable task) {
      return threads.write(task);
    }

    @Override
    public boolean maintain(Runnable task) {
      return threads.maintain(task);
    }

    @Override
    public long waiting() {
      return pending.bytes();
    }

    @Override
    public boolean uses(Generations generations) {
      return file == generations;
    }

    @Override
    public Generation install(Generations generations) throws IOException {
      // Or else who gives the files up deletes those there were, and this makes another.
      synchronized (switching) {
        return file == generations ? generations.finishRebuild() : null;
      }
    }

    @Override
    public void giveWay() {
      writer.giveWay();
    }

    @Override
    public long minCreated() {
      return Store.this.minCreated();
    }

    @Override
    public void grown() {
      writer.writeSoon();
    }

    @Override
    public void notStored(int length) {
      countNotStored(length);
    }

    @Override
    public void fail(Throwable cause) {
      Store.this.fail(file, cause);
    }
  }

  /** Name of the cache. */
  public String name() {
    return settings.name();
  }

  // ---- opening

  /** Whether the file that is to be opened is so large that it takes a while. */
  boolean hasLargeFile() {
    try {
      Optional<StoreFiles.GenerationFile> newest = files.newest();
      return newest.isPresent() && files.disk().size(newest.get().path()) >= LARGE_FILE_BYTES;
    } catch (IOException e) {
      faults.warn(e, "its file's size can't be told before it is opened");
      return false;
    }
  }

  /** Opens the file; returns how it was found when that is done or has failed. */
  StartReport open() {
    try {
      takeOver(opener().open());
    } catch (IOException | RuntimeException | Error e) {
      giveUp(e);
    } finally {
      opened.countDown();
    }
    return start;
  }

  private StoreOpener opener() {
    return new StoreOpener(
        settings, files, usage, counters, faults, budget, host, sameBoot, discarded);
  }

  private void takeOver(StoreOpener.Opened result) {
    lock.lock();
    try {
      Generations opening =
          new Generations(settings, files, usage, counters, faults, result.generation());
      if (clearWhenOpen) {
        clearOrUnmap(opening);
        clearWhenOpen = false;
      }
      synchronized (switching) {
        start = result.report();
        file = opening;
        state = StoreState.READY;
      }
      // Applied before anyone else writes: after that the marker is not needed any more.
      var unused = writer.writeAll();
      if (state == StoreState.READY) {
        removeDiscardMarker();
      }
    } finally {
      lock.unlock();
    }
  }

  private static void clearOrUnmap(Generations opening) {
    try {
      opening.clear();
    } catch (RuntimeException | Error e) {
      opening.unmap();
      throw e;
    }
  }

  /** There is no file for now. */
  private void giveUp(Throwable cause) {
    lock.lock();
    try {
      // Who opened the store tells of it.
      faults.count(cause);
      synchronized (switching) {
        forget();
        start = new StartReport(StartReport.Kind.NONE, StoreOpener.reasonOf(cause), 0, 0, 0);
        state = StoreState.FAILED;
        if (file != null) {
          givenUp = file;
          file = null;
        }
      }
      pending.clear();
    } finally {
      lock.unlock();
    }
    releaseDisk();
    healLater();
  }

  private void removeDiscardMarker() {
    try {
      files.unmarkForDiscard();
    } catch (IOException e) {
      faults.warn(e, "will start empty: cannot delete", files.discardMarker());
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
    usage.asked(key);
    (value != null ? counters.hits : counters.misses).increment();
    return value;
  }

  /** As {@link #read}, for a caller whose read a moment ago was counted. */
  public Value readAgain(byte[] key) {
    return find(key);
  }

  private Value find(byte[] key) {
    awaitOpen();
    if (isOver()) {
      // What still waits was changed since, perhaps: those changes are not noted any more.
      return null;
    }
    long now = clock.getAsLong();
    Value value = findNewest(key, now);
    if (value != null && now - value.created() > maxAgeMillis) {
      counters.expired.increment();
      var unused = threads.write(() -> removeIf(key, this::isExpired));
      return null;
    }
    return value;
  }

  private Value findNewest(byte[] key, long now) {
    for (int i = 0; i < READ_ATTEMPTS; i++) {
      PendingWrite waiting = pending.isEmpty() ? null : pending.get(new HashedKey(key));
      if (waiting != null && !waiting.isVoid(tickets)) {
        return waiting.value() == null ? null : new Value(waiting.value(), waiting.created());
      }
      Value value = findInFile(key, now);
      if (value == null || !value.isVoid()) {
        return value;
      }
      // The key is just being changed; the new value can be found in a moment.
      pending.await(new HashedKey(key));
    }
    return null;
  }

  private Value findInFile(byte[] key, long now) {
    Generations generations = file;
    if (generations == null) {
      return null;
    }
    try {
      return generations.read(key, now);
    } catch (DamagedEntryException e) {
      if (e.isCertain()) {
        countDamaged(e);
      }
      var unused = threads.write(() -> removeIf(key, this::isDamaged));
    } catch (StoreBusyException e) {
      // A miss; unless it goes on, then the lock is held for ever.
      if (busy.isTooMuch(System.nanoTime())) {
        fail(generations, e);
      }
    } catch (RuntimeException | InternalError e) {
      fail(generations, e);
    }
    return null;
  }

  private interface FileCheck {
    boolean holds(Generations generations, byte[] key) throws DamagedEntryException;
  }

  private boolean isExpired(Generations generations, byte[] key) throws DamagedEntryException {
    Value value = generations.read(key, clock.getAsLong());
    return value != null && !value.isVoid() && value.created() < minCreated();
  }

  private void countDamaged(DamagedEntryException e) {
    counters.damaged.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.MINUTES).log(
        "Cache %s: a damaged entry was found and is dropped: %s", settings.name(), e.getMessage());
  }

  private boolean isDamaged(Generations generations, byte[] key) {
    try {
      var unused = generations.read(key, clock.getAsLong());
      return false;
    } catch (DamagedEntryException e) {
      if (!e.isCertain()) {
        // Now that nobody replaces it, it is. What was certain was counted by the reader.
        countDamaged(e);
      }
      return true;
    }
  }

  /** Removes a value from the file, if under the writer's lock it still is what a reader saw. */
  private void removeIf(byte[] key, FileCheck check) {
    lock.lock();
    try {
      Generations generations = file;
      if (generations != null && holds(check, generations, key)) {
        generations.remove(key);
      }
    } catch (RuntimeException | InternalError e) {
      fail(file, e);
    } finally {
      lock.unlock();
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
    boolean fits = fits(keyBytes, value);
    if (!fits) {
      countNotStored(value.length);
    }
    return change(
        new HashedKey(keyBytes), fits ? PendingWrite.put(value, created) : PendingWrite.remove());
  }

  private boolean fits(byte[] key, byte[] value) {
    return key.length <= maxKey && value.length <= maxValue;
  }

  /**
   * Removes a value. On return it is not in the file any more.
   *
   * @return a ticket that is current until the key is changed again
   */
  public long remove(byte[] keyBytes) {
    counters.invalidated.increment();
    return change(new HashedKey(keyBytes), PendingWrite.remove());
  }

  private long change(HashedKey key, PendingWrite write) {
    awaitOpen();
    boolean roomLeft = writer.hasRoom();
    boolean early = state == StoreState.OPENING;
    if (early && !roomLeft && write.value() != null) {
      countNotStored(write.value().length);
    }
    PendingWrite waiting = early && !roomLeft ? PendingWrite.remove() : write;
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
            isOver[0] = isOver();
            // What was left waiting when a file failed must not be found in the next one.
            return isOver[0] ? null : waiting;
          });
    } finally {
      if (ticket[0] != 0) {
        tickets.end(ticket[0]);
      }
    }
    if (isOver[0]) {
      forgetIfClosed();
    } else if (early) {
      forgetOlderAfterCrash(key);
    } else if (roomLeft && isVoid[0]) {
      writer.writeSoon(key);
    } else {
      writer.writeNow(key);
    }
    return ticket[0];
  }

  /** What is changed after the store was closed is in its file as it was. */
  private void forgetIfClosed() {
    if (state == StoreState.CLOSED && !superseded) {
      markForDiscard();
    }
  }

  /** Makes the value of a key void in the file; returns false if that has to be done otherwise. */
  private boolean markVoid(HashedKey key) {
    Generations generations = file;
    try {
      if (generations != null) {
        generations.markVoid(key.bytes);
      }
      return true;
    } catch (StoreBusyException e) {
      return false;
    } catch (RuntimeException | InternalError e) {
      fail(generations, e);
      return true;
    }
  }

  /**
   * Stores a value unless its key was put or removed since the ticket was taken. May leave it out
   * while the file is not open yet.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public void putIfCurrent(byte[] keyBytes, byte[] value, long created, long ticket) {
    boolean roomLeft = writer.hasRoom();
    boolean early = state == StoreState.OPENING;
    if (isOver()) {
      return;
    }
    if (!fits(keyBytes, value) || (early && !roomLeft)) {
      countNotStored(value.length);
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
      writer.writeNow(key);
    }
  }

  /** Removes all values. On return they are not in the file any more. */
  public void clear() {
    awaitOpen();
    counters.invalidated.increment();
    lock.lock();
    try {
      Generations generations = file;
      if (generations != null) {
        generations.clear();
      } else if (state == StoreState.OPENING) {
        clearWhenOpen = true;
        markForDiscard();
      } else {
        forgetIfClosed();
      }
      pending.clear();
    } catch (RuntimeException | InternalError e) {
      fail(file, e);
    } finally {
      // Last, and under the lock, so that no writer takes a write for valid that this makes void.
      tickets.advanceAll();
      lock.unlock();
    }
  }

  private boolean isOver() {
    return state == StoreState.FAILED || state == StoreState.CLOSED;
  }

  /**
   * Called while the file is not open yet, so that the older value of a key can't be made void:
   * makes sure that a crash before it is removed does not bring it back.
   */
  private void forgetOlderAfterCrash(HashedKey key) {
    lock.lock();
    try {
      if (state == StoreState.OPENING) {
        markForDiscard();
      } else {
        writer.writeNow(key);
      }
    } finally {
      lock.unlock();
    }
  }

  private void markForDiscard() {
    try {
      files.markForDiscard();
    } catch (IOException e) {
      mayComeBack(e);
    }
  }

  /** Makes sure that nobody uses what is in the files. */
  private void forget() {
    try {
      files.discard();
    } catch (IOException | RuntimeException e) {
      mayComeBack(e);
    }
  }

  private void mayComeBack(Exception cause) {
    faults.warn(
        cause,
        "its files can neither be deleted nor marked: delete them before the next start, or entries"
            + " that were invalidated may come back");
  }

  /** Writes what waited when this was called; returns when it is in the file. */
  public void flush() {
    writer.flush();
  }

  private void countNotStored(int length) {
    counters.notStored.increment();
    logger.atWarning().atMostEvery(1, TimeUnit.HOURS).log(
        "Cache %s has no room for a value of %d bytes and keeps it in memory only;"
            + " cache.%s.diskLimit is %d bytes, or the disk is full",
        settings.name(), length, settings.name(), settings.maxBytes());
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
    long begun = System.nanoTime();
    opened.await();
    VerifyCounts counts = new VerifyCounts();
    Generations generations = file;
    boolean complete = generations != null && verifyAll(generations, progress, counts);
    boolean repaired =
        complete
            && repair
            && counts.damaged > 0
            && rebuild(generations, generations.current().name().bytes(), progress)
                == CompactReport.Outcome.REBUILT;
    return new VerifyReport(
        counts.values, counts.bytes, counts.damaged, repaired, complete, millisSince(begun));
  }

  /** Returns whether all was checked. */
  private boolean verifyAll(Generations generations, Progress progress, VerifyCounts counts) {
    growth.await();
    Generation checked = generations.current();
    // Not the channel that a growth reads with: an interrupt of this thread closes it.
    try (FileChannel channel = checked.openChannel()) {
      SegmentReader reader = checked.values().file().reader(channel);
      int segments = generations.segments();
      for (int i = 0; i < segments; i++) {
        writer.giveWay();
        if (!verifySegment(generations, checked, reader, i, progress, counts)) {
          return false;
        }
        progress.step(i + 1, segments);
      }
      return true;
    } catch (IOException | StoreBusyException e) {
      // A file that is not in use any more was deleted by whoever saw to that.
      if (file == generations && generations.current() == checked) {
        faults.warn(e, "cannot be checked");
      }
      return false;
    }
  }

  private boolean verifySegment(
      Generations generations,
      Generation checked,
      SegmentReader reader,
      int index,
      Progress progress,
      VerifyCounts counts)
      throws IOException {
    lock.lock();
    try {
      if (progress.isCancelled()
          || file != generations
          || generations.isRebuilding()
          || generations.current() != checked) {
        return false;
      }
      generations.verifySegment(index, reader, counts);
      return true;
    } catch (StoreBusyException e) {
      throw e;
    } catch (RuntimeException | InternalError e) {
      fail(generations, e);
      return false;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Makes the file as small as what it holds allows, without what is too old. Requests go on
   * meanwhile.
   */
  public CompactReport compact(Progress progress) throws InterruptedException {
    long begun = System.nanoTime();
    opened.await();
    writer.flush();
    sweepExpired();
    growth.await();
    Generations generations = file;
    if (generations == null) {
      return new CompactReport(CompactReport.Outcome.NO_FILE, 0, 0, 0, millisSince(begun));
    }
    long before = generations.diskBytes();
    long bytes = smallestFor(generations);
    CompactReport.Outcome outcome =
        bytes >= generations.current().name().bytes()
            ? CompactReport.Outcome.NOTHING_TO_GAIN
            : rebuild(generations, bytes, progress);
    return new CompactReport(
        outcome, before, generations.diskBytes(), generations.entries(), millisSince(begun));
  }

  private long smallestFor(Generations generations) {
    GrowthPlan plan = new GrowthPlan(settings.maxBytes());
    long bytes = generations.current().name().bytes();
    for (OptionalLong next = plan.previous(bytes);
        next.isPresent() && generations.liveBytes() < next.getAsLong() * COMPACT_FILL;
        next = plan.previous(bytes)) {
      bytes = next.getAsLong();
    }
    return bytes;
  }

  private CompactReport.Outcome rebuild(Generations generations, long bytes, Progress progress)
      throws InterruptedException {
    Optional<CompletableFuture<Boolean>> running = growth.rebuild(generations, bytes, progress);
    if (running.isEmpty()) {
      return CompactReport.Outcome.BUSY;
    }
    try {
      if (running.get().get()) {
        return CompactReport.Outcome.REBUILT;
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    }
    return progress.isCancelled()
        ? CompactReport.Outcome.CANCELLED
        : CompactReport.Outcome.ABANDONED;
  }

  private static long millisSince(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
  }

  /** Values made before are too old; milliseconds since the epoch. */
  private long minCreated() {
    return maxAgeMillis == Long.MAX_VALUE ? Long.MIN_VALUE : clock.getAsLong() - maxAgeMillis;
  }

  /** Gives half of the file back if it can; another store has a better right to it. */
  private void shrink() {
    Generations generations = file;
    if (generations != null) {
      long half = generations.current().name().bytes() / 2;
      if (half >= Geometry.MIN_FILE_BYTES) {
        var unused = growth.rebuild(generations, half, Progress.NONE);
      }
    }
  }

  /** As {@link #sweepExpired}, if the last time was long ago for the age that values may reach. */
  void sweepIfDue() {
    long interval = Math.clamp(maxAgeMillis / 10, MIN_SWEEP_MILLIS, MAX_SWEEP_MILLIS);
    long now = clock.getAsLong();
    if (now - lastSweep >= interval) {
      lastSweep = now;
      sweepExpired();
    }
  }

  /** Takes away the values that are too old, segment by segment. */
  void sweepExpired() {
    Generations generations = file;
    if (maxAgeMillis == Long.MAX_VALUE || generations == null) {
      return;
    }
    for (int i = 0; i < generations.segments(); i++) {
      writer.giveWay();
      lock.lock();
      try {
        // What is being rebuilt leaves them out itself; what was rebuilt may have fewer segments.
        if (file != generations || generations.isRebuilding() || i >= generations.segments()) {
          return;
        }
        counters.expired.add(generations.removeOlder(i, minCreated()));
      } catch (RuntimeException | InternalError e) {
        fail(generations, e);
        return;
      } finally {
        lock.unlock();
      }
    }
  }

  // ---- the end

  /** Gives the file up after an error that Chronicle-Map should not have thrown. */
  private void fail(Generations generations, Throwable cause) {
    synchronized (switching) {
      if (generations == null || file != generations) {
        return;
      }
      // First: whoever sees that there is no file takes a removal for done.
      forget();
      start =
          new StartReport(
              start.kind(),
              StoreOpener.reasonOf(cause),
              start.entries(),
              start.damaged(),
              start.millis());
      state = StoreState.FAILED;
      file = null;
      givenUp = generations;
    }
    faults.warn(
        cause,
        "its file failed and was given up; it is kept in memory only until there is another");
    // Not here: the caller may be a reader inside the gate, or in the middle of a change.
    var unused = threads.write(() -> unmapAndHeal(generations));
  }

  private void unmapAndHeal(Generations generations) {
    unmap(generations);
    releaseDisk();
    healLater();
  }

  /** Leaves the disk to the other stores until there is a file again. */
  private void releaseDisk() {
    synchronized (healing) {
      if (state == StoreState.FAILED) {
        budget.release(host);
      }
    }
  }

  private void unmap(Generations generations) {
    lock.lock();
    try {
      if (isOver()) {
        pending.clear();
      }
      generations.unmap();
    } catch (RuntimeException | InternalError e) {
      faults.warn(e, "cannot unmap its file");
    } finally {
      lock.unlock();
    }
  }

  private void healLater() {
    synchronized (healing) {
      if (!closed && heals < MAX_HEALS) {
        threads.later(this::heal, HEAL_SECONDS << heals++);
      }
    }
  }

  /** Makes a new file if the last one failed or none could be made. */
  void heal() {
    synchronized (healing) {
      if (closed || state != StoreState.FAILED) {
        return;
      }
      try {
        if (growth.isRunning()) {
          throw new IOException("the growth of the old file has not ended");
        }
        if (givenUp != null) {
          // Its name may be used again.
          unmap(givenUp);
        }
        takeOver(opener().openEmpty("its file failed: " + start.detail()));
        logger.atInfo().log("Cache %s has a file again", settings.name());
      } catch (IOException | RuntimeException | InternalError e) {
        faults.count(e);
        releaseDisk();
        healLater();
      }
    }
  }

  /** As {@link #close}, for another store of the same files that is about to be opened. */
  void closeForAnother() {
    superseded = true;
    close();
  }

  /** Writes what waits, unmaps the file and says on disk that it is in order. */
  void close() {
    boolean interrupted = awaitOpenForever();
    synchronized (healing) {
      closed = true;
    }
    boolean written = false;
    try {
      flush();
      // What did not fit the old file is in the next one only.
      growth.await();
      written = true;
    } finally {
      closeFile(written);
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void closeFile(boolean written) {
    lock.lock();
    try {
      boolean inOrder = false;
      try {
        if (written) {
          var unused = writer.writeAll();
          inOrder = true;
        }
      } finally {
        letGoOfFile(inOrder);
      }
    } catch (IOException | RuntimeException | InternalError e) {
      faults.warn(e, "could not be closed properly and will be recovered at the next start");
    } finally {
      lock.unlock();
      budget.release(host);
    }
  }

  private void letGoOfFile(boolean inOrder) throws IOException {
    Generations generations;
    synchronized (switching) {
      generations = file;
      if (state != StoreState.FAILED) {
        state = StoreState.CLOSED;
      }
      file = null;
    }
    pending.clear();
    if (generations == null) {
      return;
    }
    if (inOrder) {
      generations.closeCleanly();
    } else {
      generations.unmap();
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
        counters.evictions.sum(),
        counters.growths.sum(),
        pending.count(),
        faults.count());
  }
}
