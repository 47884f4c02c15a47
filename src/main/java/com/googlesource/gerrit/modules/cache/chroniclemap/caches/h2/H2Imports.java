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

import static com.google.common.collect.ImmutableSet.toImmutableSet;

import com.google.common.collect.ImmutableSet;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportLedger.Verdict;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportReport.State;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.ImportMode;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import java.io.IOException;
import java.io.UncheckedIOException;
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
import java.util.function.BiConsumer;
import java.util.logging.Level;
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
 * <p>What keeps an invalidated value from coming back:
 *
 * <ul>
 *   <li>While values come in, {@link Store#importValue} lets all that was changed since the start
 *       win; of sessions and tokens also what somebody was told is not there.
 *   <li>What was broken off goes on only where nothing was changed since, which the store notes.
 *   <li>What H2 had when this module was ready for the first time is not begun any more, whatever
 *       becomes of the stores; {@link ImportLedger} notes that beside H2's files.
 *   <li>If H2 or another module was in use in between, or nobody knows, the stores begin empty, and
 *       in doubt nothing comes in either; but for those whose values depend on their keys alone.
 * </ul>
 *
 * <p>Safe for any thread.
 */
public final class H2Imports {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Whose loss users would notice: they would have to sign in again. */
  private static final ImmutableSet<String> FIRST = ImmutableSet.of("web_sessions", "oauth_tokens");

  private static final int FIRST_SECONDS = 2;

  /** What H2 held longer ago than this is not taken over by itself. */
  private static final Duration RECENT = Duration.ofDays(7);

  private static final long STOP_MILLIS = 500;

  private final Path folder;
  private final Set<String> neverStale;
  private final boolean automatic;
  private final ImportLedger ledger;
  private final BiConsumer<Level, String> log;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final Thread thread = new Thread(this::runAll, "cache-chroniclemap-import");

  /** All imports there are, by cache. Guarded by this. */
  private final Map<String, CacheImport> imports = new LinkedHashMap<>();

  /** Those that the thread is to run. Guarded by this. */
  private final List<CacheImport> waiting = new ArrayList<>();

  /** Caches for which it was asked how to open their stores. Guarded by this. */
  private final Set<String> asked = new HashSet<>();

  /** Of {@link #FIRST}, those that were not run yet. Guarded by this. */
  private int firstLeft;

  /** Guarded by this. */
  private boolean ready;

  /**
   * Looks at what is known of H2's files.
   *
   * @param folder of H2's files: Gerrit's {@code cache.directory}
   * @param neverStale names of caches whose values depend on their keys alone
   * @param hasStores whether there are files of stores
   * @param automatic whether to take over what H2 has without being asked
   * @param log told what people should know, by level
   */
  public H2Imports(
      Path folder,
      Set<String> neverStale,
      boolean hasStores,
      boolean automatic,
      BiConsumer<Level, String> log) {
    this.folder = folder;
    this.neverStale = neverStale;
    this.log = log;
    this.automatic = automatic;
    this.ledger = new ImportLedger(folder, hasStores);
    thread.setDaemon(true);
  }

  /** The file in which it is noted what is known of H2's files in a folder. */
  static Path noteIn(Path folder) {
    return folder.resolve(ImportLedger.FILE);
  }

  /**
   * What people are to do where {@link #forget} fails. Never to delete the note: without stores
   * that is how a site looks that is new to this module, so all that H2 has would come in.
   */
  public static String remedyIn(Path folder) {
    return "Before that start, and while no Gerrit runs here, make %s an empty file; do not delete it"
        .formatted(noteIn(folder));
  }

  /** Whether H2 has used a file not long ago. */
  private boolean isRecent(Path file) {
    try {
      return Files.getLastModifiedTime(file).toInstant().isAfter(Instant.now().minus(RECENT));
    } catch (IOException e) {
      return false;
    }
  }

  private Set<String> h2Caches() throws IOException {
    if (!Files.isDirectory(folder)) {
      return Set.of();
    }
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(H2File::isOne).map(H2File::cacheOf).collect(toImmutableSet());
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /**
   * Why what the stores hold must not be used, for people; empty if it may. If it must not, what is
   * known is to be {@link #forget forgotten} and all stores that can be stale are to be deleted
   * before {@link #begin}.
   */
  public Optional<String> whyStoresAreStale() {
    return switch (ledger.verdict()) {
      case FIRST, CURRENT -> Optional.empty();
      case H2_RAN ->
          Optional.of(
              "a Gerrit with H2 caches has run since, and may have invalidated some of what they"
                  + " hold");
      case DOUBT ->
          Optional.of(
              ledger.doubt()
                  + ", so nobody knows what was invalidated since; nor is anything else taken over"
                  + " from H2");
    };
  }

  /**
   * Forgets what is known of H2's files and the stores, so that the next start trusts neither.
   *
   * @param folder of H2's files
   * @throws IOException if it may still be there
   */
  public static void forget(Path folder) throws IOException {
    ImportLedger.forget(folder);
  }

  /**
   * To be called before any store is opened.
   *
   * @throws IOException if it can't be noted that the stores are as new as H2's files
   */
  public void begin() throws IOException {
    Set<String> left = new HashSet<>();
    if (ledger.verdict() == Verdict.DOUBT) {
      left.addAll(h2Caches());
      left.removeAll(neverStale);
    }
    ledger.begin(left);
    thread.start();
  }

  /**
   * How to open the store of a cache. Begun is only what this process is the first to open, once: a
   * store that has no file then was never changed.
   *
   * @param mayResume whether an import into it was begun and may go on
   */
  public synchronized ImportMode modeOf(String cache, boolean mayResume) {
    if (!Files.exists(H2File.pathOf(folder, cache))) {
      return ImportMode.NONE;
    }
    if (asked.add(cache) && !ledger.wasSeen(cache)) {
      return ImportMode.BEGIN;
    }
    return mayResume ? ImportMode.RESUME : ImportMode.NONE;
  }

  /** Whether what is not in a cache must not come in after somebody was told so. */
  public static boolean isSecret(String cache) {
    return FIRST.contains(cache);
  }

  /**
   * Takes over a cache whose store was opened in a mode other than NONE, now or later or when asked
   * to.
   */
  public void add(PersistentCacheDef<?, ?> def, Store store) {
    String cache = def.name();
    boolean wait;
    synchronized (this) {
      // While a plugin is being replaced there are two for a while, and one file.
      CacheImport before = imports.get(cache);
      remove(cache);
      CacheImport added = new CacheImport(def, store, H2File.pathOf(folder, cache), before);
      imports.put(cache, added);
      if (!automatic || !isRecent(H2File.pathOf(folder, cache))) {
        return;
      }
      waiting.add(added);
      if (FIRST.contains(cache)) {
        firstLeft++;
      }
      wait = FIRST.contains(cache) && ready;
      notifyAll();
    }
    if (wait) {
      awaitFirst();
    }
  }

  /** A cache was closed, or is not one to be taken over any more. */
  public synchronized void remove(String cache) {
    CacheImport removed = imports.remove(cache);
    if (removed != null && waiting.remove(removed) && FIRST.contains(cache)) {
      firstLeft--;
      notifyAll();
    }
  }

  /** Gerrit is about to be ready: waits for what is to be there by then, but not for long. */
  public void ready() {
    awaitFirst();
    try {
      ledger.see(h2Caches());
    } catch (IOException | RuntimeException e) {
      forgetAfter(e);
    }
    synchronized (this) {
      ready = true;
      notifyAll();
    }
  }

  /** A store that is lost from now on must not be filled with what H2 held at this start. */
  private void forgetAfter(Exception cause) {
    try {
      forget(folder);
    } catch (IOException | RuntimeException e) {
      cause.addSuppressed(e);
    }
    logger.atWarning().withCause(cause).log(
        "Cannot note in %s what was taken over from H2. The next start trusts neither H2's files nor"
            + " the stores if that file is empty. %s",
        noteIn(folder), remedyIn(folder));
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
  @Nullable
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
      tell(
          one.run(
              isFirst ? SharedPace.none(stopped) : SharedPace.unnoticed(stopped), Progress.NONE));
    } catch (RuntimeException | Error e) {
      // What is left of it is left to the next start; the others have their turn.
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

  private void tell(ImportReport report) {
    String cache = report.cache();
    switch (report.state()) {
      case DONE, FULL -> {
        log.accept(
            Level.INFO,
            "Cache %s: took over %d values from H2 in %d ms"
                .formatted(cache, report.imported(), report.millis()));
        warnOfDetail(report);
      }
      case INTERRUPTED -> warnOfDetail(report);
      case FAILED ->
          log.accept(
              Level.WARNING,
              "Cache %s could not be taken over from H2: %s. To try again: ssh HOST cache-chroniclemap import %s"
                  .formatted(cache, report.detail(), cache));
      case NOTHING, WAITING, RUNNING, IN_USE -> {}
    }
  }

  private void warnOfDetail(ImportReport report) {
    if (!report.detail().isEmpty()) {
      log.accept(Level.WARNING, "Cache %s: %s".formatted(report.cache(), report.detail()));
    }
  }

  // ---- when asked

  @Nullable
  private synchronized CacheImport find(String cache) {
    return imports.get(cache);
  }

  /**
   * Takes over a cache now, in the calling thread, which must not be interrupted, and waits for
   * whoever is doing that.
   *
   * @param dryRun whether to count only
   */
  public ImportReport run(String cache, boolean dryRun, Progress progress)
      throws InterruptedException {
    CacheImport known = find(cache);
    if (known == null) {
      return Files.exists(H2File.pathOf(folder, cache))
          ? ImportReport.of(cache, State.IN_USE, "it was taken over or in use before")
          : ImportReport.of(cache, State.NOTHING, "H2 has no file of it");
    }
    if (dryRun) {
      return known.count(SharedPace.brisk(stopped), progress);
    }
    ImportReport report = known.run(SharedPace.brisk(stopped), progress);
    if (report.state() != State.INTERRUPTED) {
      synchronized (this) {
        if (waiting.remove(known) && FIRST.contains(cache)) {
          firstLeft--;
          notifyAll();
        }
      }
    }
    return report;
  }
}
