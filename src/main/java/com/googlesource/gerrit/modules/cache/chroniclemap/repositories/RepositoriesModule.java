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

import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.config.RepositoryConfig;
import com.google.gerrit.server.git.GitRepositoryManager;
import com.google.gerrit.server.git.LocalDiskRepositoryManager;
import com.google.gerrit.server.git.MultiBaseLocalDiskRepositoryManager;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;

/** Binds the repository manager in front of the one that Gerrit would have chosen. */
public final class RepositoriesModule extends LifecycleModule {
  private final boolean multiBase;

  /**
   * Makes the module.
   *
   * @param repositories says whether there is more than one base path
   */
  public RepositoriesModule(RepositoryConfig repositories) {
    this.multiBase = !repositories.getAllBasePaths().isEmpty();
  }

  @Override
  protected void configure() {
    if (multiBase) {
      bind(LocalDiskRepositoryManager.class).to(MultiBaseLocalDiskRepositoryManager.class);
    }
    bind(GitRepositoryManager.class).to(ParsedRefsRepositoryManager.class);
    bind(PackedRefsCache.class).toProvider(PackedRefsCacheProvider.class);
    bind(RefsInventory.class);
    // What Gerrit's own module starts: the settings of JGit's caches.
    listener().to(LocalDiskRepositoryManager.Lifecycle.class);
    listener().to(PackedRefsLifecycle.class);
  }
}
