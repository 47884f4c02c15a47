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

import static com.google.common.base.Strings.lenientFormat;

import com.google.common.util.concurrent.Uninterruptibles;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreSettings.OldValues;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreUnavailableException.User;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.disk.Disk;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.Geometry;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.engine.RecordMapBuilder;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.DiscardMarkers;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.files.StoreFiles;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * The directory of all stores of a server, and the threads that open, write and maintain them.
 *
 * <p>The folder is locked, for one process at a time. The locks of segments are in memory, so two
 * processes that map the same file would write into one segment at the same time. The folder and
 * its files are readable by their owner only, because some caches hold secrets.
 *
 * <p>All methods may be called from any thread.
 */
public final class StoreDirectory implements AutoCloseable {
  private static final AtomicBoolean warm = new AtomicBoolean();
  private static final long SWEEP_SECONDS = 60;

  /** Less than between two sweeps. */
  private static final long LEAST_PAUSE_MILLIS = TimeUnit.SECONDS.toMillis(SWEEP_SECONDS / 2);

  /**
   * How long a server waits for a folder that another process uses: longer than gerrit.sh waits
   * before it kills a daemon that does not stop (30 s), shorter than it waits for a start (90 s).
   * The system property is for tests.
   */
  public static final Duration PATIENCE =
      Duration.ofSeconds(Long.getLong("cache-chroniclemap.patience.seconds", 60));

  /** How often what another process has locked is tried again. */
  static final Duration LOOK_AGAIN = Duration.ofMillis(100);

  /** The smallest limit of a store, bytes. */
  public static final long MIN_BYTES = Geometry.MIN_FILE_BYTES;

  /** How long {@link #close} may take in total for work that only waits for the disk. */
  private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The folder. */
  public final Path path;

  /** Why others than the owner may have rights to the files; empty if they have none. */
  public volatile Optional<String> exposed = Optional.empty();

  private final DirectoryLock lock;
  private final Disk disk;
  private final WhenLocked whenLocked;
  private final BooleanSupplier distrust;

  /** Held while the folder is opened, which nobody but stores that have no file waits for. */
  private final Object opening = new Object();

  /** Why the folder is not open; null if it is. Changed under {@link #opening}. */
  private volatile StoreUnavailableException obstacle;

  /** When the folder was last tried, by {@link #clock}. Guarded by {@link #opening}. */
  long lastTry;

  final LongSupplier clock;
  final StoreThreads threads;

  /** Held by the one thread that runs the periodic upkeep; the others are for awaited work. */
  private final ReentrantLock sweeping = new ReentrantLock();

  /** Open stores. Guarded by this. */
  private final Map<StoreSettings, Store> stores = new HashMap<>();

  /**
   * The last store that was created, by {@link StoreFiles#storeOf}. Once it is closed, later
   * changes of it are made in the next store of the same files. Guarded by this.
   */
  private final Map<String, WeakReference<Store>> last = new HashMap<>();

  /** Guarded by this. */
  private boolean closed;

  /** What a folder's owner has to do once it is locked, and before any store opens its file. */
  public interface WhenLocked {
    /**
     * Looks at the folder.
     *
     * @throws IOException if it must not be used now
     */
    void check(StoreDirectory folder) throws IOException;
  }

  /** Makes a folder that is not open yet. */
  StoreDirectory(
      Path path,
      Disk disk,
      LongSupplier clock,
      Function<String, ThreadFactory> named,
      WhenLocked whenLocked,
      BooleanSupplier distrust) {
    this.path = path;
    this.lock = new DirectoryLock(path, disk);
    this.disk = disk;
    this.disk.setLocked(false);
    this.obstacle = new StoreUnavailableException(path + " is not open yet", User.NOBODY);
    this.clock = clock;
    this.whenLocked = whenLocked;
    this.distrust = distrust;
    this.threads = new StoreThreads(named);
    threads.repeat(this::sweep, SWEEP_SECONDS);
  }

