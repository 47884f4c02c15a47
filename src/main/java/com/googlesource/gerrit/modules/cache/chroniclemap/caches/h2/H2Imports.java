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

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportMode;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Takes over what Gerrit's H2 caches hold, so that a site that switches does not begin with empty
 * caches and nobody has to sign in again.
 *
 * <p>By itself only when H2 was in use until just now: web sessions and OAuth tokens at once,
 * before Gerrit answers requests if that takes less than {@value #FIRST_SECONDS} s; then, when
 * Gerrit is ready, one cache after the other, the one first that is asked most for what it does not
 * have. On one thread, which leaves most of its time to others.
 *
 * <p>What keeps an invalidated value from coming back: {@link Store#importValue} lets all that is
 * known since the start win; an import that was broken off goes on only where nothing was changed;
 * what was taken over once is not again ({@link ImportLedger}); and if H2 was in use in between,
 * the stores begin empty.
 *
 * <p>Safe for any thread.
 */
public final class H2Imports {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Whose loss users would notice: they would have to sign in again. */
  private static final Set<String> FIRST = Set.of("web_sessions", "oauth_tokens");

  private static final int FIRST_SECONDS = 2;

  /** What H2 held longer ago than this is not taken over by itself. */
  private static final Duration RECENT = Duration.ofDays(7);

  private static final long STOP_MILLIS = 500;

  private final Path folder;
  private final boolean automatic;
  private final boolean recent;
  private final ImportLedger ledger;
  private final Consumer<String> warnings;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final Thread thread = new Thread(this::runAll, "cache-chroniclemap-import");

  /** All imports there are, by cache. Guarded by this. */
  private final Map<String, CacheImport> imports = new LinkedHashMap<>();

  /** Those that the thread is to run. Guarded by this. */
  private final List<CacheImport> waiting = new ArrayList<>();

  /** Of {@link #FIRST}, those that were not run yet. Guarded by this. */
  private int firstLeft;

  /** Guarded by this. */
  private boolean ready;

  /**
   * Looks at what H2 has, and what is known of that.
   *
   * @param folder of H2's files: Gerrit's {@code cache.directory}
   * @param automatic whether to take it over without being asked
   * @param warnings told what people should know
   * @throws IOException if it can't be read what was taken over before
   */
  public H2Imports(Path folder, boolean automatic, Consumer<String> warnings) throws IOException {
    this.folder = folder;
    this.warnings = warnings;
    this.ledger = new ImportLedger(folder);
    Optional<Instant> lastUse = lastUse(folder);
    this.recent =
        lastUse.isPresent()
            && (ledger.h2RanSince() || lastUse.get().isAfter(Instant.now().minus(RECENT)));
    this.automatic = automatic;
    thread.setDaemon(true);
  }

  /** When H2 wrote to any of its files. */
  private static Optional<Instant> lastUse(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return Optional.empty();
    }
    Instant last = null;
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(H2File::isOne).toList()) {
        Instant written = Files.getLastModifiedTime(file).toInstant();
        last = last == null || written.isAfter(last) ? written : last;
      }
    }
    return Optional.ofNullable(last);
  }

  /**
   * Whether a Gerrit with H2 was in use since the stores were: what they hold may have been
   * invalidated there, so it must be deleted before {@link #begin}.
   */
  public boolean h2RanSince() {
    return ledger.h2RanSince();
  }

  /**
   * To be called before any store is opened.
   *
   * @throws IOException if it can't be noted what the stores are as new as
   */
  public void begin() throws IOException {
    ledger.begin();
    thread.start();
  }

  /** How to open the store of a cache. */
  public ImportMode modeOf(PersistentCacheDef<?, ?> def) {
    if (!Files.exists(H2File.pathOf(folder, def.name()))) {
      return ImportMode.NONE;
    }
    return ledger.isSeen(def.name()) ? ImportMode.RESUME : ImportMode.BEGIN;
  }

  /**
   * Takes over a cache whose store was opened in a mode other than NONE, now or later or when asked
   * to.
   */
  public void add(PersistentCacheDef<?, ?> def, Store store) {
    CacheImport added = new CacheImport(def, store, H2File.pathOf(folder, def.name()));
    boolean resumed = ledger.isSeen(def.name());
    boolean wait;
    synchronized (this) {
      imports.put(def.name(), added);
      if (!automatic || !(recent || resumed)) {
        return;
      }
      waiting.add(added);
      boolean isFirst = FIRST.contains(def.name());
      if (isFirst) {
        firstLeft++;
      }
      wait = isFirst && ready;
      notifyAll();
    }
    if (wait) {
      awaitFirst();
    }
  }

  /** Gerrit is about to be ready: waits for what is to be there by then, but not for long. */
  public void ready() {
    awaitFirst();
    synchronized (this) {
      ready = true;
      notifyAll();
    }
  }

  private synchronized void awaitFirst() {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(FIRST_SECONDS);
    try {
      while (firstLeft > 0) {
        long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (millis <= 0) {
          return;
        }
        wait(millis);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Breaks off what is going on; it goes on at the next start. Before the stores are closed. */
  public void stop() {
    stopped.countDown();
    synchronized (this) {
      notifyAll();
    }
    try {
      // Never interrupted: that would close H2's file in the middle of a read, with an error.
      thread.join(STOP_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean isStopped() {
    return stopped.getCount() == 0;
  }

  // ---- by itself

  private void runAll() {
    try {
      for (CacheImport next = take(); next != null; next = take()) {
        run(next);
      }
    } catch (InterruptedException e) {
      logger.atFine().withCause(e).log("nobody interrupts this thread");
    }
  }

  /** Waits for the next one; null when it is over. */
  private synchronized CacheImport take() throws InterruptedException {
    while (!isStopped()) {
      Optional<CacheImport> first =
          waiting.stream().filter(one -> FIRST.contains(one.cache())).findFirst();
      Optional<CacheImport> next = first.isPresent() || !ready ? first : mostWanted();
      if (next.isPresent()) {
        waiting.remove(next.get());
        return next.get();
      }
      wait();
    }
    return null;
  }

  /** What it does not have is asked for most; among those that nobody asks, the smallest. */
  private Optional<CacheImport> mostWanted() {
    return waiting.stream()
        .max(
            Comparator.comparingLong(CacheImport::misses)
                .thenComparing(Comparator.comparingLong(CacheImport::fileBytes).reversed()));
  }

  private void run(CacheImport one) throws InterruptedException {
    boolean isFirst = FIRST.contains(one.cache());
    try {
      Pace pace = isFirst ? new UnlessStopped(stopped) : new SharedPace(stopped);
      finished(one.run(/* dryRun= */ false, pace, Progress.NONE));
    } catch (RuntimeException | Error e) {
      logger.atSevere().withCause(e).log("Cache %s cannot be taken over from H2", one.cache());
    } finally {
      if (isFirst) {
        synchronized (this) {
          firstLeft--;
          notifyAll();
        }
      }
    }
  }

  private void finished(ImportReport report) {
    if (report.state() != State.RUNNING) {
      see(report.cache());
    }
    String cache = report.cache();
    switch (report.state()) {
      case DONE, FULL -> {
        logger.atInfo().log(
            "Cache %s: took over %d values from H2 in %d ms",
            cache, report.imported(), report.millis());
        if (!report.detail().isEmpty()) {
          warnings.accept("Cache %s: %s".formatted(cache, report.detail()));
        }
      }
      case FAILED ->
          warnings.accept(
              "Cache %s could not be taken over from H2: %s. To try again: ssh HOST cache-chroniclemap import %s"
                  .formatted(cache, report.detail(), cache));
      case NOTHING, WAITING, RUNNING, INTERRUPTED, IN_USE -> {}
    }
  }

  private void see(String cache) {
    try {
      ledger.see(cache);
    } catch (IOException e) {
      logger.atWarning().withCause(e).log("Cannot note that cache %s was taken over", cache);
    }
  }

  // ---- when asked

  /** How the import of a cache stands. */
  public ImportReport report(String cache) {
    CacheImport known = find(cache);
    return known == null
        ? ImportReport.of(cache, State.NOTHING, "H2 has no file of it")
        : known.report();
  }

  private synchronized CacheImport find(String cache) {
    return imports.get(cache);
  }

  /**
   * Takes over a cache now, in the calling thread, which must not be interrupted; or tells how far
   * it is if that is being done.
   *
   * @param dryRun whether to count only
   */
  public ImportReport run(String cache, boolean dryRun, Progress progress)
      throws InterruptedException {
    CacheImport known = find(cache);
    if (known == null) {
      return report(cache);
    }
    ImportReport report = known.run(dryRun, new SharedPace(stopped), progress);
    if (!dryRun) {
      synchronized (this) {
        if (report.state() != State.RUNNING) {
          waiting.remove(known);
        }
      }
      if (report.state() == State.DONE || report.state() == State.FULL) {
        see(cache);
      }
    }
    return report;
  }

  /** Names of H2's files whose caches nobody has opened: of plugins that are not there, say. */
  public synchronized List<String> unknown() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      Set<Path> known = new HashSet<>();
      imports.keySet().forEach(cache -> known.add(H2File.pathOf(folder, cache)));
      return files
          .filter(H2File::isOne)
          .filter(file -> !known.contains(file))
          .map(file -> file.getFileName().toString())
          .sorted()
          .toList();
    }
  }

  /** As fast as it goes. */
  private record UnlessStopped(CountDownLatch stopped) implements Pace {
    @Override
    public boolean keep(int bytes) {
      return stopped.getCount() > 0;
    }

    @Override
    public boolean await(long nanos) throws InterruptedException {
      return !stopped.await(nanos, TimeUnit.NANOSECONDS);
    }
  }
}
