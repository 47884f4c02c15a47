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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2;

import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Takes over one cache from H2: reads its rows and brings each into the store, unless that knows
 * better. Broken off, it begins at the first row again: what is in the store already is passed over
 * quickly. Of a damaged file there is what was read before the damage.
 *
 * <p>Safe for any thread; one at a time reads the file, others wait for it.
 */
final class CacheImport {
  /** So many values in a row that have no room, each in its segment, say that the store is full. */
  private static final int MOST_WITHOUT_ROOM = 256;

  /** How long the store is given to grow before it is asked again, and in all for one value. */
  private static final long GROWTH_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long LONGEST_GROWTH_NANOS = TimeUnit.MINUTES.toNanos(2);

  /** How often it is looked how far another thread is. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** How often it is told how far it is. */
  private static final int ROWS_TOLD = 256;

  /** Steps of a progress. */
  private static final int STEPS = 1000;

  private final String cache;
  private final int version;
  private final CacheSerializer<Object> keySerializer;
  private final Store store;
  private final Path file;

  /** Whether a thread reads the file. */
  private final AtomicBoolean reading;

  private volatile ImportReport report;

  /**
   * Takes over nothing yet.
   *
   * @param before that of an older store of the same cache; null if there is none
   */
  @SuppressWarnings("unchecked")
  CacheImport(PersistentCacheDef<?, ?> def, Store store, Path file, @Nullable CacheImport before) {
    this.cache = def.name();
    this.version = def.version();
    this.keySerializer = (CacheSerializer<Object>) def.keySerializer();
    this.store = store;
    this.file = file;
    this.reading = before == null ? new AtomicBoolean() : before.reading;
    this.report = ImportReport.of(cache, State.WAITING, "");
  }

  String cache() {
    return cache;
  }

  /** Bytes of H2's file. */
  long fileBytes() {
    try {
      return Files.size(file);
    } catch (IOException e) {
      return 0;
    }
  }

  /** How often the cache was asked so far for what it does not have. */
  long misses() {
    return store.stats().misses();
  }

  private boolean isOver() {
    return report.state() == State.DONE || report.state() == State.FULL;
  }

  /** Takes over what there is. */
  ImportReport run(SharedPace pace, Progress progress) throws InterruptedException {
    if (!begin(pace, progress)) {
      return report;
    }
    try {
      if (isOver()) {
        return report;
      }
      ImportReport reason = whyNot();
      report = reason != null ? reason : new Run(/* dryRun= */ false, pace, progress).run();
      if (isOver()) {
        store.endImport();
      }
      return report;
    } finally {
      if (report.state() == State.RUNNING) {
        report = ImportReport.of(cache, State.FAILED, "it failed, see the log");
      }
      reading.set(false);
    }
  }

  /** Counts what there is, and changes nothing. */
  ImportReport count(SharedPace pace, Progress progress) throws InterruptedException {
    if (!begin(pace, progress)) {
      return report;
    }
    try {
      if (isOver()) {
        return ImportReport.of(cache, State.IN_USE, "it was taken over since the start");
      }
      ImportReport reason = whyNot();
      return reason != null ? reason : new Run(/* dryRun= */ true, pace, progress).run();
    } finally {
      reading.set(false);
    }
  }

  /** Waits until nobody else reads the file; returns false if that is not to be waited for. */
  private boolean begin(SharedPace pace, Progress progress) throws InterruptedException {
    store.awaitOpened();
    while (!reading.compareAndSet(false, true)) {
      ImportReport now = report;
      show(progress, now.read(), now.rows());
      if (!pace.await(LOOK_NANOS, progress)) {
        return false;
      }
    }
    return true;
  }

  /** Why nothing can be taken over; null if something can be. */
  @Nullable
  private ImportReport whyNot() {
    if (store.isImportable()) {
      return null;
    }
    StoreState state = store.stats().state();
    if (state == StoreState.CLOSED) {
      return ImportReport.of(cache, State.INTERRUPTED, "it was closed");
    }
    return state == StoreState.READY
        ? ImportReport.of(cache, State.IN_USE, "it was taken over or in use before")
        : ImportReport.of(cache, State.FAILED, "it has no file, see show");
  }

  private static void show(Progress progress, long read, long rows) {
    progress.step((int) Math.min(STEPS, read * STEPS / Math.max(1, rows)), STEPS);
  }