  /**
   * Makes a folder to be opened by {@link #openWhenFree}. If that fails, stores can be opened all
   * the same: they are in memory only, and each of their attempts to open a file tries the folder
   * first. What they miss meanwhile is marked in the folder, without its lock: a marker only has
   * values computed anew.
   *
   * @param distrust called for a store whose values must not be used and can be neither deleted nor
   *     marked; returns whether {@code whenLocked} will have the stores deleted, in this process or
   *     a later one
   */
  public static StoreDirectory unopened(
      Path path, WhenLocked whenLocked, BooleanSupplier distrust) {
    return new StoreDirectory(
        path, new Disk(), System::currentTimeMillis, StoreThreads::named, whenLocked, distrust);
  }

  /**
   * Begins to load Chronicle-Map's classes on a thread of its own, once per process. That takes a
   * third of a second of one processor, for which a server's start would wait at its first store.
   * Returns at once and never throws. Does nothing if flags are missing.
   */
  public static void warmUp() {
    if (JvmFlags.missing().isEmpty() && warm.compareAndSet(false, true)) {
      boolean unused =
          StoreThreads.start(
              "cache-chroniclemap-warm-up",
              () -> StoreThreads.doOnce("all", RecordMapBuilder::warmUp));
    }
  }

  /** Why the folder is not open, so that all stores are in memory only; empty if it is open. */
  public Optional<String> obstacle() {
    return Optional.ofNullable(obstacle).map(e -> e.getMessage() + "; tried again each minute");
  }

  /** Runs the periodic upkeep of all stores, unless the last one still waits for a disk. */
  void sweep() {
    if (sweeping.tryLock()) {
      try {
        snapshot().forEach(store -> StoreThreads.doOnce(store.name(), store::everyMinute));
      } finally {
        sweeping.unlock();
      }
    }
  }

  /**
   * Creates the folder if needed and locks it.
   *
   * @throws StoreUnavailableException if it cannot be created or written, or is locked already
   */
  public static StoreDirectory open(Path path) throws StoreUnavailableException {
    return open(path, new Disk(), System::currentTimeMillis);
  }

  /**
   * Opens the folder like {@link #open(Path)}, but waits while another process has it locked: an
   * older server may be about to stop.
   *
   * @param patience how long to wait at most
   * @param waiting called once, when the wait begins, with a message that names the other process
   */
  public void openWhenFree(Duration patience, Consumer<String> waiting)
      throws StoreUnavailableException {
    long begun = System.nanoTime();
    boolean told = false;
    for (tryNow(); obstacle != null; tryNow()) {
      if (obstacle.user != User.ANOTHER_PROCESS
          || System.nanoTime() - begun >= patience.toNanos()) {
        throw obstacle;
      }
      if (!told) {
        waiting.accept(obstacle.getMessage());
        told = true;
      }
      Uninterruptibles.sleepUninterruptibly(LOOK_AGAIN);
    }
  }

  static StoreDirectory open(Path path, Disk disk, LongSupplier clock)
      throws StoreUnavailableException {
    StoreDirectory made =
        new StoreDirectory(path, disk, clock, StoreThreads::named, folder -> {}, () -> false);
    try {
      made.openWhenFree(Duration.ZERO, who -> {});
      return made;
    } catch (StoreUnavailableException e) {
      made.close();
      throw e;
    }
  }

  private void tryNow() {
    lastTry = clock.getAsLong();
    try {
      createPrivate(path);
      lock.acquire();
      disk.setLocked(true);
      exposed = keepPrivate();
      whenLocked.check(this);
      obstacle = null;
    } catch (IOException | RuntimeException | Error e) {
      disk.setLocked(false);
      lock.close();
      String why = lenientFormat("cannot use %s: %s", path, Remedy.of(e));
      obstacle =
          e instanceof StoreUnavailableException inUse
              ? inUse
              : new StoreUnavailableException(why, e);
    }
  }

