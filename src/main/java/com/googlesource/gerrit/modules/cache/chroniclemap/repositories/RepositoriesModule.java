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

import static com.google.inject.matcher.Matchers.subclassesOf;

import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.git.LocalDiskRepositoryManager;
import com.google.inject.Provider;
import com.google.inject.Provides;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.members.Member;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import org.aopalliance.intercept.MethodInterceptor;
import org.eclipse.jgit.lib.Config;

/**
 * The module that puts {@link ParsedRefsRepositories} in front of Gerrit's own manager of
 * repositories on disk.
 *
 * <p>It intercepts methods of that manager and binds no manager itself. Plugins that look at the
 * manager's class still find Gerrit's. Another module, such as global-refdb or multi-site, may bind
 * a manager that asks Gerrit's; its repositories then wrap those of this module.
 */
public final class RepositoriesModule extends LifecycleModule {
  /** Whether parsed ref lists are enabled at all. */
  public static boolean isEnabled(Config config) {
    boolean wasEnabled = config.getBoolean(PackedRefsConfig.EARLIER, null, "enabled", true);
    return config.getBoolean(PackedRefsConfig.SECTION, null, "packedRefs", wasEnabled);
  }

  @Override
  protected void configure() {
    bind(RefsInventory.class);
    Provider<ParsedRefsRepositories> ours = getProvider(ParsedRefsRepositories.class);
    intercept(Member.OPEN_REPOSITORY, call -> ours.get().open(call));
    intercept(Member.CREATE_REPOSITORY, call -> ours.get().open(call));
    intercept(Member.DELETE_REPOSITORY, call -> ours.get().deleted(call));
    listener().to(PackedRefsLifecycle.class);
    listener().to(ManagerCheck.class);
  }

  @Provides
  @Singleton
  static PackedRefsCache cache(PackedRefsConfig config) {
    return CacheByFolder.of(config.settings(), config.updates());
  }

  private void intercept(Member method, MethodInterceptor interceptor) {
    bindInterceptor(subclassesOf(LocalDiskRepositoryManager.class), method::is, interceptor);
  }
}
