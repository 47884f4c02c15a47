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
import com.google.gerrit.entities.Project;
import com.google.gerrit.server.git.GitRepositoryManager;
import com.google.gerrit.server.git.LocalDiskRepositoryManager;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.NavigableSet;
import java.util.concurrent.TimeUnit;
import org.eclipse.jgit.errors.RepositoryNotFoundException;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.RepositoryCache;

/**
 * Gerrit's own manager of repositories on disk, but for one thing: the repositories that it opens
 * are {@link ParsedRefsRepository}s.
 *
 * <p>JGit keeps one instance of a repository for the whole process, by folder ({@link
 * RepositoryCache}). Where Gerrit's manager has put another instance there, as it does for a
 * repository that it has just made, ours takes its place. So names, base paths and all checks are
 * Gerrit's own.
 */
@Singleton
final class ParsedRefsRepositoryManager implements GitRepositoryManager {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  private final LocalDiskRepositoryManager gerrit;
  private final PackedRefsConfig config;
  private final PackedRefsCache cache;

  @Inject
  ParsedRefsRepositoryManager(
      LocalDiskRepositoryManager gerrit, PackedRefsConfig config, PackedRefsCache cache) {
    this.gerrit = gerrit;
    this.config = config;
    this.cache = cache;
  }

  @Override
  public Status getRepositoryStatus(Project.NameKey name) {
    try (Repository repository = openRepository(name)) {
      return repository.getObjectDatabase().exists() ? Status.ACTIVE : Status.UNAVAILABLE;
    } catch (IOException e) {
      // Tells what is not there from what can't be opened.
      return gerrit.getRepositoryStatus(name);
    }
  }

  @Override
  public Repository openRepository(Project.NameKey name) throws RepositoryNotFoundException {
    return ours(name, gerrit.openRepository(name));
  }

  @Override
  public Repository createRepository(Project.NameKey name) throws IOException {
    return ours(name, gerrit.createRepository(name));
  }

  private Repository ours(Project.NameKey name, Repository opened)
      throws RepositoryNotFoundException {
    if (opened instanceof ParsedRefsRepository
        || !(opened instanceof FileRepository)
        || !config.isEnabled()) {
      return opened;
    }
    try {
      Repository ours = ParsedRefsRepository.open(opened, cache, config);
      opened.close();
      return ours;
    } catch (RepositoryNotFoundException e) {
      opened.close();
      throw new RepositoryNotFoundException("Cannot open repository " + name, e);
    } catch (IOException | RuntimeException e) {
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "Parsed ref lists can't be used for %s; Gerrit's own repository answers instead", name);
      return opened;
    }
  }

  @Override
  public NavigableSet<Project.NameKey> list() {
    return gerrit.list();
  }

  @Override
  public Boolean canPerformGC() {
    return gerrit.canPerformGC();
  }

  @Override
  public void repositoryDeleted(Project.NameKey name) {
    gerrit.repositoryDeleted(name);
    Path folder = gerrit.getBasePath(name).resolve(name.get());
    cache.forget(new File(folder + Constants.DOT_GIT_EXT));
    cache.forget(folder.resolve(Constants.DOT_GIT).toFile());
    cache.forget(folder.toFile());
  }
}
