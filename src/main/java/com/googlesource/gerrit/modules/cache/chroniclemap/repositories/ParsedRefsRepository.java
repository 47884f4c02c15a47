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
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.eclipse.jgit.annotations.Nullable;
import org.eclipse.jgit.errors.RepositoryNotFoundException;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.internal.storage.file.RefDirectory;
import org.eclipse.jgit.lib.RefDatabase;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.RepositoryCache;
import org.eclipse.jgit.util.FS;

/**
 * A repository that answers for its refs from parsed lists, if it keeps them in files; else as JGit
 * does.
 *
 * <p>It uses Gerrit's own hook, so it is what Gerrit's repositories are: a {@code FileRepository},
 * whose every method asks the database that the hook gives.
 */
final class ParsedRefsRepository extends DynamicRefDbRepository {
  private static final int ATTEMPTS = 5;

  /** Who opened it. */
  private final ParsedRefsRepositories owner;

  private ParsedRefsRepository(File path, Hook hook, ParsedRefsRepositories owner)
      throws IOException {
    super(path, hook);
    this.owner = owner;
    hook.repository = this;
  }

  /** Opens the repository that is open as another instance, and puts it in that one's place. */
  static Repository open(
      Repository other,
      ParsedRefsRepositories owner,
      PackedRefsCache cache,
      PackedRefsConfig config)
      throws IOException {
    Key key = new Key(other.getDirectory(), other.getFS(), owner, cache, config);
    for (int i = 0; i < ATTEMPTS; i++) {
      RepositoryCache.unregister(key);
      Repository found = RepositoryCache.open(key);
      if (isOf(found, owner)) {
        return found;
      }
      // Another thread has put another one there again.
      found.close();
    }
    return key.open(true);
  }

  /**
   * Whether this program has opened it, and not an earlier one of the same process: JGit's settings
   * are read when a repository is opened, and those of {@code etc/jgit.config} count for a daemon
   * only.
   */
  static boolean isOf(Repository repository, ParsedRefsRepositories owner) {
    return repository instanceof ParsedRefsRepository ours && ours.owner == owner;
  }

  /** Finds the repository in JGit's cache of them, or opens it. */
  private static final class Key extends RepositoryCache.FileKey {
    private final FS fs;
    private final ParsedRefsRepositories owner;
    private final PackedRefsCache cache;
    private final PackedRefsConfig config;

    Key(
        File folder,
        FS fs,
        ParsedRefsRepositories owner,
        PackedRefsCache cache,
        PackedRefsConfig config) {
      super(folder, fs);
      this.fs = fs;
      this.owner = owner;
      this.cache = cache;
      this.config = config;
    }

    @Override
    public ParsedRefsRepository open(boolean mustExist) throws IOException {
      if (mustExist && !isGitRepository(getFile(), fs)) {
        throw new RepositoryNotFoundException(getFile());
      }
      return new ParsedRefsRepository(getFile(), new Hook(cache, config.isPerRequest()), owner);
    }
  }

  /** Gives the database for each use of the repository. */
  private static final class Hook implements BiFunction<File, RefDatabase, RefDatabase> {
    private static final FluentLogger logger = FluentLogger.forEnclosingClass();

    private final PackedRefsCache cache;
    private final boolean perRequest;

    /** Null while the repository is being made. */
    @Nullable private volatile FileRepository repository;

    @Nullable private volatile Databases databases;

    /**
     * The databases over one of JGit's; it has another one after a conversion of the refs.
     *
     * @param parsed null if JGit is to answer
     */
    private record Databases(RefDirectory jgit, @Nullable PackedRefsCache.RepositoryRefs parsed) {}

    Hook(PackedRefsCache cache, boolean perRequest) {
      this.cache = cache;
      this.perRequest = perRequest;
    }

    @Override
    public RefDatabase apply(File path, RefDatabase refs) {
      if (!(refs instanceof RefDirectory jgit) || repository == null) {
        return refs;
      }
      Databases now = databases;
      if (now == null || now.jgit != jgit) {
        now = make(jgit);
      }
      boolean inRequest = perRequest && PerThreadCache.get() != null;
      if (now.parsed == null) {
        return inRequest ? PerThreadRefDbCache.getRefDatabase(path, jgit) : jgit;
      }
      return inRequest ? RequestRefs.of(path, jgit, now.parsed) : now.parsed.current();
    }

    private Databases make(RefDirectory jgit) {
      try {
        boolean enabled = PackedRefsConfig.isEnabled(repository.getConfig());
        Databases made = new Databases(jgit, enabled ? cache.of(repository, jgit) : null);
        databases = made;
        return made;
      } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
        // The next use tries again.
        logger.atSevere().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
            "Parsed ref lists can't be used for %s; JGit answers instead", repository);
        return new Databases(jgit, null);
      }
    }
  }
}