  /**
   * Opens the folder unless it is open. Tries that once for all stores that ask in a sweep.
   *
   * @throws StoreUnavailableException if it cannot be opened now
   */
  void openIfDue() throws StoreUnavailableException {
    synchronized (opening) {
      if (obstacle != null && Math.abs(clock.getAsLong() - lastTry) >= LEAST_PAUSE_MILLIS) {
        tryNow();
      }
      if (obstacle != null) {
        throw obstacle;
      }
    }
  }

  /**
   * Ensures, while the folder is not open, that stores that can be stale are not used when it is
   * opened; returns whether that is recorded.
   */
  boolean distrusts() {
    return obstacle != null && distrust.getAsBoolean();
  }

  private static void createPrivate(Path path) throws IOException {
    if (!Files.isDirectory(path)) {
      Files.createDirectories(path.toAbsolutePath().getParent());
      Files.createDirectory(
          path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }
  }

  /** Gives all rights to the owner alone; returns why others may have some even so. */
  private Optional<String> keepPrivate() {
    Optional<String> why = keepPrivate(path);
    try {
      for (Path file : disk.list(path)) {
        // Where links lead, nothing is ours.
        if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
          Optional<String> whyFile = keepPrivate(file);
          why = why.isPresent() ? why : whyFile;
        }
      }
      return why;
    } catch (IOException e) {
      return why.isPresent() ? why : Optional.of(exposed(path) + ": " + Remedy.of(e));
    }
  }

  private Optional<String> keepPrivate(Path file) {
    try {
      return disk.makePrivate(file) ? Optional.empty() : Optional.of(exposed(file));
    } catch (IOException | RuntimeException e) {
      return Optional.of(exposed(file) + ": " + Remedy.of(e));
    }
  }

  private static String exposed(Path file) {
    return "others than its owner may have rights to " + file + ", which may hold secrets";
  }

  /**
   * Deletes the files of all stores, of whatever name and version. To be called before any store is
   * opened.
   *
   * @param kept names of caches whose stores stay
   * @throws IOException if some of the files may still be there
   */
  public void deleteAllBut(Set<String> kept) throws IOException {
    StoreFiles.deleteAllBut(disk, path, kept);
  }

  /**
   * Ensures that no later start uses the files of a cache, of whatever version. If a store of the
   * cache is open, as while a plugin is being replaced, only the files of this version are
   * affected.
   *
   * @param seed is moved aside
   * @throws IOException if that fails
   */
  public synchronized void discard(String name, int version, Optional<Seed> seed)
      throws IOException {
    Disk.Step endSeed = seed.isPresent() ? () -> seed.get().moveAside(() -> {}) : () -> {};
    StoreFiles files = files(name, version);
    if (stores.keySet().stream().anyMatch(open -> open.name().equals(name))) {
      // The open store is that of a plugin being replaced. Its files stay until it is closed.
      files.markers.mark();
      endSeed.run();
    } else {
      files.discard(/* all= */ true, DiscardMarkers.missedChange(), endSeed);
    }
  }

  /**
   * Opens a store in the background. A store that is open already is shared: while a plugin is
   * being replaced, its caches are open twice.
   *
   * @param seed what the store's file begins with
   * @param onOpened called by a background thread with how the file was found; not for a shared
   *     store
   * @throws StoreUnavailableException if the limit is too small for any file, or the folder was
   *     closed
   */
  public synchronized Store openStore(
      StoreSettings settings, Optional<Seed> seed, Consumer<StartReport> onOpened)
      throws StoreUnavailableException {
    if (closed) {
      // Another process may have locked the folder by now.
      throw new StoreUnavailableException(
          path + " was closed: the server is being stopped", User.NOBODY);
    }
    if (settings.maxBytes() < MIN_BYTES) {
      throw new StoreUnavailableException(
          lenientFormat(
              "cache.%s.diskLimit is %s bytes; a store needs %s at least",
              settings.name(), settings.maxBytes(), MIN_BYTES),
          User.NOBODY);
    }
    Store store = stores.get(settings);
    if (store == null) {
      store = begin(settings, seed, onOpened);
      stores.put(settings, store);
    }
    store.users++;
    return store;
  }

