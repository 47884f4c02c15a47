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

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import com.google.common.flogger.FluentLogger;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.ImportLedger.Verdict;
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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.logging.Level;
import java.util.stream.Stream;

/**
 * The imports from Gerrit's H2 caches. After a switch to this module, caches need not start empty
 * and users need not sign in again.
 *
 * <p>Imports run automatically only if H2 was in use recently. Web sessions and OAuth tokens come
 * first: Gerrit waits for them up to {@value #FIRST_SECONDS} s before it answers requests. When
 * Gerrit is ready, the other caches follow one by one, starting with the cache that has most
 * misses. A single thread runs the imports, and is idle most of the time.
 *
 * <p>An invalidated value is never imported:
 *
 * <ul>
 *   <li>During an import, {@link Store#importValue} skips each key that has changed since the
 *       start. For sessions and tokens, it also skips each key that was reported as missing.
 *   <li>An interrupted import resumes only if nothing has changed since, which the store records.
 *   <li>Caches that H2 had when this module was first ready are never imported from the beginning
 *       again. {@link ImportLedger} records them beside H2's files.
 *   <li>If H2 or another module was in use since the last start, or in case of doubt, the stores
 *       start empty. In case of doubt nothing is imported either. Caches whose values depend on
 *       their keys alone are exempt.
 * </ul>
 *
 * <p>Safe for any thread.
 */
public final class H2Imports {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** The caches whose loss users would notice, as they would have to sign in again. */
  private static final ImmutableSet<String> FIRST = ImmutableSet.of("web_sessions", "oauth_tokens");

  /**
   * How long Gerrit waits for these before it answers requests. A session that is asked for before
   * it was imported is lost, so a start on a busy machine or disk is better slow; a disk that hangs
   * must not prevent it, though.
   */
  private static final int FIRST_SECONDS = 30;

  /** The age from which H2 files are not imported automatically. */
  private static final Duration RECENT = Duration.ofDays(7);

  private static final long STOP_MILLIS = 500;

  /** Ends of imports that may have left something out, which is warned of. */
  private static final Set<State> WITH_DETAIL =
      Sets.immutableEnumSet(State.DONE, State.FULL, State.INTERRUPTED);

  private final Path folder;
  private final Set<String> neverStale;
  private final boolean automatic;
  private final ImportLedger ledger;
  private final BiConsumer<Level, String> log;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final Thread thread =
      Thread.ofPlatform().daemon().name("cache-chroniclemap-import").unstarted(this::runAll);

  /** All imports by cache. Changed under this object's lock. */
  private final Map<String, CacheImport> imports = new ConcurrentHashMap<>();

  /** The imports that the thread has yet to run. Guarded by this. */
  private final List<CacheImport> waiting = new ArrayList<>();

  /** Caches for which {@link #modeOf} was called. Guarded by this. */
  private final Set<String> asked = new HashSet<>();

  /** The import that the thread runs; null if none. Guarded by this. */
  @Nullable private CacheImport running;

  /** Guarded by this. */
  private boolean ready;

  /**
   * Reads the records on H2's files.
   *
   * @param folder of H2's files, which is Gerrit's {@code cache.directory}
   * @param neverStale names of caches whose values depend on their keys alone
   * @param hasStores whether there are files of stores
   * @param automatic whether to import without a command
   * @param log gets messages for people, with their level
   * @throws IOException if the records, or what they are compared with, cannot be read now
   */
  public H2Imports(
      Path folder,
      Set<String> neverStale,
      boolean hasStores,
      boolean automatic,
      BiConsumer<Level, String> log)
      throws IOException {
    this.folder = folder;
    this.neverStale = neverStale;
    this.log = log;
    this.automatic = automatic;
    this.ledger = new ImportLedger(folder, hasStores);
  }

  /**
   * What administrators have to do if {@link #forget} fails. They must not delete the file: without
   * that file and without stores, a site looks new to this module, so H2's values would be
   * imported.
   */
  public static String remedyIn(Path folder) {
    return lenientFormat(
        "Before that start, and while no Gerrit runs here, make %s an empty file; do not delete it",
        folder.resolve(ImportLedger.FILE));
  }

