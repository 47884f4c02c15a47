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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import static com.google.common.util.concurrent.Uninterruptibles.awaitTerminationUninterruptibly;

import com.google.common.collect.MapMaker;
import com.google.common.flogger.FluentLogger;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.NfsRevalidation;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.PackedRefsFile;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.FileCounts;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListMemory;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ListTiers;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.ParsedRefs;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables.TableRefDatabase;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RefDisk;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.RepositoryWriter;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.JvmFlags;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Remedy;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreUnavailableException;
import java.io.File;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.RefDatabase;

/**
 * The cache of the parsed ref lists of all repositories in this process.
 *
 * <p>The cache can be used as soon as it is made, and opens its store at the first lookup. Without
 * a store, lists are kept in memory only. There is no store if another process uses the folder, a
 * flag of the Java virtual machine is missing, or the disk is full. A closed cache still answers,
 * from memory.
 *
 * <p>Any thread may call.
 */
public final class PackedRefsCache implements AutoCloseable {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** Closes the journals of repositories that are no longer open. */
  private static final Cleaner CLEANER = Cleaner.create();

  private static final long UPKEEP_SECONDS = 1;
  private static final long JOURNAL_SECONDS = 10;
  private static final long PACKING_SECONDS = 60;

  /** How long a stop waits for each kind of background task. */
  private static final long MAX_CLOSE_SECONDS = 10;

  private static final long KEEP_SECONDS = TimeUnit.HOURS.toSeconds(1);

  /** After how many calls of {@link #keep} an unused repository is forgotten. */
  private static final int MAX_IDLE_KEEPS = 24;

  /** The files by path, one for all instances of a repository. */
  private final Map<File, PackedRefsFile> files = new ConcurrentHashMap<>();

  /** The writers by path of the file, each as long as the repository is in use. */
  private final ConcurrentMap<File, RepositoryWriter> writes =
      new MapMaker().weakValues().makeMap();

  /** The databases on reftables, each as long as its repository is in use. */
  private final Set<TableRefDatabase> tables =
      Collections.newSetFromMap(new MapMaker().weakKeys().makeMap());

  private final LongAdder tableLookups = new LongAdder();

  /** The counts of repositories that were forgotten. */
  private final FileCounts forgotten = new FileCounts();

  private final RefsSettings settings;
  private final UpdateSettings updates;
  private final ListMemory memory;
  private final JGitFallbacks failures = new JGitFallbacks();
  private final ScheduledExecutorService upkeep;

  /** The threads that write packed-refs files, one for each file that is being written. */
  private final Executor writer;

  /** The thread that packs loose refs, one repository after the other; see {@link #packOthers}. */
  final ThreadPoolExecutor packing;

  /** How many packings had ended at the last call of {@link #packOthers}. */
  private long packed;

  /** The last uses of repositories, for the upkeep thread. */
  private final IdentityHashMap<PackedRefsFile, Idle> idle = new IdentityHashMap<>();

  /** Guarded by this. */
  @Nullable private StoreDirectory directory;

  /** The number of users that have started and not closed this cache. Guarded by this. */
  private int users;

  /** Held during a close, so that a second close waits for the first. */
  private final Object closing = new Object();

  /** Written under this object's lock. */
  private volatile boolean closed;

  /** Null before the first use; written under this object's lock. */
  @Nullable private volatile ListTiers tiers;

  private volatile String memoryOnlyReason = "not in use yet";

  private record Idle(long lastUse, int looks) {}

  /** Makes a cache, without opening anything yet. */
  public PackedRefsCache(RefsSettings settings, UpdateSettings updates) {
    this.settings = settings;
    this.memory = new ListMemory(settings.memoryLimit());
    this.updates = updates;
    this.upkeep = Executors.newSingleThreadScheduledExecutor(daemons("cache-chroniclemap-refs"));
    this.writer = Executors.newCachedThreadPool(daemons("cache-chroniclemap-refs-write"));
    this.packing =
        (ThreadPoolExecutor)
            Executors.newFixedThreadPool(1, daemons("cache-chroniclemap-refs-pack"));
    packing.setMaximumPoolSize(Integer.MAX_VALUE);
  }

  private static ThreadFactory daemons(String name) {
    return Thread.ofPlatform().daemon().name(name).factory();
  }

  /**
   * Returns the refs of a repository, by a database that sees each change at once.
   *
   * @param jgit the repository's own database
   */
  public FileRefDatabase of(FileRepository repository, RefDirectory jgit) {
    File packedRefs = packedRefs(repository.getCommonDirectory());
    ListTiers lists = open();
    PackedRefsFile file =
        files.computeIfAbsent(
            packedRefs,
            path -> new PackedRefsFile(path, lists, this::remember, NfsRevalidation.OF_SYSTEM));
    RepositoryWriter shared = writes.computeIfAbsent(packedRefs, path -> newWrites(file));
    return new FileRefDatabase(repository, jgit, file, shared, updates, failures);
  }

