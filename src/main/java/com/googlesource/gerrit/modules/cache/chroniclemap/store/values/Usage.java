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
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;

/**
 * What a store knows of the use of its values: how often their keys were asked for lately. It is in
 * plain memory, 8 to 16 bytes a value and none of them on the heap, so that reads write nothing
 * into the file; and it is there only once values may have to leave, so that a store that is never
 * full pays nothing for it. It is saved beside the file now and then and when the store is closed,
 * in up to 1/128 of the bytes that the store may take.
 *
 * <p>Safe for any thread.
 */
public final class Usage {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** For so many values memory is made in less than a millisecond. */
  private static final long FEW = 100_000;

  private final LongSupplier clock;
  private final Executor background;
  private final Disk disk;
  private final Path saved;
  private final FaultLog faults;
  private volatile Frequencies frequencies;

  /** Held for a moment only: while what was saved is given its name. */
  private final Object naming = new Object();

  /** Whether the files belong to somebody else, perhaps. Guarded by {@link #naming}. */
  private boolean closed;

  /** Whether memory for {@link #frequencies} is being made, or there is none. */
  private final AtomicBoolean making = new AtomicBoolean();

  /**
   * Begins with no knowledge.
   *
   * @param clock milliseconds since the epoch
   * @param background makes the memory for it, which takes up to a tenth of a second
   * @param saved where it is saved
   */
  public Usage(LongSupplier clock, Executor background, Disk disk, Path saved, FaultLog faults) {
    this.clock = clock;
    this.background = background;
    this.disk = disk;
    this.saved = saved;
    this.faults = faults;
  }

  long now() {
    return clock.getAsLong();
  }

  /** Nothing is saved after this. */
  public void close() {
    synchronized (naming) {
      closed = true;
    }
  }

  /** Notes that a key was asked for, whether there was a value or not. */
  public void asked(byte[] key) {
    Frequencies counts = frequencies;
    if (counts != null) {
      counts.increment(Frequencies.hash(key, key.length));
    }
  }

  /** How often a record's key was asked for lately: 0, or up to {@link Frequencies#MOST}. */
  int frequency(byte[] storedKey) {
    Frequencies counts = frequencies;
    return counts == null
        ? 0
        : counts.of(Frequencies.hash(storedKey, StoredKey.keyLength(storedKey)));
  }

  /**
   * Says that values have to leave, or soon will: from about now on it is counted how often each
   * key is asked for. Does not wait for much memory to be made.
   *
   * @param records in the store
   */
  void count(long records) {
    Frequencies counts = frequencies;
    if ((counts == null || records > 2 * counts.entries()) && making.compareAndSet(false, true)) {
      if (records <= FEW) {
        make(records);
      } else {
        background.execute(() -> make(records));
      }
    }
  }

  private void make(long records) {
    try {
      load();
      Frequencies counts = frequencies;
      if (counts == null) {
        frequencies = Frequencies.forEntries(records);
      } else if (records > 2 * counts.entries()) {
        frequencies = counts.resized(records);
      }
      making.set(false);
    } catch (OutOfMemoryError e) {
      // Then by age alone: nothing must fail for this. Not tried again, since that takes long.
      logger.atInfo().withCause(e).log(
          "there is no memory to count how often %d values are asked for", records);
    }
  }

  /** Takes up what was saved, unless anything is known already. */
  public void load() {
    // Whoever saves has the lock for long.
    if (frequencies == null) {
      loadNow();
    }
  }

  private synchronized void loadNow() {
    if (frequencies != null || !disk.exists(saved)) {
      return;
    }
    try (FileChannel channel = disk.open(saved, Set.of(StandardOpenOption.READ))) {
      if (channel.size() <= Frequencies.MAX_SAVED_BYTES) {
        ByteBuffer bytes = ByteBuffer.allocateDirect((int) channel.size());
        if (SegmentReader.readFully(channel, 0, bytes)) {
          frequencies = Frequencies.load(bytes).orElse(null);
        }
      }
    } catch (IOException e) {
      faults.warn(e, "values leave by age until more is known of their use: cannot read", saved);
    }
  }

  /**
   * Saves what is known, if anything is, less finely where it would take too much.
   *
   * @param storeBytes that the store takes
   */
  public synchronized void save(long storeBytes) {
    long maxSavedBytes = storeBytes / Geometry.SAVED_SHARE;
    Frequencies counts = frequencies;
    try {
      if (counts == null) {
        if (disk.exists(saved) && disk.size(saved) > maxSavedBytes) {
          disk.delete(saved);
        }
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
        while (bytes.hasRemaining()) {
          int unused = channel.write(bytes, bytes.position());
        }
      }
      synchronized (naming) {
        if (closed) {
          disk.delete(next);
        } else {
          disk.move(next, saved);
        }
      }
    } catch (IOException | OutOfMemoryError e) {
      // Once it was closed it is merely late.
      if (!isClosed()) {
        faults.warn(e, "the next start knows less of the use of its values: cannot write", saved);
      }
    }
  }

  private boolean isClosed() {
    synchronized (naming) {
      return closed;
    }
  }
}
