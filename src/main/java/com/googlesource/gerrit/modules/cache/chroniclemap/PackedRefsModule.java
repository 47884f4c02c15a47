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

package com.googlesource.gerrit.modules.cache.chroniclemap;

import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePaths;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.RefsMetrics;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.RunningJar;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RepositoriesModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import com.googlesource.gerrit.modules.cache.chroniclemap.transport.TransportModule;
import org.eclipse.jgit.lib.Config;

/**
 * The module for {@code gerrit.installDbModule} that answers for the refs of all repositories from
 * parsed lists. It works with and without {@link ChronicleMapCacheModule}, and beside modules that
 * bind a {@code GitRepositoryManager} in front of Gerrit's own.
 *
 * <p>A server does not start if this module would have no effect; the message says why. Any other
 * fault does not prevent the start: lists are then kept in memory only, or JGit answers.
 */
public class PackedRefsModule extends LifecycleModule {
  private final Config config;

  /** Called by Gerrit when it starts. Throws a {@code ProvisionException} if it must not start. */
  @Inject
  PackedRefsModule(SitePaths site, @GerritServerConfig Config config) {
    this.config = config;
    StartRefusal.unlessValid(
        site,
        config,
        OwnSettings.OF_REFS,
        () -> new ConfigLinesCheck(config).checkDbModule(PackedRefsModule.class));
  }

  @Override
  protected void configure() {
    StoreDirectory.warmUp();
    listener().toInstance(new RunningJar());
    install(new RepositoriesModule());
    if (RepositoriesModule.isEnabled(config)) {
      install(new TransportModule(config));
    }
    listener().to(RefsMetrics.class);
  }
}
