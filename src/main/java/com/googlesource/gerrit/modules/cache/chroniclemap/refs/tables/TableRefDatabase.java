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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.tables;

import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.FileStamp;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.current.RefName;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.lists.UninterruptedThreads;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.JGitFallbacks.Question;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.reading.RefReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.api.PackRefsCommand;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.BatchRefUpdate;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.CoreConfig;
import org.eclipse.jgit.lib.CoreConfig.TrustStat;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.ProgressMonitor;
import org.eclipse.jgit.lib.Ref;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.RefRename;
import org.eclipse.jgit.lib.RefUpdate;
import org.eclipse.jgit.lib.ReflogEntry;
import org.eclipse.jgit.lib.ReflogReader;

/**
 * The ref database, by JGit's interface, of one repository that keeps its refs in reftables.
 *
 * <p>Lookups are answered from mapped tables, without JGit's lock. JGit's own database makes all
 * updates and compactions, and answers where this package fails. It fires an event when it has seen
 * a change, also one of its own, and the tables are read again then. With {@code
 * reftable.autoRefresh} the list of tables is also checked before each read, as {@code
 * core.trustTablesListStat} says: JGit fires the event a moment after it has read newer tables, and
 * a read in between would miss what another process has already seen.
 *
 * <p>Renames are JGit's, which makes them without its lock.
 *
 * <p>Any thread may call.
 */
public final class TableRefDatabase extends RefDatabase {
  /** Attempts for a call of JGit that fails if another thread replaces the tables meanwhile. */
  private static final int MAX_ATTEMPTS = 10;

  private final FileRepository repository;
  private final FileReftableDatabase jgit;
  private final TablesFile file;
  private final TrustStat trust;

  /** Held by a thread of this process that changes the tables. */
  final ReentrantLock writing = new ReentrantLock(true);

  /** The attributes of the list, from before it was read; null until then. */
  @Nullable private volatile FileStamp stamp;

  private final LongAdder lookups;
  private final JGitFallbacks failures;

  /**
   * Makes the database of a repository.
   *
   * @param jgit the repository's own database
   * @param lookups counts those of all repositories
   */
  public TableRefDatabase(
      FileRepository repository,
      FileReftableDatabase jgit,
      LongAdder lookups,
      JGitFallbacks failures) {
    this.repository = repository;
    this.lookups = lookups;
    this.jgit = jgit;
    this.file =
        new TablesFile(repository.getCommonDirectory().toPath().resolve(Constants.REFTABLE));
    this.trust = repository.getConfig().get(CoreConfig.KEY).getTrustTablesListStat();
    this.failures = failures;
    // The repository outlives this database if its refs are converted.
    WeakReference<TablesFile> listening = new WeakReference<>(file);
    var unused =
        repository
            .getListenerList()
            .addRefsChangedListener(
                event -> Optional.ofNullable(listening.get()).ifPresent(TablesFile::changed));
  }

  /** The size of the tables in use, in bytes. */
  public long bytes() {
    return file.bytes();
  }

  /** Has the tables read again at the next lookup. */
  public void changed() {
    file.changed();
  }

  // ---- who answers

  private <T> T ask(Question<TableStack, T> question, Question<RefDatabase, T> toJGit)
      throws IOException {
    lookups.increment();
    try {
      boolean checksList = jgit.isAutoRefresh();
      if (checksList && trust != TrustStat.NEVER) {
        checkAttributes();
      }
      return question.ask(file.stack(checksList && trust == TrustStat.NEVER));
    } catch (FileSystemException e) {
      throw e; // JGit takes a list that it can't open for one without tables
    } catch (IOException | RuntimeException | InternalError | OutOfMemoryError e) {
      // A mapped file that somebody has cut short is an InternalError.
      failures.count(file.list.toFile(), e);
      return byJGit(() -> toJGit.ask(jgit));
    }
  }

  /**
   * Asks JGit's own stack of tables, which knows of no change by this class. It compares its tables
   * with the list without a lock, which fails if another thread replaces them by fewer.
   */
  private <T> T byJGit(Callable<T> question) throws IOException {
    return UninterruptedThreads.call(
        () -> {
          // JGit would not see a change between its reading and that of the list's attributes.
          writing.lock();
          try {
            for (int attempt = 1; ; attempt++) {
              try {
                jgit.refresh();
                break;
              } catch (IndexOutOfBoundsException e) {
                if (attempt == MAX_ATTEMPTS) {
                  throw e;
                }
              }
            }
          } finally {
            writing.unlock();
          }
          return question.call();
        });
  }

  /** Checks by its attributes whether other processes have changed the list of tables. */
  private void checkAttributes() throws IOException {
    if (trust == TrustStat.AFTER_OPEN) {
      // As JGit does, for some clients of NFS.
      Files.newInputStream(file.list.getParent()).close();
    }
    FileStamp known = stamp;
    if (known == null || known.isModified()) {
      // Attributes first, content second: a change in between is found by the next check.
      FileStamp now = FileStamp.of(file.list.toFile());
      changed();
      stamp = now;
    }
  }

  /** JGit's stack of the tables as they are now. */
  NewestTables newestTables() {
    return new NewestTables(repository, file.list.toFile());
  }

  // ---- single refs

  @Override
  @Nullable
  public Ref exactRef(String name) throws IOException {
    return RefName.isTooLong(name)
        ? null
        : ask(refs -> refs.exactRef(name), refs -> refs.exactRef(name));
  }

