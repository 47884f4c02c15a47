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
 * The interceptor in front of Gerrit's own manager of repositories on disk. It replaces the
 * repositories that the manager opens by {@link ParsedRefsRepository}s. Guice calls it for the
 * methods that {@link RepositoriesModule} names, even if another module has put a manager of its
 * own in front of Gerrit's.
 *
 * <p>JGit keeps one instance of a repository in the process, by folder ({@link RepositoryCache}).
 * An instance of Gerrit's manager, or of an earlier program in this process, is replaced there.
 * Names, base paths and all checks remain Gerrit's own.
 */
@Singleton
final class ParsedRefsRepositories {
  private static final FluentLogger logger = FluentLogger.forEnclosingClass();

  /** A name that no project has. */
  private final Project.NameKey probe =
      Project.nameKey("cache-chroniclemap-probe-" + UUID.randomUUID());

  /** The thread in {@link #isBehind}; null most of the time. */
  @Nullable private volatile Thread watcher;

  private volatile boolean reached;

  @Inject PackedRefsConfig config;
  @Inject PackedRefsCache cache;

  /**
   * Whether a manager opens its repositories through this class. Not for several threads at once.
   *
   * <p>The manager is asked for an existing project, which it may have open already, and then for
   * one that does not exist.
   *
   * @throws IOException or any other exception of the manager, if the answer is unknown
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
        logger.atFine().withCause(e).log("Project %s does not exist, as expected", probe);
      }
    }
    return reached;
  }

  /** Intercepts openRepository and createRepository. */
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
      Repository ours = ParsedRefsRepository.open(opened, this);
      close(opened);
      return ours;
    } catch (RepositoryNotFoundException e) {
      close(opened);
      throw new RepositoryNotFoundException("Cannot open repository " + name, e);
    } catch (IOException | RuntimeException e) {
      logger.atWarning().withCause(e).atMostEvery(1, TimeUnit.HOURS).log(
          "Cannot use parsed ref lists for %s; Gerrit's own repository answers instead", name);
      return opened;
    }
  }

  /**
   * Closes an instance of Gerrit's. In a request, Gerrit casts JGit's ref database to that of files
   * even to close it, which fails with reftables. Their files are closed by the garbage collector
   * then.
   */
  private static void close(Repository opened) {
    try {
      opened.close();
    } catch (ClassCastException e) {
      logger.atFine().withCause(e).log(
          "Cannot close Gerrit's instance of %s; its garbage collection does", opened);
    }
  }

  /** Intercepts repositoryDeleted. */
  Object deleted(MethodInvocation call) throws Throwable {
    Object nothing = call.proceed();
    Project.NameKey name = name(call);
    var manager = (LocalDiskRepositoryManager) call.getThis();
    Path folder = manager.getBasePath(name).resolve(name.get());
    cache.forget(new File(folder + Constants.DOT_GIT_EXT));
    cache.forget(folder.resolve(Constants.DOT_GIT).toFile());
    cache.forget(folder.toFile());
    return nothing;
  }

  private static Project.NameKey name(MethodInvocation call) {
    return (Project.NameKey) call.getArguments()[0];
  }
}
