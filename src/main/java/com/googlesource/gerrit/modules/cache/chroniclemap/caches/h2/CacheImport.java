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
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Takes over one cache from H2: reads its rows in their order, and brings each into the store that
 * does not know better. Goes on after a row that can't be read. Broken off, it begins at the first
 * row again: what is in the store already is passed over quickly.
 *
 * <p>Safe for any thread; one at a time takes over, others wait for it.
 */
final class CacheImport {
  /**
   * How often it is gone on behind what H2 can't read; each time twice as many rows are skipped.
   */
  private static final int MOST_GAPS = 48;

  /** How long the store is given to grow before it is asked again. */
  private static final long GROWTH_NANOS = 20_000_000;

  /** How often it is looked how far another thread is. */
  private static final long LOOK_NANOS = 50_000_000;

  /** How often it is told how far it is. */
  private static final int ROWS_TOLD = 256;

  /** Steps of a progress. */
  private static final int STEPS = 1000;

  private final String cache;
  private final int version;
  private final CacheSerializer<Object> keySerializer;
  private final Store store;
  private final Path file;
  private final AtomicBoolean running = new AtomicBoolean();
  private volatile ImportReport report;

  @SuppressWarnings("unchecked")
  CacheImport(PersistentCacheDef<?, ?> def, Store store, Path file) {
    this.cache = def.name();
    this.version = def.version();
    this.keySerializer = (CacheSerializer<Object>) def.keySerializer();
    this.store = store;
    this.file = file;
    this.report = ImportReport.of(cache, State.WAITING, "");
  }

  String cache() {
    return cache;
  }

  Store store() {
    return store;
  }

  ImportReport report() {
    return report;
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

  /**
   * Takes over what there is, or, with a dry run, counts what would be. Waits for whoever is doing
   * that.
   *
   * @param pace may be asked to wait after each row
   */
  ImportReport run(boolean dryRun, Pace pace, Progress progress) throws InterruptedException {
    while (!running.compareAndSet(false, true)) {
      ImportReport now = report;
      show(progress, now.read(), now.rows());
      if (progress.isCancelled() || !pace.await(LOOK_NANOS)) {
        return report;
      }
    }
    try {
      store.awaitOpened();
      if (report.state() == State.DONE || report.state() == State.FULL) {
        return report;
      }
      if (!store.isImportable()) {
        report =
            store.stats().state() == StoreState.READY
                ? ImportReport.of(cache, State.IN_USE, "it was taken over or in use before")
                : ImportReport.of(cache, State.FAILED, "it has no file, see show");
        return report;
      }
      ImportReport result = new Run(dryRun, pace, progress).run();
      if (dryRun) {
        return result;
      }
      report = result;
      if (result.state() == State.DONE || result.state() == State.FULL) {
        store.endImport();
      }
      return result;
    } finally {
      running.set(false);
    }
  }

  private static void show(Progress progress, long read, long rows) {
    progress.step((int) Math.min(STEPS, read * STEPS / Math.max(1, rows)), STEPS);
  }

  /** One reading of the file. */
  private final class Run {
    private final boolean dryRun;
    private final Pace pace;
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
    private long gaps;
    private String gap = "";

    /** Id of the last row that was read. */
    private long last;

    Run(boolean dryRun, Pace pace, Progress progress) {
      this.dryRun = dryRun;
      this.pace = pace;
      this.progress = progress;
    }

    ImportReport run() throws InterruptedException {
      tell(State.RUNNING, "");
      // What may not all have room comes by its use, though that takes longer to read.
      boolean byUse = fileBytes() > store.stats().maxBytes();
      long skip = 0;
      while (true) {
        long before = last;
        try (H2File h2 = H2File.open(file)) {
          return tell(read(h2, byUse, skip), gap);
        } catch (H2Exception e) {
          if (read == 0 && gaps == MOST_GAPS) {
            return tell(State.FAILED, e.getMessage());
          }
          gap = "H2 could not read all of %s: %s".formatted(file, e.getMessage());
          if (gaps++ == MOST_GAPS) {
            return tell(State.DONE, gap);
          }
          if (byUse) {
            byUse = false;
            last = 0;
          } else {
            skip = last > before ? 1 : Math.max(1, 2 * skip);
          }
        }
      }
    }

    private State read(H2File h2, boolean byUse, long skip)
        throws H2Exception, InterruptedException {
      rows = h2.count();
      if (byUse) {
        h2.readLastUsedFirst();
      } else {
        h2.readAfter(last + skip);
      }
      for (H2File.Row row = h2.next(); row != null; row = h2.next()) {
        last = row.id();
        read++;
        State end = take(row);
        if (end != State.RUNNING) {
          return end;
        }
        show(progress, read, rows);
        if (progress.isCancelled() || !pace.keep(row.value().length)) {
          return State.INTERRUPTED;
        }
        if (read % ROWS_TOLD == 0) {
          tell(State.RUNNING, gap);
        }
      }
      return State.DONE;
    }

    /** Returns RUNNING to go on. */
    private State take(H2File.Row row) throws InterruptedException {
      if (row.version() != version) {
        otherVersion++;
        return State.RUNNING;
      }
      byte[] key = keyOf(row);
      if (key == null) {
        otherVersion++;
        return State.RUNNING;
      }
      if (dryRun) {
        imported++;
        bytes += row.value().length;
        return State.RUNNING;
      }
      ImportResult result = store.importValue(key, row.value(), row.created());
      while (result == ImportResult.LATER) {
        if (progress.isCancelled() || !pace.await(GROWTH_NANOS)) {
          return State.INTERRUPTED;
        }
        result = store.importValue(key, row.value(), row.created());
      }
      switch (result) {
        case STORED -> {
          imported++;
          bytes += row.value().length;
        }
        case KNOWN -> known++;
        case TOO_OLD -> tooOld++;
        case TOO_LARGE -> tooLarge++;
        case NO_ROOM -> {
          return State.FULL;
        }
        case OVER -> {
          return State.INTERRUPTED;
        }
        case LATER -> throw new AssertionError();
      }
      return State.RUNNING;
    }

    /** As the store knows it; null if the serializer does not know such a key. */
    private byte[] keyOf(H2File.Row row) {
      if (row.key() instanceof byte[] bytes) {
        return bytes;
      }
      try {
        return keySerializer.serialize(row.key());
      } catch (RuntimeException e) {
        return null;
      }
    }

    private ImportReport tell(State state, String detail) {
      ImportReport now =
          new ImportReport(
              cache,
              state,
              detail,
              rows,
              read,
              imported,
              bytes,
              known,
              otherVersion,
              tooOld,
              tooLarge,
              gaps,
              (System.nanoTime() - begun) / 1_000_000);
      if (!dryRun) {
        report = now;
      }
      return now;
    }
  }
}
