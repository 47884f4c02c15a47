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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.FaultLog;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.SegmentReader;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.StoredKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The usage of a store's values: how often their keys were read lately. It is kept in off-heap
 * memory, 8 to 16 bytes for each value, so that reads write nothing to the file. The memory is
 * allocated only when values may soon be evicted, so a store that never fills pays nothing. Usage
 * is saved beside the file from time to time and when the store is closed, in at most 1/128 of the
 * bytes of the store.
 *
 * <p>Safe for any thread.
 */
public final class Usage {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** After so long it is known what is in use. */
  private static final long KNOWN_AFTER_MILLIS = Duration.ofMinutes(10).toMillis();

  /** For up to this many values, memory is allocated in less than a millisecond. */
  private static final long MAX_MADE_AT_ONCE = 100_000;

  /** Usage is saved when there were requests for one of so many values. */
  private static final int FEW = 32;

  private static final int PIECE_BYTES = 1 << 20;

  private final LongSupplier clock;
  private final Predicate<Runnable> background;
  private final Disk disk;
  private final Path saved;
  private final FaultLog faults;
  private volatile Frequencies frequencies;

  /** Since when reads are counted, in milliseconds since the epoch; 0 if by earlier processes. */
  private volatile long countedSince;

  /** The requests in {@link #frequencies} when they were last saved or loaded, or -1. */
  private long requestsSaved = -1;

  /** Held briefly, while the saved file is renamed. */
  private final Object naming = new Object();

  /** Whether the files may have another user by now. Set under {@link #naming}. */
  private volatile boolean closed;

  /** Whether memory for {@link #frequencies} is being allocated, or could not be. */
  private final AtomicBoolean making = new AtomicBoolean();

  /**
   * Begins without frequencies.
   *
   * @param clock milliseconds since the epoch
   * @param background allocates the memory, which takes up to a tenth of a second; returns false if
   *     it cannot now
   * @param saved the file to save to
   */
  public Usage(
      LongSupplier clock, Predicate<Runnable> background, Disk disk, Path saved, FaultLog faults) {
    this.clock = clock;
    this.background = background;
    this.disk = disk;
    this.saved = saved;
    this.faults = faults;
  }

  long now() {
    return clock.getAsLong();
  }

  /** Ends all saving. */
  public void close() {
    synchronized (naming) {
      closed = true;
    }
  }

  /** Counts a read of a key, once values may have to be evicted. */
  public void asked(byte[] key) {
    Frequencies counts = frequencies;
    if (counts != null) {
      counts.increment(Frequencies.hash(key, key.length));
    }
  }

  /** About how many keys were read three times or more lately; 0 while nothing is counted. */
  public long keysInUse() {
    Frequencies counts = frequencies;
    return counts == null ? 0 : counts.inUse();
  }

  /** The frequency of a record's key, from 0 to {@link Frequencies#MOST}. */
  int frequency(byte[] storedKey) {
    Frequencies counts = frequencies;
    return counts == null
        ? 0
        : counts.of(Frequencies.hash(storedKey, StoredKey.keyLength(storedKey)));
  }

  /** Whether a record's key was read lately, or that is not known yet. */
  boolean mayBeUsed(byte[] storedKey) {
    return frequencies == null
        || Math.abs(now() - countedSince) < KNOWN_AFTER_MILLIS
        || frequency(storedKey) > 0;
  }

  /**
   * Begins to count how often each key is read, because values have to be evicted now or soon. Does
   * not wait if much memory has to be allocated.
   *
   * @param records the number of records in the store
   */
  void count(long records) {
    Frequencies counts = frequencies;
    if ((counts == null || records > 2 * counts.entries) && making.compareAndSet(false, true)) {
      if (records <= MAX_MADE_AT_ONCE) {
        make(records);
      } else if (!background.test(() -> make(records))) {
        making.set(false);
      }
    }
  }

  private void make(long records) {
    try {
      load();
      Frequencies counts = frequencies;
      if (counts == null) {
        countedSince = now();
        frequencies = Frequencies.forEntries(records);
      } else if (records > 2 * counts.entries) {
        frequencies = counts.resizedInto(Frequencies.forEntries(records));
      }
      making.set(false);
    } catch (OutOfMemoryError e) {
      // Eviction then goes by age alone, as nothing must fail for lack of frequencies. This is not
      // retried, since a failed allocation takes long.
      logger.atInfo().withCause(e).log(
          "there is no memory to count how often %d values are asked for", records);
    }
  }

  /** Loads the saved frequencies, unless there are some already. */
  public void load() {
    // Checked without the lock, which save() may hold for long.
    if (frequencies == null) {
      loadNow();
    }
  }

  private synchronized void loadNow() {
    if (frequencies != null) {
      return;
    }
    try (FileChannel channel = disk.open(saved, Set.of(StandardOpenOption.READ))) {
      if (channel.size() <= Frequencies.MAX_SAVED_BYTES) {
        ByteBuffer bytes = ByteBuffer.allocateDirect((int) channel.size());
        if (SegmentReader.readFully(channel, 0, bytes)) {
          frequencies = Frequencies.load(bytes).orElse(null);
          requestsSaved = frequencies == null ? -1 : frequencies.requests();
        }
      }
    } catch (NoSuchFileException e) {
      // Never saved.
    } catch (IOException e) {
      faults.warn(
          e, "evicts by age only until usage is known: cannot read usage statistics in", saved);
    }
  }

  /**
   * Saves the frequencies if there are any, with fewer counters if they would take too much disk.
   * All of them are written, up to 256 MB: while the store is in use, only after requests for one
   * of {@value #FEW} values, and so that no reader of the disk waits behind all of them; when it is
   * closed, after any request, and at once.
   *
   * @param storeBytes the bytes that the store may take
   * @param closing whether the store is being closed
   */
  public synchronized void save(long storeBytes, boolean closing) {
    long maxSavedBytes = storeBytes / Geometry.SAVED_SHARE;
    try {
      if (frequencies == null && disk.exists(saved) && disk.size(saved) > maxSavedBytes) {
        loadNow();
        disk.delete(saved);
      }
      Frequencies counts = frequencies;
      if (counts == null) {
        return;
      }
      long requests = counts.requests();
      if (requestsSaved >= 0
          && requests - requestsSaved < (closing ? 1 : counts.entries / FEW)
          && disk.exists(saved)
          && disk.size(saved) <= maxSavedBytes) {
        return;
      }
      ByteBuffer bytes = counts.save(maxSavedBytes);
      if (bytes.limit() > maxSavedBytes) {
        disk.delete(saved);
        return;
      }
      Path next = saved.resolveSibling(saved.getFileName() + ".next");
      disk.delete(next);
      disk.create(next);
      try (FileChannel channel = disk.open(next, Set.of(StandardOpenOption.WRITE))) {
        int end = bytes.limit();
        // What was written when the store is closed is deleted.
        for (int at = 0; at < end && !closed; at += PIECE_BYTES) {
          if (at > 0 && !closing) {
            channel.force(false);
          }
          SegmentReader.writeFully(channel, at, bytes.limit(Math.min(end, at + PIECE_BYTES)));
        }
      }
      synchronized (naming) {
        if (closed) {
          disk.delete(next);
        } else {
          disk.move(next, saved);
          requestsSaved = requests;
        }
      }
    } catch (IOException | OutOfMemoryError e) {
      // Once the store was closed, a failure only means that this came too late.
      if (!closed) {
        faults.warn(e, "the usage statistics of its values are not saved: cannot write", saved);
      }
    }
  }
}
