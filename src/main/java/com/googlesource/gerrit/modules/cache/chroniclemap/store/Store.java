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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
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
  private final MaxAge maxAge;
  private final long maxValue;
  private final int maxKey;

  private final Tickets tickets = new Tickets();
  private final PendingWrites pending = new PendingWrites();
  private final StoreCounters counters = new StoreCounters();
  private final FaultLog faults;

  /** Held while a new file is made in place of one that failed, and while that is ruled out. */
  private final Object healing = new Object();

  /** How often a new file was tried. Guarded by {@link #healing}. */
  private int heals;

  /** Whether the store was closed. Guarded by {@link #healing}. */
  private boolean closed;

  private final BusyCount busy = new BusyCount();

  private final WriterLock lock = new WriterLock();
  private final StoreFile file;
  private final StoreGrowth growth;
  private final StoreWriter writer;

  /** When values that are too old were last taken away; milliseconds since the epoch. */
  private volatile long lastSweep;

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
    this.maxAge = new MaxAge(settings.maxAge(), clock);
    this.maxValue = StoreOpener.maxValue(settings);
    this.maxKey = StoreOpener.maxKey(settings);
    this.file = new StoreFile(files, faults, this::fileFailed);
    this.growth =
        new StoreGrowth(
            settings,
            file,
            pending,
            maxAge,
            counters,
            faults,
            lock,
            threads,
            budget,
            this::writeSoon);
    this.writer =
        new StoreWriter(settings, file, pending, tickets, counters, growth, lock, threads);
  }

  private void writeSoon() {
    writer.writeSoon();
  }

  private void fileFailed(Generations failed) {
    // Not here: the caller may be a reader inside the gate, or in the middle of a change.
    var unused = threads.write(() -> unmapAndHeal(failed));
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
      file.openingEnded();
    }
    return file.report();
  }

  private StoreOpener opener() {
    return new StoreOpener(
        settings, files, usage, counters, faults, budget, growth, sameBoot, discarded);
  }

  private void takeOver(StoreOpener.Opened result) {
    lock.lock();
    try {
      file.use(result.generations(), result.report());
      // Applied before anyone else writes: after that the marker is not needed any more.
      var unused = writer.writeAll();
      if (file.state() == StoreState.READY) {
        file.removeDiscardMarker();
      }
    } finally {
      lock.unlock();
    }
  }

  /** There is no file for now. */
  private void giveUp(Throwable cause) {
    lock.lock();
    try {
      // Who opened the store tells of it.
      faults.count(cause);
      file.giveUp(cause);
      pending.clear();
    } finally {
      lock.unlock();
    }
    releaseDisk();
    healLater();
  }

  /** Returns when the file is open, or opening it has failed. */
  public void awaitOpened() throws InterruptedException {
    file.awaitOpened();
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
    file.awaitOpenBriefly();
    if (file.isOver()) {
      // What still waits was changed since, perhaps: those changes are not noted any more.
      return null;
    }
    long now = clock.getAsLong();
    Value value = findNewest(key, now);
    if (value != null && now - value.created() > maxAge.millis()) {
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
    Generations generations = file.generations();
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
        file.fail(generations, e);
      }
    } catch (RuntimeException | InternalError e) {
      file.fail(generations, e);
    }
    return null;
  }

  private interface FileCheck {
    boolean holds(Generations generations, byte[] key) throws DamagedEntryException;
  }

  private boolean isExpired(Generations generations, byte[] key) throws DamagedEntryException {
    Value value = generations.read(key, clock.getAsLong());
    return value != null && !value.isVoid() && value.created() < maxAge.minCreated();
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
      Generations generations = file.generations();
      if (generations != null && holds(check, generations, key)) {
        generations.remove(key);
      }
    } catch (RuntimeException | InternalError e) {
      file.fail(file.generations(), e);
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
      writer.notStored(value.length);
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
    file.awaitOpenBriefly();
    boolean roomLeft = writer.hasRoom();
    boolean early = file.isOpening();
    if (early && !roomLeft && write.value() != null) {
      writer.notStored(write.value().length);
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
            isOver[0] = file.isOver();
            // What was left waiting when a file failed must not be found in the next one.
            return isOver[0] ? null : waiting;
          });
    } finally {
      if (ticket[0] != 0) {
        tickets.end(ticket[0]);
      }
    }
    if (isOver[0]) {
      file.forgetIfClosed();
    } else if (early) {
      forgetOlderAfterCrash(key);
    } else if (roomLeft && isVoid[0]) {
      writer.writeSoon(key);
    } else {
      writer.writeNow(key);
    }
    return ticket[0];
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

  /**
   * Stores a value unless its key was put or removed since the ticket was taken. May leave it out
   * while the file is not open yet.
   *
   * @param created milliseconds since the epoch at which the value was made
   */
  public void putIfCurrent(byte[] keyBytes, byte[] value, long created, long ticket) {
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
      writer.writeNow(key);
    }
  }

  /** Removes all values. On return they are not in the file any more. */
  public void clear() {
    file.awaitOpenBriefly();
    counters.invalidated.increment();
    lock.lock();
    try {
      Generations generations = file.generations();
      if (generations != null) {
        generations.clear();
      } else if (file.isOpening()) {
        file.clearWhenOpen();
      } else {
        file.forgetIfClosed();
      }
      pending.clear();
    } catch (RuntimeException | InternalError e) {
      file.fail(file.generations(), e);
    } finally {
      // Last, and under the lock, so that no writer takes a write for valid that this makes void.
      tickets.advanceAll();
      lock.unlock();
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
        writer.writeNow(key);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Writes what waited when this was called; returns when it is in the file. */
  public void flush() {
    writer.flush();
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
    file.awaitOpened();
    VerifyCounts counts = new VerifyCounts();
    Generations generations = file.generations();
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
        lock.giveWay();
        if (!verifySegment(generations, checked, reader, i, progress, counts)) {
          return false;
        }
        progress.step(i + 1, segments);
      }
      return true;
    } catch (IOException | StoreBusyException e) {
      // A file that is not in use any more was deleted by whoever saw to that.
      if (file.uses(generations) && generations.current() == checked) {
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
          || !file.uses(generations)
          || generations.isRebuilding()
          || generations.current() != checked) {
        return false;
      }
      generations.verifySegment(index, reader, counts);
      return true;
    } catch (StoreBusyException e) {
      throw e;
    } catch (RuntimeException | InternalError e) {
      file.fail(generations, e);
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
    file.awaitOpened();
    writer.flush();
    sweepExpired();
    growth.await();
    Generations generations = file.generations();
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

  /** As {@link #sweepExpired}, if the last time was long ago for the age that values may reach. */
  void sweepIfDue() {
    long interval = Math.clamp(maxAge.millis() / 10, MIN_SWEEP_MILLIS, MAX_SWEEP_MILLIS);
    long now = clock.getAsLong();
    if (now - lastSweep >= interval) {
      lastSweep = now;
      sweepExpired();
    }
  }

  /** Takes away the values that are too old, segment by segment. */
  void sweepExpired() {
    Generations generations = file.generations();
    if (maxAge.isUnlimited() || generations == null) {
      return;
    }
    for (int i = 0; i < generations.segments(); i++) {
      lock.giveWay();
      lock.lock();
      try {
        // What is being rebuilt leaves them out itself; what was rebuilt may have fewer segments.
        if (!file.uses(generations) || generations.isRebuilding() || i >= generations.segments()) {
          return;
        }
        counters.expired.add(generations.removeOlder(i, maxAge.minCreated()));
      } catch (RuntimeException | InternalError e) {
        file.fail(generations, e);
        return;
      } finally {
        lock.unlock();
      }
    }
  }

  // ---- the end

  private void unmapAndHeal(Generations generations) {
    unmap(generations);
    releaseDisk();
    healLater();
  }

  /** Leaves the disk to the other stores until there is a file again. */
  private void releaseDisk() {
    synchronized (healing) {
      if (file.state() == StoreState.FAILED) {
        growth.releaseDisk();
      }
    }
  }

  private void unmap(Generations generations) {
    lock.lock();
    try {
      if (file.isOver()) {
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
      if (closed || file.state() != StoreState.FAILED) {
        return;
      }
      try {
        if (growth.isRunning()) {
          throw new IOException("the growth of the old file has not ended");
        }
        if (file.givenUp() != null) {
          // Its name may be used again.
          unmap(file.givenUp());
        }
        takeOver(opener().openEmpty("its file failed: " + file.report().detail()));
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
    file.supersede();
    close();
  }

  /** Writes what waits, unmaps the file and says on disk that it is in order. */
  void close() {
    boolean interrupted = file.awaitOpenForever();
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
      growth.releaseDisk();
    }
  }

  private void letGoOfFile(boolean inOrder) throws IOException {
    Generations generations = file.letGo();
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

  // ---- figures

  /** The store's figures. */
  public StoreStats stats() {
    Generations generations = file.generations();
    return new StoreStats(
        settings.name(),
        file.state(),
        file.report(),
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
