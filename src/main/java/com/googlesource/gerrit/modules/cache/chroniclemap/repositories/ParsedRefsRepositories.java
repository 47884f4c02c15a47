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
import com.google.gerrit.common.Nullable;
import com.google.gerrit.entities.Project;
import com.google.gerrit.server.git.GitRepositoryManager;
import com.google.gerrit.server.git.GitRepositoryManager.Status;
import com.google.gerrit.server.git.LocalDiskRepositoryManager;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.aopalliance.intercept.MethodInvocation;
import org.eclipse.jgit.errors.RepositoryNotFoundException;
import org.eclipse.jgit.internal.storage.file.FileRepository;
import org.eclipse.jgit.lib.Constants;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.RepositoryCache;

/**
 * Stands between Gerrit's own manager of repositories on disk and whoever asks it, so that the
 * repositories that it opens are {@link ParsedRefsRepository}s. Guice calls it for the methods that
 * {@link RepositoriesModule} names, also where another module has put a manager of its own in front
 * of Gerrit's.
 *
 * <p>JGit keeps one instance of a repository for the whole process, by folder ({@link
 * RepositoryCache}). Where Gerrit's manager or an earlier program in this process has put another
 * instance there, ours takes its place. So names, base paths and all checks are Gerrit's own.
 */
@Singleton
final class ParsedRefsRepositories {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** No project has this name. */
  private final Project.NameKey probe =
      Project.nameKey("cache-chroniclemap-probe-" + UUID.randomUUID());

  /** Who is looking whether a manager asks Gerrit's own; null for most of the time. */
  @Nullable private volatile Thread watcher;

  private volatile boolean reached;

  private final PackedRefsConfig config;
  private final PackedRefsCache cache;

  @Inject
  ParsedRefsRepositories(PackedRefsConfig config, PackedRefsCache cache) {
    this.config = config;
    this.cache = cache;
  }

  /**
   * Whether what a manager opens comes from here; not for several threads at once. It is asked for
   * a project, which it may have open already, or open in another thread, and for one that nobody
   * has, which it may know not to be there.
   *
   * @throws IOException or any other exception of the manager's, if that can't be told
   */
  boolean isBehind(GitRepositoryManager manager, Project.NameKey project) throws IOException {
    reached = false;
    watcher = Thread.currentThread();
    try {
      manager.openRepository(project).close();
    } catch (IOException | RuntimeException e) {
      if (!reached) {
        throw e;
      }
    } finally {
      watcher = null;
    }
    if (!reached) {
      try {
        manager.openRepository(probe).close();
      } catch (IOException | RuntimeException e) {
        logger.atFine().withCause(e).log("There is no such project, as expected");
      }
    }
    return reached;
  }

  /** In place of openRepository and createRepository. */
  Object open(MethodInvocation call) throws Throwable {
    Project.NameKey name = name(call);
    if (watcher == Thread.currentThread() || name.equals(probe)) {
      reached = true;
    }
    return ours(name, (Repository) call.proceed());
  }

  private Repository ours(Project.NameKey name, Repository opened)
      throws RepositoryNotFoundException {
    if (ParsedRefsRepository.isOf(opened, this)
        || !(opened instanceof FileRepository)
        || !config.isEnabled()) {
      return opened;
    }
    try {
      Repository ours = ParsedRefsRepository.open(opened, this, cache, config);
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

  /** In place of getRepositoryStatus, which leaves an instance of its own in JGit's cache. */
  Object status(MethodInvocation call) throws Throwable {
    if (config.isEnabled()) {
      try (Repository repository = manager(call).openRepository(name(call))) {
        if (repository.getObjectDatabase().exists()) {
          return Status.ACTIVE;
        }
      } catch (IOException e) {
        logger.atFine().withCause(e).log("Not open: %s", name(call));
      }
    }
    // Tells what is not there, by now, from what can't be opened.
    return call.proceed();
  }

  /** In place of repositoryDeleted. */
  Object deleted(MethodInvocation call) throws Throwable {
    Object nothing = call.proceed();
    Project.NameKey name = name(call);
    Path folder = manager(call).getBasePath(name).resolve(name.get());
    cache.forget(new File(folder + Constants.DOT_GIT_EXT));
    cache.forget(folder.resolve(Constants.DOT_GIT).toFile());
    cache.forget(folder.toFile());
    return nothing;
  }

  private static LocalDiskRepositoryManager manager(MethodInvocation call) {
    return (LocalDiskRepositoryManager) call.getThis();
  }

  private static Project.NameKey name(MethodInvocation call) {
    return (Project.NameKey) call.getArguments()[0];
  }
}