  /** Whether H2 has written a file recently. */
  private boolean isRecent(Path file) {
    try {
      return Files.getLastModifiedTime(file).toInstant().isAfter(Instant.now().minus(RECENT));
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Why the stores must not be used, for people; empty if they may be. If they must not, the caller
   * has to {@link #forget} the records and to delete all stores that can be stale, before {@link
   * #begin}.
   */
  public Optional<String> whyStoresAreStale() {
    return switch (ledger.verdict) {
      case FIRST, CURRENT -> Optional.empty();
      case H2_RAN ->
          Optional.of(
              "a Gerrit with H2 caches has run since, and may have invalidated some of their"
                  + " values");
      case DOUBT ->
          Optional.of(
              ledger.doubt
                  + ", so they may still have values that were invalidated meanwhile; for the same"
                  + " reason nothing is imported from H2");
    };
  }

  /**
   * Deletes the records on H2's files and the stores, so that the next start trusts neither.
   *
   * @param folder of H2's files
   * @throws IOException if the records may still exist
   */
  public static void forget(Path folder) throws IOException {
    ImportLedger.forget(folder);
  }

  /**
   * Starts the imports. Must be called before any store opens its file.
   *
   * @param late whether caches were in use before: then only those are imported later, and on
   *     command, whose values depend on their keys alone
   * @throws IOException if it cannot be recorded that the stores are as new as H2's files
   */
  public void begin(boolean late) throws IOException {
    Set<String> left = new HashSet<>();
    if (late || ledger.verdict == Verdict.DOUBT) {
      left.addAll(H2File.cachesIn(folder));
      left.removeAll(neverStale);
    }
    ledger.begin(left);
    if (!late) {
      thread.start();
    }
  }

  /**
   * How to open the store of a cache. An import begins only in a store that this process is the
   * first to open, and only once: if the store has no file then, it was never changed.
   *
   * @param mayResume whether an interrupted import into the store may resume
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

  /** Whether keys of a cache must not be imported once they were reported as missing. */
  public static boolean isSecret(String cache) {
    return FIRST.contains(cache);
  }

  /**
   * Adds the import of a cache, whose store was opened in a mode other than NONE. The import runs
   * now, later, or on a command.
   */
  public synchronized void add(PersistentCacheDef<?, ?> def, Store store) {
    String cache = def.name();
    Path file = H2File.pathOf(folder, cache);
    // While a plugin is being reloaded, it has two stores for a while, but one H2 file.
    CacheImport added = new CacheImport(def, store, file, imports.get(cache));
    waitsNoMore(imports.put(cache, added));
    if (automatic && isRecent(file)) {
      waiting.add(added);
      notifyAll();
      if (FIRST.contains(cache) && ready) {
        awaitFirst();
      }
    }
  }

  /** Removes the import of a cache that was closed or is no longer to be imported. */
  public synchronized void remove(String cache) {
    waitsNoMore(imports.remove(cache));
  }

  private synchronized void waitsNoMore(@Nullable CacheImport one) {
    waiting.remove(one);
    notifyAll();
  }

  /** Waits a short while for the first imports, when Gerrit is about to be ready. */
  public void ready() {
    awaitFirst();
    try {
      ledger.see(H2File.cachesIn(folder));
    } catch (IOException | RuntimeException cause) {
      // Then the next start must distrust H2's files.
      try {
        forget(folder);
      } catch (IOException | RuntimeException e) {
        cause.addSuppressed(e);
      }
      logger.atWarning().withCause(cause).log(
          "Cannot record in %s what was imported from H2. If that file is empty, the next start"
              + " trusts neither H2's files nor the stores. %s",
          folder.resolve(ImportLedger.FILE), remedyIn(folder));
    }
    synchronized (this) {
      ready = true;
      notifyAll();
    }
  }

  private synchronized void awaitFirst() {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(FIRST_SECONDS);
    try {
      while (Stream.concat(waiting.stream(), Stream.ofNullable(running))
          .anyMatch(one -> FIRST.contains(one.cache))) {
        long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        if (millis <= 0) {
          log.accept(
              Level.WARNING,
              lenientFormat(
                  "The sessions in H2 are not all imported after %s s. Gerrit starts without the"
                      + " rest, and users whose session is asked for before it was imported have to"
                      + " sign in again",
                  FIRST_SECONDS));
          return;
        }
        wait(millis);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops all imports, which resume at the next start. Must be called before stores are closed. */
  public void stop() {
    stopped.countDown();
    synchronized (this) {
      notifyAll();
    }
    try {
      // The thread is not interrupted, as that would close H2's file in the middle of a read.
      thread.join(STOP_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // ---- automatic imports

  private void runAll() {
    try {
      for (CacheImport next = take(); next != null; next = take()) {
        run(next);
      }
    } catch (InterruptedException e) {
      logger.atFine().withCause(e).log("The import thread was interrupted");
    }
  }

  /** Waits for the next import; null after the stop. */
  @Nullable
  private synchronized CacheImport take() throws InterruptedException {
    while (stopped.getCount() > 0) {
      Optional<CacheImport> first =
          waiting.stream().filter(one -> FIRST.contains(one.cache)).findFirst();
      Optional<CacheImport> next = first.isPresent() || !ready ? first : mostWanted();
      if (next.isPresent()) {
        running = next.get();
        waiting.remove(running);
        return running;
      }
      wait();
    }
    return null;
  }

  /** The import of the cache with most misses; among those without misses, the smallest file. */
  private Optional<CacheImport> mostWanted() {
    return waiting.stream()
        .max(
            Comparator.comparingLong(CacheImport::misses)
                .thenComparing(Comparator.comparingLong(CacheImport::fileBytes).reversed()));
  }

  private void run(CacheImport one) throws InterruptedException {
    boolean isFirst = FIRST.contains(one.cache);
    try {
      log(
          one.run(
              /* dryRun= */ false,
              isFirst ? SharedPace.none(stopped) : SharedPace.unnoticed(stopped),
              Progress.NONE));
    } catch (RuntimeException | Error e) {
      // The next start resumes this import. The thread goes on with the others.
      logger.atSevere().withCause(e).log("Cache %s cannot be imported from H2", one.cache);
    } finally {
      synchronized (this) {
        running = null;
        notifyAll();
      }
    }
  }

  private void log(ImportReport report) {
    String cache = report.cache();
    switch (report.state()) {
      case DONE, FULL ->
          log.accept(
              Level.INFO,
              lenientFormat(
                  "Cache %s: imported %s values from H2 in %s ms",
                  cache, report.imported(), report.millis()));
      case FAILED ->
          log.accept(
              Level.WARNING,
              lenientFormat(
                  "Cache %s could not be imported from H2: %s. To try again: ssh HOST"
                      + " cache-chroniclemap import %s",
                  cache, report.detail(), cache));
      case INTERRUPTED, NOTHING, WAITING, RUNNING, IN_USE -> {}
    }
    if (WITH_DETAIL.contains(report.state()) && !report.detail().isEmpty()) {
      log.accept(Level.WARNING, lenientFormat("Cache %s: %s", cache, report.detail()));
    }
  }

  // ---- imports by command

  /**
   * Imports a cache in the calling thread, which must not be interrupted. If another thread is
   * importing the cache, waits for that thread.
   *
   * @param dryRun whether to count only
   */
  public ImportReport run(String cache, boolean dryRun, Progress progress)
      throws InterruptedException {
    CacheImport known = imports.get(cache);
    if (known == null) {
      return Files.exists(H2File.pathOf(folder, cache))
          ? ImportReport.of(cache, State.IN_USE, "it was imported or in use before")
          : ImportReport.of(cache, State.NOTHING, "H2 has no file of it");
    }
    ImportReport report = known.run(dryRun, SharedPace.brisk(stopped), progress);
    if (!dryRun && report.state() != State.INTERRUPTED) {
      waitsNoMore(known);
    }
    return report;
  }
}
