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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.inject.Injector;
import com.google.inject.Key;
import com.google.inject.Provides;
import com.google.inject.Singleton;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RefsInventory;
import java.util.Optional;

/** The module of the SSH commands, the REST API and the page, which start with the server. */
public final class AdminModule extends LifecycleModule {
  @Override
  protected void configure() {
    listener().to(AdminLifecycle.class);
  }

  /**
   * Finds the inventory of the caches, which exists only if their module is installed.
   *
   * @param injector the server's, a child of the injector that has the other module
   */
  @Provides
  @Singleton
  static Optional<CacheInventory> caches(Injector injector) {
    return find(injector, CacheInventory.class);
  }

  /**
   * Finds the inventory of parsed ref lists, which exists only if their module is installed.
   *
   * @param injector as above
   */
  @Provides
  @Singleton
  static Optional<RefsInventory> refs(Injector injector) {
    return find(injector, RefsInventory.class);
  }

  private static <T> Optional<T> find(Injector injector, Class<T> type) {
    return Optional.ofNullable(injector.getExistingBinding(Key.get(type)))
        .map(binding -> binding.getProvider().get());
  }
}