  /** Unlike JGit's, all are of one moment. */
  @Override
  public Map<String, Ref> exactRef(String... names) throws IOException {
    return ask(
        refs -> {
          Map<String, Ref> found = new HashMap<>();
          for (String name : names) {
            Ref ref = refs.exactRef(name);
            if (ref != null) {
              found.put(name, ref);
            }
          }
          return found;
        },
        refs -> refs.exactRef(names));
  }

  @Override
  public List<Ref> getAdditionalRefs() throws IOException {
    return jgit.getAdditionalRefs();
  }

  @Override
  public Ref peel(Ref ref) throws IOException {
    return jgit.peel(ref);
  }

  // ---- many refs

  @Override
  public List<Ref> getRefsByPrefix(String prefix) throws IOException {
    return ask(refs -> refs.refs(prefix), refs -> refs.getRefsByPrefix(prefix));
  }

  /** Unlike JGit's, all are of one moment. */
  @Override
  public List<Ref> getRefsByPrefix(String... prefixes) throws IOException {
    return ask(
        refs -> {
          List<Ref> found = new ArrayList<>();
          for (String prefix : prefixes) {
            found.addAll(refs.refs(prefix));
          }
          return Collections.unmodifiableList(found);
        },
        refs -> refs.getRefsByPrefix(prefixes));
  }

  @Override
  public List<Ref> getRefsByPrefixWithExclusions(String include, Set<String> excludes)
      throws IOException {
    return ask(
        refs -> refs.refs(include, excludes),
        refs -> refs.getRefsByPrefixWithExclusions(include, excludes));
  }

  @Override
  @Deprecated
  public Map<String, Ref> getRefs(String prefix) throws IOException {
    return JGitFallbacks.map(prefix, getRefsByPrefix(prefix));
  }

  @Override
  public Set<Ref> getTipsWithSha1(ObjectId id) throws IOException {
    return ask(refs -> refs.tips(id), refs -> refs.getTipsWithSha1(id));
  }

  @Override
  public boolean hasFastTipsWithSha1() throws IOException {
    return ask(TableStack::hasFastTips, RefDatabase::hasFastTipsWithSha1);
  }

  // ---- conflicts of names

  @Override
  public boolean isNameConflicting(String name) throws IOException {
    return ask(refs -> isConflicting(refs, name), refs -> refs.isNameConflicting(name));
  }

  private static boolean isConflicting(TableStack refs, String name) throws IOException {
    for (String parent : RefReader.parents(name)) {
      if (refs.contains(parent)) {
        return true;
      }
    }
    return refs.hasRefs(name + '/');
  }

  @Override
  public Collection<String> getConflictingNames(String name) throws IOException {
    return ask(refs -> conflicting(refs, name), refs -> refs.getConflictingNames(name));
  }

  private static Collection<String> conflicting(TableStack refs, String name) throws IOException {
    // JGit returns the longest parent.
    for (String parent : RefReader.parents(name).reversed()) {
      Ref ref = refs.exactRef(parent);
      if (ref != null && ref.getObjectId() != null) {
        return List.of(parent);
      }
    }
    return refs.refs(name + '/').stream().map(Ref::getName).toList();
  }

  // ---- everything else is JGit's

  @Override
  public RefUpdate newUpdate(String name, boolean detach) throws IOException {
    return TableRefUpdate.of(this, repository, name, detach);
  }

  @Override
  public RefRename newRename(String fromName, String toName) throws IOException {
    return byJGit(() -> jgit.newRename(fromName, toName));
  }

  @Override
  public BatchRefUpdate newBatchUpdate() {
    return new TableBatchUpdate(this, repository);
  }

  @Override
  public boolean hasVersioning() {
    return jgit.hasVersioning();
  }

  @Override
  public boolean performsAtomicTransactions() {
    return jgit.performsAtomicTransactions();
  }

  @Override
  public void packRefs(ProgressMonitor monitor, PackRefsCommand command) throws IOException {
    try (NewestTables tables = newestTables()) {
      UninterruptedThreads.call(
          () -> {
            writing.lock();
            try {
              tables.compact();
              return null;
            } finally {
              writing.unlock();
            }
          });
    }
    // A compaction changes no ref, so JGit fires no event; but the old tables are to be let go.
    changed();
  }

  @Override
  public void create() throws IOException {
    jgit.create();
  }

  @Override
  public void close() {
    jgit.close();
  }

  /** Has JGit's own stack read, too, which JGit itself asks when it converts the refs to files. */
  @Override
  public void refresh() {
    try {
      byJGit(() -> null);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      changed();
    }
  }

  @Override
  public ReflogReader getReflogReader(Ref ref) throws IOException {
    return getReflogReader(ref.getName());
  }

  @Override
  public ReflogReader getReflogReader(String name) throws IOException {
    return new UndisturbedReflog(byJGit(() -> jgit.getReflogReader(name)));
  }

  /** JGit's reader. */
  private record UndisturbedReflog(ReflogReader jgit) implements ReflogReader {
    @Override
    public ReflogEntry getLastEntry() throws IOException {
      return UninterruptedThreads.call(jgit::getLastEntry);
    }

    @Override
    public List<ReflogEntry> getReverseEntries() throws IOException {
      return UninterruptedThreads.call(jgit::getReverseEntries);
    }

    @Override
    public ReflogEntry getReverseEntry(int number) throws IOException {
      return UninterruptedThreads.call(() -> jgit.getReverseEntry(number));
    }

    @Override
    public List<ReflogEntry> getReverseEntries(int max) throws IOException {
      return UninterruptedThreads.call(() -> jgit.getReverseEntries(max));
    }
  }
}
