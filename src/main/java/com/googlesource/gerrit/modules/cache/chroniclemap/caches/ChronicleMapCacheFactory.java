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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.Streams;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.server.cache.MemoryCacheFactory;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.plugins.Plugin;
import com.google.gerrit.server.plugins.ReloadPluginListener;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.google.inject.name.Named;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.h2.H2Takeover;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.CheckReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedReport;
import com.googlesource.gerrit.modules.cache.chroniclemap.shared.SharedValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.JvmFlags;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Progress;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreUnavailableException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.VerifyReport;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Level;

/**
 * The factory of Gerrit's persistent caches. A cache whose {@code diskLimit} is 0 or less is kept
 * in memory only, and so are all caches while the cache folder is not set or cannot be used.
 */
@Singleton
final class ChronicleMapCacheFactory
    implements PersistentCacheFactory, CacheInventory, LifecycleListener, ReloadPluginListener {
  /** The name of the flag that forbids changes on disk. */
  static final String READ_ONLY = "DiskCacheReadOnly";

  private final MemoryCacheFactory memory;
  private final CacheSettings settings;
  private final DynamicMap<Cache<?, ?>> bound;
  private final AtomicBoolean readOnly;

  /** Empty if all caches are in memory only until the next start. */
  final Optional<StoreDirectory> directory;

  /** Writes values whose write is delayed. */
  final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(
          1,
          Thread.ofPlatform().daemon().name("cache-chroniclemap-delayed").factory(),
          new ThreadPoolExecutor.DiscardPolicy());

  /** Empty if there is no folder of H2's files. */
  private final Optional<H2Takeover> takeover;

  /** Empty if no values are shared with other servers. */
  private final Optional<SharedValues> shared;

  private final List<ChronicleMapCache<?, ?>> caches = new CopyOnWriteArrayList<>();

  /** Plugins whose new version runs already while the old one is not stopped yet. */
  private final Set<String> reloaded = ConcurrentHashMap.newKeySet();

  private final StartLog log = new StartLog();
  private Optional<String> memoryOnlyReason = Optional.empty();

  /** Why this server must not start; empty if it may. */
  private Optional<String> refusal = Optional.empty();

  /** Whether the stores may be stale at the next start and this could not be recorded. */
  private volatile boolean isDistrustUnrecorded;

  @Inject
  ChronicleMapCacheFactory(
      MemoryCacheFactory memory,
      CacheSettings settings,
      DynamicMap<Cache<?, ?>> bound,
      @Named(READ_ONLY) AtomicBoolean readOnly) {
    this.memory = memory;
    this.readOnly = readOnly;
    this.settings = settings;
    this.bound = bound;
    this.takeover =
        settings
            .h2Directory()
            .map(folder -> new H2Takeover(folder, PureCaches.NAMES, importsFromH2(), log::tell));
    this.directory = openDirectory();
    // A folder that is opened later may have notes of flushes that this process has not read.
    this.shared = directory().flatMap(this::shareValues);
    long delay = DelayedWrites.DELAY_SECONDS;
    var unused = timer.scheduleWithFixedDelay(this::writeDelayed, delay, delay, TimeUnit.SECONDS);
  }

  private void writeDelayed() {
    try {
      boolean isLast = timer.isShutdown();
      caches.forEach(cache -> cache.disk.write(isLast));
    } catch (RuntimeException | Error e) {
      // Not even logged, as memory may lack for that: the timer never calls again what has thrown.
    }
  }

  /** Has delayed values written soon. One task for that waits at most, beside the regular one. */
  private void writeSoon() {
    if (timer.getQueue().size() < 2) {
      timer.execute(this::writeDelayed);
    }
  }

  /**
   * Opens the folder of the stores. A server does not start if a JVM flag is missing or another
   * process uses the folder; after any other failure the folder is tried again. An offline program
   * continues with caches in memory.
   */
  private Optional<StoreDirectory> openDirectory() {
    Optional<String> missingFlags = JvmFlags.missing();
    if (missingFlags.isPresent()) {
      refuseToServe(missingFlags.get());
      return memoryOnly(missingFlags.get());
    }
    Optional<Path> path = settings.directory();
    if (path.isEmpty()) {
      return memoryOnly("cache.directory is not set in gerrit.config, which a start reads");
    }
    StoreDirectory made = StoreDirectory.unopened(path.get(), this::check, this::distrust);
    boolean isProgram = settings.isOfflineProgram();
    try {
      made.openWhenFree(isProgram ? Duration.ZERO : StoreDirectory.PATIENCE, this::warnOfWait);
    } catch (StoreUnavailableException e) {
      if (e.isInUse()) {
        // Values that this server invalidates would stay in the stores of the other server.
        refuseToServe(
            e.getMessage()
                + ". End that process, or set another cache.directory in etc/gerrit.config, and"
                + " start Gerrit again");
      }
      if (isProgram || e.isInUse()) {
        made.close();
        return memoryOnly(e.getMessage());
      }
      Optional<StoreDirectory> unused = memoryOnly(made.obstacle().orElseThrow());
    }
    return Optional.of(made);
  }

  private void warnOfWait(String who) {
    StartLog.writeNow(
        settings.site,
        "WARN ",
        lenientFormat(
            "%s. Gerrit waits for up to %s s until it has ended",
            who, StoreDirectory.PATIENCE.toSeconds()));
  }

  /**
   * Has {@link #start} fail. If the constructor failed, Guice would call it for each user again.
   */
  private void refuseToServe(String reason) {
    if (!settings.isOfflineProgram()) {
      refusal = Optional.of(reason);
    }
  }

  /**
   * Records that all stores that can be stale may be stale when the folder is opened next; returns
   * whether that is recorded.
   */
  private synchronized boolean distrust() {
    try {
      H2Takeover.distrust(settings.h2Directory().orElseThrow());
      isDistrustUnrecorded = false;
    } catch (IOException | RuntimeException e) {
      if (!isDistrustUnrecorded) {
        log.warn(
            "The caches on disk and the H2 files may be stale at the next start, and this cannot be"
                + lenientFormat(
                    " recorded: %s. %s",
                    e, H2Takeover.remedyIn(settings.h2Directory().orElseThrow())));
      }
      isDistrustUnrecorded = true;
    }
    return !isDistrustUnrecorded;
  }

  /**
   * Compares the stores with the files of H2 and of others, and deletes those that are stale.
   *
   * @throws IOException if that cannot be done now. What cannot be read says nothing of the stores,
   *     which stay as they are
   */
  private synchronized void check(StoreDirectory locked) throws IOException {
    if (isDistrustUnrecorded && !distrust()) {
      throw new IOException("its values may be stale, and this cannot be recorded");
    }
    takeover.orElseThrow().begin(locked);
    locked.exposed.ifPresent(log::warn);
    if (memoryOnlyReason.isPresent()) {
      log.tell(Level.INFO, "Caches are on disk again: " + locked.path + " could be opened");
    }
  }

  private Optional<SharedValues> shareValues(Path folder) {
    if (settings.isOfflineProgram()) {
      return Optional.empty();
    }
    try {
      return settings.shareValues(folder);
    } catch (IllegalArgumentException e) {
      refuseToServe(e.getMessage());
      return Optional.empty();
    }
  }

  private boolean importsFromH2() {
    if (settings.namesImportAsBefore()) {
      log.warn(
          "cache.importFromH2 in etc/gerrit.config is cache-chroniclemap.importFromH2 now: rename"
              + " it, as the next version reads only the new name");
    }
    try {
      return settings.importFromH2();
    } catch (IllegalArgumentException e) {
      log.warn("Nothing is imported from H2: " + e.getMessage());
      return false;
    }
  }

  private Optional<StoreDirectory> memoryOnly(String reason) {
    memoryOnlyReason = Optional.of(reason);
    if (refusal.isEmpty()) {
      log.warn("All caches are kept in memory only: " + reason);
    }
    return Optional.empty();
  }

  @Override
  public Optional<Path> directory() {
    return directory.filter(folder -> folder.obstacle().isEmpty()).map(folder -> folder.path);
  }

  @Override
  public Optional<String> memoryOnlyReason() {
    return directory.isEmpty() ? memoryOnlyReason : directory.get().obstacle();
  }

  @Override
  public Optional<String> exposed() {
    return directory.flatMap(opened -> opened.exposed);
  }

  @Override
  public List<CacheReport> reports() {
    return caches.stream()
        .filter(cache -> directory().isPresent())
        .map(ChronicleMapCache::report)
        .sorted(Comparator.comparing(CacheReport::name))
        .toList();
  }

  @Override
  public Optional<SharedReport> shared() {
    return shared.map(SharedValues::report);
  }

  @Override
  public Optional<CheckReport> checkShared() {
    return shared.map(SharedValues::check);
  }

  @Override
  public VerifyReport verify(String name, boolean repair, Progress progress)
      throws InterruptedException {
    // While a plugin is being reloaded, the newest of two counts.
    Optional<ChronicleMapCache<?, ?>> found =
        Streams.findLast(caches.stream().filter(cache -> cache.name.equals(name)));
    return found.isPresent()
        ? found.get().disk.store.verify(repair, progress)
        : new VerifyReport(0, 0, 0, false, false, 0);
  }

  @Override
  public <K, V> Cache<K, V> build(PersistentCacheDef<K, V> def) {
    Optional<DiskTier<K, V>> disk = disk(def);
    return disk.isEmpty() ? memory.build(def) : add(def, disk.get(), null);
  }

  @Override
  public <K, V> LoadingCache<K, V> build(PersistentCacheDef<K, V> def, CacheLoader<K, V> loader) {
    Optional<DiskTier<K, V>> disk = disk(def);
    return disk.isEmpty() ? memory.build(def, loader) : add(def, disk.get(), loader);
  }

  private <K, V> ChronicleMapCache<K, V> add(
      PersistentCacheDef<K, V> def, DiskTier<K, V> disk, @Nullable CacheLoader<K, V> loader) {
    ChronicleMapCache<K, V> cache =
        new ChronicleMapCache<>(def, memory, disk, loader, settings.memoryLimit(def));
    caches.add(cache);
    return cache;
  }

  /** Makes the disk tier of a cache; empty for a cache in memory only. */
  private <K, V> Optional<DiskTier<K, V>> disk(PersistentCacheDef<K, V> def) {
    settings.check(def);
    long limit = settings.diskLimit(def);
    if (directory.isEmpty()) {
      return Optional.empty();
    }
    if (limit < StoreDirectory.MIN_BYTES) {
      discard(def);
    }
    // Offline programs leave the takeover to the server. Until then, stores may be stale.
    if (limit <= 0 || (settings.isOfflineProgram() && takeover.orElseThrow().hasFile(def.name()))) {
      return Optional.empty();
    }
    try {
      Store store =
          directory
              .get()
              .openStore(
                  new StoreSettings(
                      def.name(),
                      def.version(),
                      limit,
                      settings.maxAge(def),
                      oldValuesOf(def.name())),
                  takeover.orElseThrow().seed(def),
                  report -> log.report(def.name(), report));
      Optional<SharedValues> sharing =
          PureCaches.SHARED.contains(def.name()) ? shared : Optional.empty();
      DiskTier<K, V> tier =
          new DiskTier<>(
              def,
              store,
              readOnly,
              settings.maxAge(def),
              settings.refreshAfterWrite(def),
              sharing,
              this::writeSoon);
      sharing.ifPresent(all -> all.add(tier));
      return Optional.of(tier);
    } catch (StoreUnavailableException e) {
      log.warn("Cache " + def.name() + " is kept in memory only: " + e.getMessage());
      return Optional.empty();
    }
  }

  private static OldValues oldValuesOf(String cache) {
    return PureCaches.NAMES.contains(cache)
        ? OldValues.PURE
        : H2Takeover.isSecret(cache) ? OldValues.SECRET : OldValues.MUTABLE;
  }

  /** Deletes the store of a cache in memory only, which would miss the invalidations. */
  private void discard(PersistentCacheDef<?, ?> def) {
    // An offline program only invalidates what it has computed.
    if (PureCaches.NAMES.contains(def.name()) || settings.isOfflineProgram()) {
      return;
    }
    try {
      directory.get().discard(def.name(), def.version(), takeover.orElseThrow().seed(def));
    } catch (IOException e) {
      if (directory().isPresent() || !distrust()) {
        log.warn("Cache " + def.name() + ": its file cannot be deleted: " + e.getMessage());
      }
    }
  }

  /** Gerrit calls this after the new plugin has its caches and before it stops the old plugin. */
  @Override
  public void onReloadPlugin(Plugin oldPlugin, Plugin newPlugin) {
    reloaded.add(newPlugin.getName());
  }

  /**
   * Closes the caches of a plugin that is being stopped. If the plugin was reloaded, the caches of
   * the new plugin have the same names. They stay open, and are those that are bound by now.
   */
  @Override
  public void onStop(String plugin) {
    if (directory.isEmpty()) {
      return;
    }
    Set<Cache<?, ?>> staying = Collections.newSetFromMap(new IdentityHashMap<>());
    if (reloaded.remove(plugin)) {
      addBound(plugin, staying);
    }
    // The names of plugin a.b's caches start with "a." as those of plugin a do.
    bound.plugins().stream()
        .filter(other -> other.startsWith(plugin + "."))
        .forEach(other -> addBound(other, staying));
    List<ChronicleMapCache<?, ?>> stopping =
        caches.stream()
            .filter(cache -> cache.name.startsWith(plugin + ".") && !staying.contains(cache))
            .toList();
    caches.removeAll(stopping);
    stopping.forEach(cache -> directory.get().closeStore(cache.disk.store));
  }

  private void addBound(String plugin, Set<Cache<?, ?>> result) {
    bound.byPlugin(plugin).values().forEach(provider -> result.add(provider.get()));
  }

  /**
   * Starts the log, when Gerrit is about to be ready.
   *
   * @throws IllegalStateException if this server must not start. By now its error_log, where
   *     administrators look, is open
   */
  @Override
  public void start() {
    log.open();
    refusal.ifPresent(
        reason -> {
          // Gerrit ends now, without a call of stop().
          directory.ifPresent(StoreDirectory::close);
          throw new IllegalStateException(reason);
        });
    shared.ifPresent(SharedValues::follow);
  }

  @Override
  public void stop() {
    if (isDistrustUnrecorded) {
      boolean unused = distrust();
    }
    shared.ifPresent(SharedValues::stop);
    timer.shutdown();
    writeDelayed();
    directory.ifPresent(StoreDirectory::close);
  }
}
