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

package com.googlesource.gerrit.modules.cache.chroniclemap.repositories;

import com.google.common.flogger.FluentLogger;
import com.google.gerrit.server.cache.PerThreadCache;
import com.google.gerrit.server.cache.PerThreadRefDbCache;
import com.google.gerrit.server.git.DynamicRefDbRepository;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.FileRefDatabase;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.RepositoryNotFoundException;
import org.eclipse.jgit.internal.storage.file.FileReftableDatabase;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.RepositoryCache;
import org.eclipse.jgit.util.FS;

/**
 * A repository that reads its refs from parsed lists if they are in files, from mapped tables if
 * they are in reftables, and otherwise as JGit does.
 *
 * <p>Like Gerrit's own repositories, this class is a {@code FileRepository} with Gerrit's hook.
 * Every method asks the ref database that the hook returns.
 */
final class ParsedRefsRepository extends DynamicRefDbRepository {
  private static final int MAX_ATTEMPTS = 5;

  /** The program that opened the repository. */
  private final ParsedRefsRepositories owner;

  private ParsedRefsRepository(File path, Hook hook, ParsedRefsRepositories owner)
      throws IOException {
    super(path, hook);
    this.owner = owner;
    hook.repository = this;
  }

  @Override
  public void convertRefStorage(String format, boolean writeLogs, boolean backup)
      throws IOException {
    // JGit converts what its own database knows, not what the hook's knows.
    getRefDatabase().refresh();
    super.convertRefStorage(format, writeLogs, backup);
  }

  /** Opens a repository that is open as another instance, and replaces that instance. */
  static Repository open(Repository other, ParsedRefsRepositories owner) throws IOException {
    Key key = new Key(other.getDirectory(), other.getFS(), owner);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
      RepositoryCache.unregister(key);
      Repository found = RepositoryCache.open(key);
      if (isOf(found, owner)) {
        return found;
      }
      // Another thread has put another instance there again.
      found.close();
    }
    return key.open(true);
  }

  /**
   * Whether this program has opened the repository, and not an earlier program of the same process.
   * JGit reads its settings when it opens a repository, and only a daemon uses {@code
   * etc/jgit.config}.
   */
  static boolean isOf(Repository repository, ParsedRefsRepositories owner) {
    return repository instanceof ParsedRefsRepository ours && ours.owner == owner;
  }

  /** Finds the repository in JGit's cache of repositories, or opens it. */
  private static final class Key extends RepositoryCache.FileKey {
    private final FS fs;
    private final ParsedRefsRepositories owner;

    Key(File folder, FS fs, ParsedRefsRepositories owner) {
      super(folder, fs);
      this.fs = fs;
      this.owner = owner;
    }

    @Override
    public ParsedRefsRepository open(boolean mustExist) throws IOException {
      if (mustExist && !isGitRepository(getFile(), fs)) {
        throw new RepositoryNotFoundException(getFile());
      }
      return new ParsedRefsRepository(getFile(), new Hook(owner), owner);
    }
  }

  /** Provides the ref database for each use of the repository. */
  private static final class Hook implements BiFunction<File, RefDatabase, RefDatabase> {
    private static final FluentLogger logger = FluentLogger.forEnclosingClass();

    private final PackedRefsCache cache;
    private final boolean perRequest;

    /** The repository; null in its constructor. */
    @Nullable private volatile FileRepository repository;

    @Nullable private volatile Databases databases;

    /**
     * The ref databases on top of JGit's database, which changes when refs are converted.
     *
     * @param current the one that answers outside of requests, which may be JGit's
     */
    private record Databases(RefDatabase jgit, RefDatabase current) {}

    Hook(ParsedRefsRepositories owner) {
      this.cache = owner.cache;
      this.perRequest = owner.config.isPerRequest();
    }

    @Override
    public RefDatabase apply(File path, RefDatabase refs) {
      if (repository == null) {
        return refs;
      }
      Databases now = databases;
      if (now == null || now.jgit != refs) {
        now = make(refs);
      }
      if (!perRequest || PerThreadCache.get() == null || !(refs instanceof RefDirectory jgit)) {
        return now.current;
      }
      return now.current instanceof FileRefDatabase parsed
          ? RequestDatabases.of(parsed)
          : PerThreadRefDbCache.getRefDatabase(path, jgit);
    }

    private Databases make(RefDatabase jgit) {
      try {
        RefDatabase current = jgit;
        boolean isEnabled = PackedRefsConfig.isEnabled(repository.getConfig());
        if (isEnabled && jgit instanceof RefDirectory files) {
          current = cache.of(repository, files);
        } else if (isEnabled && jgit instanceof FileReftableDatabase tables) {
          current = cache.ofTables(repository, tables);
        }
        Databases made = new Databases(jgit, current);
        databases = made;
        return made;
      } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
        // The next use tries again.
        logger.atSevere().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
            "Cannot use parsed ref lists for %s; JGit answers instead", repository);
        return new Databases(jgit, jgit);
      }
    }
  }
}