  private StoreFiles files(String name, int version) {
    return new StoreFiles(disk, path, lock, name, version);
  }

  private Store begin(StoreSettings settings, Optional<Seed> seed, Consumer<StartReport> onOpened) {
    Optional<Store> other = takeOther(settings);
    // Until the other store is open, its queued changes may be why the files are marked for
    // discard.
    other.ifPresent(opened -> opened.current.finishOpening());
    StoreFiles files = files(settings.name(), settings.version());
    Store store = new Store(new StoreContext(settings, files, seed, this));
    String name = StoreFiles.storeOf(settings.name(), settings.version());
    WeakReference<Store> before = last.put(name, new WeakReference<>(store));
    // The other one, which is open, or one that was closed.
    Store older = before == null ? null : before.get();
    if (older != null) {
      older.successor = store;
    }
    other.ifPresent(Store::closeAndRelease);
    Runnable opening = () -> store.current.open().ifPresent(onOpened);
    boolean isLong = seed.isPresent() && settings.oldValues() != OldValues.SECRET;
    if (!((isLong && threads.fill(opening)) || threads.open(opening))) {
      var unused = store.current.open();
    }
    return store;
  }

  /** Opens a store without a seed, for a caller that need not know how its file was found. */
  public Store openStore(StoreSettings settings) throws StoreUnavailableException {
    return openStore(settings, Optional.empty(), report -> {});
  }

  /**
   * Takes a store of the same files out of {@link #stores}, which is open with another limit or
   * age. A file must not be mapped twice, and the newer settings count. There is at most one such
   * store.
   *
   * <p>A store of another version has files of its own, although the new store deletes them. Its
   * keys and values mean nothing to the new store. So a removal from it is not repeated in the new
   * store, nor in the memory of the new cache.
   */
  private Optional<Store> takeOther(StoreSettings settings) {
    return stores.keySet().stream()
        .filter(open -> open.name().equals(settings.name()) && open.version() == settings.version())
        .findAny()
        .map(stores::remove);
  }

  /**
   * Gives a store back. The last user's call closes the store, which may take a moment. Until then
   * it cannot be opened again, so that its file is mapped only once.
   */
  public synchronized void closeStore(Store store) {
    if (stores.values().removeIf(open -> open == store && --open.users == 0)) {
      store.closeAndRelease();
    }
  }

  private synchronized List<Store> snapshot() {
    return List.copyOf(stores.values());
  }

  /** Closes all stores and unlocks the folder. */
  @Override
  public void close() {
    long begun = System.nanoTime();
    try {
      synchronized (this) {
        closed = true;
        List<Store> all = snapshot();
        stores.clear();
        closeAll(all);
      }
      threads.stop(begun + SETTLE_NANOS);
    } finally {
      disk.setLocked(false);
      lock.close();
    }
  }

  /**
   * Closes the stores in parallel, and forces their files to disk in the time that is left: a
   * server that takes long to stop is killed.
   */
  private void closeAll(List<Store> all) {
    if (all.isEmpty()) {
      return;
    }
    long deadline = System.nanoTime() + SETTLE_NANOS;
    threads.inParallel(all, store -> store.current.close(), Long.MAX_VALUE);
    AtomicBoolean ours = new AtomicBoolean(true);
    threads.inParallel(all, store -> store.current.forceClosed(ours), deadline - System.nanoTime());
    synchronized (ours) {
      ours.set(false);
    }
    all.forEach(store -> store.current.release());
  }
}
