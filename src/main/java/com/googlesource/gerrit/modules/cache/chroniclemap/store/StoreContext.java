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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.Usage;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.values.ValueTable;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/** The context of one store: what all its parts share. */
final class StoreContext {
  /** How long after the store's creation a caller may wait for the file to be opened. */
  static final long OPEN_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How much longer, while secrets are imported: one that is not found then is lost. */
  static final long FILL_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** How long after the volume had no room no more disk is asked for. */
  private static final long RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);

  private static final long YIELD_NANOS = 20_000;

  /** Bytes of a volume that only the stores of secrets take, which cannot be computed again. */
  private static final long RESERVED_BYTES = 16 << 20;

  final StoreSettings settings;
  final StoreFiles files;

  final StoreThreads threads;

  /** The folder of the files. */
  final StoreDirectory folder;

  /** Milliseconds since the epoch. */
  final LongSupplier clock;

  final StoreCounts counts = new StoreCounts();
  final Tickets tickets = new Tickets();
  final PendingWrites pending = new PendingWrites();

  /**
   * The lock of the store's writer. A thread holds it while it writes to the file, or opens,
   * replaces or closes the file. Not fair: to hand it over in order costs a switch of threads for
   * each write, several times the write itself.
   *
   * <p>The order of a store's locks, outermost first. A thread that holds one takes none that is
   * listed before it:
   *
   * <ol>
   *   <li>that of {@link CurrentFile#heal}, under which a new file is created
   *   <li>this one
   *   <li>that of a key in {@link PendingWrites}, held while the key's write is changed
   *   <li>the inner one of {@link CurrentFile}, under which the file and the state change
   * </ol>
   */
  final ReentrantLock lock = new ReentrantLock();

  final FaultLog faults;

  /** The age up to which values are found; Long.MAX_VALUE if there is no limit. */
  final long maxAgeMillis;

  final Usage usage;
  final ValueTable.Rules rules;

  /** What the file begins with; empty once that is done, or was given up. */
  volatile Optional<Seed> seed;

  /**
   * Whether no file that had to begin with secrets was in use yet. Callers wait for them, and what
   * was reported as missing must stay missing: a sign-out from a session that is not found
   * invalidates nothing.
   */
  volatile boolean isSeedAwaited;

  /** Until when callers wait for the file to be opened; on the clock of {@link System#nanoTime}. */
  final long openDeadline;

  /** Whether the store is about to be closed, so that its file need not be filled. */
  volatile boolean isClosing;

  /**
   * Until when no disk is asked for, as there was none. Guarded by the writer lock, or used by the
   * one thread that opens the file.
   */
  private long refusedUntil = System.nanoTime();

  StoreContext(
      StoreSettings settings, StoreFiles files, Optional<Seed> seed, StoreDirectory folder) {
    this.settings = settings;
    this.files = files;
    this.threads = folder.threads;
    this.clock = folder.clock;
    this.folder = folder;
    this.faults = new FaultLog(settings.name(), counts.faults);
    this.maxAgeMillis = settings.maxAge().map(Duration::toMillis).orElse(Long.MAX_VALUE);
    this.seed = seed;
    this.isSeedAwaited = settings.oldValues() == OldValues.SECRET && seed.isPresent();
    this.openDeadline = System.nanoTime() + OPEN_WAIT_NANOS + (isSeedAwaited ? FILL_NANOS : 0);
    this.usage = new Usage(clock, threads::maintain, files.disk, files.usage(), faults);
    this.rules =
        new ValueTable.Rules(
            settings.maxValue(),
            settings.oldValues() == OldValues.PURE,
            usage,
            counts.evicted,
            this::takeDisk);
  }

  /**
   * Ensures that the next opening of the folder does not use the store's files, which can be
   * neither deleted nor marked; returns whether that is recorded.
   */
  boolean distrusts() {
    return settings.oldValues() != OldValues.PURE && folder.distrusts();
  }

  /**
   * Lets threads go first that wait for the lock. As it is not fair, a loop that takes it again and
   * again would keep them waiting for the end of the loop.
   */
  void yieldToWaiters() {
    if (lock.hasQueuedThreads() && !lock.isHeldByCurrentThread()) {
      LockSupport.parkNanos(YIELD_NANOS);
    }
  }

  /** Moves the seed aside, if there is one: the file must not begin with it any more. */
  void endSeed() throws IOException {
    if (seed.isPresent()) {
      seed.get().moveAside(() -> {});
      seed = Optional.empty();
    }
  }

  void throwIfClosing() {
    if (isClosing) {
      throw new CancellationException("the store is being closed; the next opening begins again");
    }
  }

  /** Unmaps a file that is not used any more; for any thread. */
  void unmap(StoreFile old) {
    try {
      old.unmap();
    } catch (RuntimeException | InternalError | LinkageError e) {
      faults.warn(e, "cannot unmap a file that is not in use any more");
    }
  }

  /** Gives a segment more disk, unless the volume has none. For whoever may write to the file. */
  private boolean takeDisk(RecordMap map, int segment, int bytes) {
    try {
      return !isDiskRefused()
          && map.takeDisk(
              segment, bytes, settings.oldValues() == OldValues.SECRET ? 0 : RESERVED_BYTES);
    } catch (IOException e) {
      refusedUntil = System.nanoTime() + RETRY_NANOS;
      faults.warn(
          e, "its file gets no more disk: where it has no room, entries are evicted or left out");
      return false;
    }
  }

  /** Whether the volume had no room a while ago. For whoever may write to the file. */
  boolean isDiskRefused() {
    return System.nanoTime() - refusedUntil < 0;
  }

  /**
   * Whether a value made at a time, in milliseconds since the epoch, is too old. A time in the
   * future is from before the clock was set back; it may be ahead by no more than the maximum age.
   */
  boolean isTooOld(long created) {
    return maxAgeMillis != Long.MAX_VALUE && Math.abs(clock.getAsLong() - created) > maxAgeMillis;
  }
}
