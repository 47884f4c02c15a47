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

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.collect.EnumMultiset;
import com.google.common.collect.Multiset;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportResult;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The import of one cache from H2. Each row goes into the store, unless the store has something
 * newer for its key. An interrupted import starts at the first row again and quickly skips the
 * values that the store has. Of a damaged file, the rows before the damage are imported.
 *
 * <p>Safe for any thread. One thread at a time reads the file, and others wait for it.
 */
final class CacheImport {
  /** The store counts as full after so many values in a row found no room in their segments. */
  private static final int MAX_WITHOUT_ROOM = 256;

  /** How long to wait for a growth of the store before a retry, and in all for one value. */
  private static final long GROWTH_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long MAX_GROWTH_NANOS = TimeUnit.MINUTES.toNanos(2);

  /** How often to look at the progress of another thread. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** After how many rows the report is updated. */
  private static final int REPORT_ROWS = 256;

  /** The number of steps of the whole import. */
  private static final int STEPS = 1000;

  final String cache;
  private final int version;
  private final CacheSerializer<Object> keySerializer;
  private final Store store;
  private final Path file;

  /** Whether a thread reads the file. */
  private final AtomicBoolean reading;

  private volatile ImportReport report;

  /**
   * Makes an import that has not started.
   *
   * @param before the import into an older store of the same cache; null if there is none
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

  /** The size of H2's file in bytes. */
  long fileBytes() {
    try {
      return Files.size(file);
    } catch (IOException e) {
      return 0;
    }
  }

  /** The number of misses of the cache so far. */
  long misses() {
    return store.stats().counts().misses.sum();
  }

  private boolean isOver() {
    return report.state() == State.DONE || report.state() == State.FULL;
  }

  /**
   * Imports all rows.
   *
   * @param dryRun whether to count them only, and change nothing
   */
  ImportReport run(boolean dryRun, SharedPace pace, Progress progress) throws InterruptedException {
    if (!begin(pace, progress)) {
      return report;
    }
    try {
      if (isOver()) {
        return dryRun
            ? ImportReport.of(cache, State.IN_USE, "it has been imported since the start")
            : report;
      }
      ImportReport reason = whyNot();
      ImportReport made = reason != null ? reason : new Run(dryRun, pace, progress).run();
      if (!dryRun) {
        report = made;
        if (isOver()) {
          store.importGuard().end();
        }
      }
      return made;
    } finally {
      if (report.state() == State.RUNNING) {
        report = ImportReport.of(cache, State.FAILED, "it failed; see the log");
      }
      reading.set(false);
    }
  }

  /** Waits until no other thread reads the file. Returns false if the wait was cancelled. */
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

  /** Why nothing can be imported; null if something can be. */
  @Nullable
  private ImportReport whyNot() {
    return switch (store.stats().state()) {
      case READY ->
          store.importGuard().mayImport()
              ? null
              : ImportReport.of(cache, State.IN_USE, "it was imported or in use before");
      case CLOSED -> ImportReport.of(cache, State.INTERRUPTED, "it was closed");
      case OPENING, FAILED ->
          ImportReport.of(cache, State.FAILED, "it has no file; see the show command");
    };
  }

  private static void show(Progress progress, long read, long rows) {
    progress.step((int) Math.min(STEPS, read * STEPS / Math.max(1, rows)), STEPS);
  }

  /** One pass over the file. */
  private final class Run {
    private final boolean dryRun;
    private final SharedPace pace;
    private final Progress progress;
    private final long begun = System.nanoTime();
    private long rows;
    private long read;

    private final Multiset<ImportResult> results = EnumMultiset.create(ImportResult.class);
    private long bytes;
    private long otherVersion;
    private int withoutRoomInARow;

    /** Why the pass ended, for people. */
    private String detail = "";

    /** Whether a wait for a growth of the store timed out. */
    private boolean impatient;

    Run(boolean dryRun, SharedPace pace, Progress progress) {
      this.dryRun = dryRun;
      this.pace = pace;
      this.progress = progress;
    }

    ImportReport run() throws InterruptedException {
      report(State.RUNNING, "");
      pace.begin();
      // If not all rows may fit, the most recently used come first, although that is slower to
      // read.
      boolean byUse = fileBytes() > store.stats().maxBytes() / 2;
      try (H2File h2 = H2File.open(file)) {
        rows = h2.count();
        return report(rows == 0 ? State.DONE : read(h2, byUse), detail);
      } catch (IOException e) {
        return report(
            State.FAILED,
            read == 0
                ? e.getMessage()
                : lenientFormat("H2 could not read all of %s: %s", file, e.getMessage()));
      }
    }

    private State read(H2File h2, boolean byUse) throws IOException, InterruptedException {
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
        if (read % REPORT_ROWS == 0) {
          report(State.RUNNING, "");
        }
      }
      return results.contains(ImportResult.NO_ROOM) ? full() : State.DONE;
    }

    /** Ends the pass, as the store has reached its limit or could not grow on a full disk. */
    private State full() {
      if (!impatient) {
        return State.FULL;
      }
      detail =
          "its file could not grow for minutes, and the remaining rows have no room without that";
      return State.INTERRUPTED;
    }

    /** Handles a row. Returns RUNNING to continue. */
    private State take(H2File.Row row) throws InterruptedException {
      byte[] key = row.version() == version ? keyOf(row) : null;
      if (key == null) {
        otherVersion++;
        return State.RUNNING;
      }
      ImportResult result = dryRun ? ImportResult.STORED : importRow(key, row);
      if (result == ImportResult.LATER || result == ImportResult.OVER) {
        return State.INTERRUPTED;
      }
      results.add(result);
      bytes += result == ImportResult.STORED ? row.value().length : 0;
      withoutRoomInARow = result == ImportResult.NO_ROOM ? withoutRoomInARow + 1 : 0;
      return withoutRoomInARow == MAX_WITHOUT_ROOM ? full() : State.RUNNING;
    }

    private ImportResult importRow(byte[] key, H2File.Row row) throws InterruptedException {
      long waiting = System.nanoTime();
      while (true) {
        ImportResult result = store.importValue(key, row.value(), row.created());
        if (result != ImportResult.LATER) {
          return result;
        }
        impatient |= System.nanoTime() - waiting > MAX_GROWTH_NANOS;
        if (impatient) {
          // The disk may be full. Values that still have room are imported.
          return ImportResult.NO_ROOM;
        }
        if (!pace.await(GROWTH_NANOS, progress)) {
          return result;
        }
      }
    }

    /** The key as the store has it; null if the serializer cannot write it. */
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

    private ImportReport report(State state, String why) {
      ImportReport now =
          new ImportReport(
              cache,
              state,
              why,
              rows,
              read,
              results.count(ImportResult.STORED),
              bytes,
              results.count(ImportResult.KNOWN),
              otherVersion,
              results.count(ImportResult.TOO_OLD),
              results.count(ImportResult.TOO_LARGE),
              (System.nanoTime() - begun) / 1_000_000);
      if (!dryRun) {
        report = now;
      }
      return now;
    }
  }
}