  /**
   * Returns the refs of a repository that keeps them in reftables.
   *
   * @param jgit the repository's own database, which is returned itself where the file system may
   *     be changed by other machines: a table that one of them deletes could not be read any more
   *     while it is mapped. Also where this JGit lacks what updates need
   */
  public RefDatabase ofTables(FileRepository repository, FileReftableDatabase jgit) {
    if (!RefDisk.isLocal(repository.getCommonDirectory().toPath())
        || Member.TABLE_STACK.find() == null
        || Member.TABLE_COMPACTION.find() == null) {
      return jgit;
    }
    TableRefDatabase made = new TableRefDatabase(repository, jgit, tableLookups, failures);
    tables.add(made);
    return made;
  }

  /** Makes a writer. Its journals are closed when it is garbage, as only its users hold it. */
  private RepositoryWriter newWrites(PackedRefsFile file) {
    RepositoryWriter made = new RepositoryWriter(file, new RefDisk(), writer, packing);
    var unused = CLEANER.register(made, made.closing());
    return made;
  }

  /**
   * Returns the path of {@code packed-refs}. A link there is followed at each use, as it may lead
   * elsewhere by then.
   */
  private static File packedRefs(File gitFolder) {
    File folder;
    try {
      folder = gitFolder.getCanonicalFile();
    } catch (IOException e) {
      folder = gitFolder.getAbsoluteFile();
    }
    return new File(folder, Constants.PACKED_REFS);
  }

  /** Forgets a repository that was deleted. A later use has it remembered again. */
  public void forget(File gitFolder) {
    File packedRefs = packedRefs(gitFolder);
    PackedRefsFile file = files.get(packedRefs);
    if (file != null) {
      forget(file);
    }
    RepositoryWriter shared = writes.get(packedRefs);
    if (shared != null) {
      shared.close();
    }
  }

  private void forget(PackedRefsFile file) {
    if (files.remove(file.file, file)) {
      file.counts.moveTo(forgotten);
      file.forgotten();
    }
  }

  /** Remembers a forgotten repository that is used again, unless there is a newer instance. */
  private void remember(PackedRefsFile file) {
    var unused = files.putIfAbsent(file.file, file);
  }

  // ---- opening

  /**
   * Opens the store, unless it is open, without waiting for its file to be read. Each call is for
   * one user, who has to {@link #close} the cache.
   */
  public void start() {
    synchronized (this) {
      users++;
    }
    if (open().store.isEmpty() && settings.diskLimit() > 0) {
      logger.atWarning().log("Parsed ref lists are kept in memory only: %s", memoryOnlyReason);
    }
  }

  ListTiers open() {
    ListTiers lists = tiers;
    return lists != null ? lists : openOnce();
  }

  private synchronized ListTiers openOnce() {
    if (tiers == null) {
      ListTiers made = openTiers();
      if (!closed) {
        repeat(made::upkeep, UPKEEP_SECONDS);
        repeat(this::keep, KEEP_SECONDS);
        repeat(this::packOthers, PACKING_SECONDS);
        // A disk that hangs keeps one thread, and the next one tends the others.
        Runnable tend = guarded(() -> writes.values().forEach(each -> each.upkeep()));
        repeat(() -> writer.execute(tend), JOURNAL_SECONDS);
      }
      tiers = made;
    }
    return tiers;
  }

  /** The caller holds this object's lock. */
  private ListTiers openTiers() {
    try {
      Optional<String> obstacle = obstacle();
      if (obstacle.isEmpty()) {
        directory = StoreDirectory.open(settings.folder().get());
        directory.exposed.ifPresent(why -> logger.atWarning().log("Parsed ref lists: %s", why));
        return ListTiers.onDisk(directory, settings.diskLimit(), memory);
      }
      memoryOnlyReason = obstacle.get();
    } catch (IOException | RuntimeException | LinkageError e) {
      memoryOnlyReason = e instanceof StoreUnavailableException ? e.getMessage() : Remedy.of(e);
      closeDirectory();
    }
    return ListTiers.inMemory(memory);
  }

  /** Why no store may be opened; empty if one may. */
  private Optional<String> obstacle() {
    if (closed) {
      return Optional.of("the server stops");
    }
    if (settings.diskLimit() <= 0) {
      return Optional.of("cache.packed_refs.diskLimit is " + settings.diskLimit());
    }
    Optional<String> missingFlags = JvmFlags.missing();
    return missingFlags.isEmpty() && settings.folder().isEmpty()
        ? Optional.of("cache.directory is not set in gerrit.config")
        : missingFlags;
  }

  private void repeat(Runnable task, long seconds) {
    var unused = upkeep.scheduleWithFixedDelay(guarded(task), seconds, seconds, TimeUnit.SECONDS);
  }

