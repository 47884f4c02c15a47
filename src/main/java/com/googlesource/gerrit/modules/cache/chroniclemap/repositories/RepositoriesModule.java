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

import com.google.gerrit.entities.Project;
import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.git.LocalDiskRepositoryManager;
import com.google.inject.Provider;
import com.google.inject.Provides;
import com.google.inject.Singleton;
import com.google.inject.matcher.Matcher;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.PackedRefsCache;
import java.lang.reflect.Method;
import java.util.List;
import org.aopalliance.intercept.MethodInterceptor;

/**
 * The module that puts {@link ParsedRefsRepositories} in front of Gerrit's own manager of
 * repositories on disk.
 *
 * <p>It intercepts methods of that manager and binds no manager itself. Plugins that look at the
 * manager's class still find Gerrit's. Another module, such as global-refdb or multi-site, may bind
 * a manager that asks Gerrit's; its repositories then wrap those of this module.
 */
public final class RepositoriesModule extends LifecycleModule {
  @Override
  protected void configure() {
    bind(RefsInventory.class);
    Provider<ParsedRefsRepositories> ours = getProvider(ParsedRefsRepositories.class);
    intercept(call -> ours.get().open(call), "openRepository", "createRepository");
    intercept(call -> ours.get().status(call), "getRepositoryStatus");
    intercept(call -> ours.get().deleted(call), "repositoryDeleted");
    listener().to(PackedRefsLifecycle.class);
    listener().to(ManagerCheck.class);
  }

  @Provides
  @Singleton
  static PackedRefsCache cache(PackedRefsConfig config) {
    return CacheByFolder.of(config.settings(), config.updates());
  }

  private void intercept(MethodInterceptor interceptor, String... methods) {
    bindInterceptor(subclassesOf(LocalDiskRepositoryManager.class), named(methods), interceptor);
  }

  /** Matches methods that take the name of a project, except bridge methods. */
  private static Matcher<Method> named(String... names) {
    return method ->
        List.of(names).contains(method.getName())
            && method.getParameterCount() == 1
            && method.getParameterTypes()[0] == Project.NameKey.class
            && !method.isSynthetic();
  }
}
