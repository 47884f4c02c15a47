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
import com.google.gerrit.server.ModuleImpl;
import com.google.gerrit.server.cache.CacheModule;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePaths;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.AdminModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.CacheMetrics;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.RunningJar;
import com.googlesource.gerrit.modules.cache.chroniclemap.admin.SharedMetrics;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CachesModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import org.eclipse.jgit.lib.Config;

/**
 * The module that replaces Gerrit's H2 disk caches, for {@code gerrit.installModule} and {@code
 * gerrit.installBatchModule}.
 *
 * <p>Gerrit does not start if the Java virtual machine lacks a flag that Chronicle-Map needs, or if
 * Gerrit would ignore this module because of another one or because of its line in {@code
 * gerrit.config}. The message says which lines to change.
 */
@ModuleImpl(name = CacheModule.PERSISTENT_MODULE)
public class ChronicleMapCacheModule extends LifecycleModule {
  /** Called by Gerrit when it starts. Throws a {@code ProvisionException} if it must not start. */
  @Inject
  ChronicleMapCacheModule(SitePaths site, @GerritServerConfig Config config) {
    StartRefusal.unlessValid(
        site,
        config,
        OwnSettings.ofCaches(config),
        () -> new ConfigLinesCheck(config).checkCacheModule(ChronicleMapCacheModule.class));
  }

  @Override
  protected void configure() {
    StoreDirectory.warmUp();
    listener().toInstance(new RunningJar());
    install(new CachesModule());
    listener().to(CacheMetrics.class);
    listener().to(SharedMetrics.class);
    install(new AdminModule());
  }
}