  private static Runnable guarded(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        // An exception would end the repetitions of the task.
        logger.atSevere().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
            "The upkeep of parsed ref lists failed");
      }
    };
  }

  private synchronized void closeDirectory() {
    if (directory != null) {
      directory.close();
      directory = null;
    }
  }

  // ---- upkeep

  /** Keeps lists that are in use on disk, and forgets unused repositories. */
  void keep() {
    ListTiers lists = open();
    IdentityHashMap<ParsedRefs, Boolean> kept = new IdentityHashMap<>();
    for (PackedRefsFile file : List.copyOf(files.values())) {
      if (closed) {
        return;
      }
      Idle before = idle.get(file);
      boolean used = before == null || before.lastUse != file.lastUse();
      Idle now = new Idle(file.lastUse(), used ? 0 : before.looks + 1);
      idle.put(file, now);
      ParsedRefs list = file.lastList();
      if (used && list != null && kept.put(list, true) == null) {
        lists.keep(list);
      }
      if (now.looks >= MAX_IDLE_KEEPS) {
        forget(file);
      }
    }
    idle.keySet().removeIf(file -> files.get(file.file) != file);
    tables.forEach(TableRefDatabase::changed);
  }

  /**
   * Adds a thread if others wait and no packing has ended since the last call, as the disk of a
   * repository may hang. So no packing waits for a single other one for more than two minutes.
   */
  void packOthers() {
    long ended = packing.getCompletedTaskCount();
    if (packing.getQueue().isEmpty()) {
      packing.setCorePoolSize(1);
    } else if (ended == packed) {
      packing.setCorePoolSize(packing.getPoolSize() + 1); // those that hang are in the pool
    }
    packed = ended;
  }

  /**
   * Whether another user can use this cache. A closed cache can't be used, nor one that needs a
   * store and could not open it.
   */
  public boolean isOfUse() {
    ListTiers lists = tiers;
    return !closed && (lists == null || lists.store.isPresent() || settings.diskLimit() <= 0);
  }

  /**
   * Writes queued lists and closes the store, unless there is another user. Afterwards, the cache
   * only answers from memory. A second close waits for the first.
   */
  @Override
  public void close() {
    synchronized (closing) {
      ListTiers lists;
      synchronized (this) {
        users--;
        if (closed || users > 0) {
          return;
        }
        closed = true;
        lists = tiers;
      }
      close(lists);
    }
  }

  private void close(@Nullable ListTiers lists) {
    upkeep.shutdown();
    // Refs can still be written. The next process will pack them.
    packing.shutdown();
    packing.setRejectedExecutionHandler((task, pool) -> {});
    packing.getQueue().clear();
    awaitEnd(upkeep, "the upkeep of parsed ref lists");
    awaitEnd(packing, "the packing of loose refs");
    // On a thread of its own, as a disk may hang. If none can be started, the store still closes.
    ExecutorService closer = Executors.newCachedThreadPool(daemons("cache-chroniclemap-refs-end"));
    guarded(() -> closer.execute(() -> writes.values().forEach(each -> each.close()))).run();
    closer.shutdown();
    awaitEnd(closer, "the closing of journals of refs");
    // An interrupt would close the files of the store during their last writes.
    boolean interrupted = Thread.interrupted();
    try {
      if (lists != null) {
        guarded(lists::upkeep).run();
      }
    } finally {
      closeDirectory();
      // Another program may need the memory. Remaining users have their lists made again.
      List.copyOf(files.values()).forEach(this::forget);
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Waits for tasks. Those that take longer end with the process, without any loss. */
  private static void awaitEnd(ExecutorService threads, String what) {
    if (!awaitTerminationUninterruptibly(threads, MAX_CLOSE_SECONDS, TimeUnit.SECONDS)) {
      logger.atWarning().log("%s did not end in %d s", what, MAX_CLOSE_SECONDS);
    }
  }

  // ---- figures

  /** Returns the figures of all repositories whose refs were read recently, in any order. */
  public List<RefsReport> reports() {
    return files.values().stream().map(PackedRefsCache::report).toList();
  }

  private static RefsReport report(PackedRefsFile file) {
    ParsedRefs list = file.lastList();
    FileCounts counts = new FileCounts();
    file.counts.addTo(counts);
    return new RefsReport(
        file.file.getParentFile(),
        counts,
        list != null,
        list == null ? 0 : list.size(),
        list == null ? 0 : list.textBytes(),
        list == null ? 0 : list.blockBytes(),
        list == null ? 0 : list.blocks(),
        file.leftReason(),
        file.badRefs());
  }

  /** Returns the totals of all repositories. */
  public RefsTotals totals() {
    ListTiers lists = tiers;
    Optional<Store> store = lists == null ? Optional.empty() : lists.store;
    List<RefsReport> reports = reports();
    FileCounts counts = new FileCounts();
    reports.forEach(report -> report.counts().addTo(counts));
    forgotten.addTo(counts);
    // No stream of a set that gets smaller meanwhile: it counts before it looks.
    List<Long> tableBytes = new ArrayList<>();
    tables.forEach(table -> tableBytes.add(table.bytes()));
    return new RefsTotals(
        counts,
        reports,
        memory,
        memory.lists(),
        lists == null ? 0 : lists.loads.sum(),
        failures.count.sum(),
        tableBytes,
        tableLookups.sum(),
        store.map(Store::stats),
        store.isPresent() ? Optional.empty() : Optional.of(memoryOnlyReason),
        settings.diskLimit() > 0);
  }
}
