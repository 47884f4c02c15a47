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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.neighbour;

import com.google.gerrit.entities.Project;
import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.ModuleImpl;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePaths;
import com.google.gerrit.server.git.GitRepositoryManager;
import com.google.gerrit.server.git.GitRepositoryManagerModule;
import com.google.gerrit.server.git.LocalDiskRepositoryManager.LocalDiskRepositoryManagerModule;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.eclipse.jgit.errors.RepositoryNotFoundException;
import org.eclipse.jgit.lib.Config;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.lib.RepositoryCache;
import org.eclipse.jgit.util.FS;

/** A module for {@code gerrit.installDbModule} whose manager opens all repositories itself. */
@ModuleImpl(name = GitRepositoryManagerModule.MANAGER_MODULE)
public final class StrangerModule extends LifecycleModule {
  @Override
  protected void configure() {
    install(new LocalDiskRepositoryManagerModule());
    bind(GitRepositoryManager.class).to(StrangeManager.class);
  }

  /** Opens repositories with JGit, past Gerrit's own manager. */
  @Singleton
  static final class StrangeManager implements GitRepositoryManager {
    private final Path base;

    @Inject
    StrangeManager(SitePaths site, @GerritServerConfig Config config) {
      this.base = site.resolve(config.getString("gerrit", null, "basePath"));
    }

    private Path folder(Project.NameKey name) {
      return base.resolve(name.get() + ".git");
    }

    @Override
    public Status getRepositoryStatus(Project.NameKey name) {
      return folder(name).toFile().isDirectory() ? Status.ACTIVE : Status.NON_EXISTENT;
    }

    @Override
    public Repository openRepository(Project.NameKey name) throws RepositoryNotFoundException {
      try {
        return RepositoryCache.open(
            RepositoryCache.FileKey.exact(folder(name).toFile(), FS.DETECTED));
      } catch (IOException e) {
        throw new RepositoryNotFoundException(name.get(), e);
      }
    }

    @Override
    public Repository createRepository(Project.NameKey name) throws IOException {
      throw new IOException("not here");
    }

    @Override
    public NavigableSet<Project.NameKey> list() {
      NavigableSet<Project.NameKey> names = new TreeSet<>();
      for (File folder : base.toFile().listFiles()) {
        names.add(Project.nameKey(folder.getName().replaceFirst("\\.git$", "")));
      }
      return names;
    }

    @Override
    public Boolean canPerformGC() {
      return true;
    }
  }
}