  /** One reading of the file. */
  private final class Run {
    private final boolean dryRun;
    private final SharedPace pace;
    private final Progress progress;
    private final long begun = System.nanoTime();
    private long rows;
    private long read;

    private long imported;
    private long bytes;
    private long known;
    private long otherVersion;
    private long tooOld;
    private long tooLarge;
    private long withoutRoom;
    private int withoutRoomInARow;

    /** What to know of the end of it, for people. */
    private String detail = "";

    /** Whether it was waited in vain for the store to grow. */
    private boolean impatient;

    Run(boolean dryRun, SharedPace pace, Progress progress) {
      this.dryRun = dryRun;
      this.pace = pace;
      this.progress = progress;
    }

    ImportReport run() throws InterruptedException {
      tell(State.RUNNING, "");
      pace.begin();
      // What may not all have room comes by its use, though that takes longer to read.
      boolean byUse = fileBytes() > store.stats().maxBytes() / 2;
      try (H2File h2 = H2File.open(file)) {
        rows = h2.count();
        return tell(rows == 0 ? State.DONE : read(h2, byUse), detail);
      } catch (H2Exception e) {
        return tell(
            State.FAILED,
            read == 0
                ? e.getMessage()
                : "H2 could not read all of %s: %s".formatted(file, e.getMessage()));
      }
    }

    private State read(H2File h2, boolean byUse) throws H2Exception, InterruptedException {
      if (!byUse || !h2.readLastUsedFirst()) {
        h2.readAll();
      }
      for (H2File.Row row = h2.next(); row != null; row = h2.next()) {
        read++;
        State end = take(row);
        if (end != State.RUNNING) {
          return end;
        }
        show(progress, read, rows);
        if (!pace.keep(row.value().length, progress)) {
          return State.INTERRUPTED;
        }
        if (read % ROWS_TOLD == 0) {
          tell(State.RUNNING, "");
        }
      }
      return withoutRoom > 0 ? full() : State.DONE;
    }

    /** The store is full, as it may be by its bound; or the disk, for a while. */
    private State full() {
      if (!impatient) {
        return State.FULL;
      }
      detail = "its file could not grow for minutes, and the rest of what H2 has needs that";
      return State.INTERRUPTED;
    }

    /** Returns RUNNING to go on. */
    private State take(H2File.Row row) throws InterruptedException {
      byte[] key = row.version() == version ? keyOf(row) : null;
      if (key == null) {
        otherVersion++;
        return State.RUNNING;
      }
      if (dryRun) {
        imported++;
        bytes += row.value().length;
        return State.RUNNING;
      }
      ImportResult result = bringIn(key, row);
      withoutRoomInARow = result == ImportResult.NO_ROOM ? withoutRoomInARow + 1 : 0;
      switch (result) {
        case STORED -> {
          imported++;
          bytes += row.value().length;
        }
        case KNOWN -> known++;
        case TOO_OLD -> tooOld++;
        case TOO_LARGE -> tooLarge++;
        case NO_ROOM -> withoutRoom++;
        case LATER, OVER -> {
          return State.INTERRUPTED;
        }
      }
      return withoutRoomInARow == MOST_WITHOUT_ROOM ? full() : State.RUNNING;
    }

    private ImportResult bringIn(byte[] key, H2File.Row row) throws InterruptedException {
      ImportResult result = store.importValue(key, row.value(), row.created());
      long waiting = System.nanoTime();
      while (result == ImportResult.LATER) {
        impatient |= System.nanoTime() - waiting > LONGEST_GROWTH_NANOS;
        if (impatient) {
          // The disk may be full: what has room even so is taken over.
          return ImportResult.NO_ROOM;
        }
        if (!pace.await(GROWTH_NANOS, progress)) {
          return result;
        }
        result = store.importValue(key, row.value(), row.created());
      }
      return result;
    }

    /** As the store knows it; null if the serializer does not know such a key. */
    @Nullable
    private byte[] keyOf(H2File.Row row) {
      if (row.key() instanceof byte[] stored) {
        return stored;
      }
      try {
        return keySerializer.serialize(row.key());
      } catch (RuntimeException e) {
        return null;
      }
    }

    private ImportReport tell(State state, String why) {
      ImportReport now =
          new ImportReport(
              cache,
              state,
              why,
              rows,
              read,
              imported,
              bytes,
              known,
              otherVersion,
              tooOld,
              tooLarge,
              (System.nanoTime() - begun) / 1_000_000);
      if (!dryRun) {
        report = now;
      }
      return now;
    }
  }
}
