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

import static com.google.gerrit.server.config.ConfigResource.CONFIG_KIND;

import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.extensions.restapi.RestApiModule;
import com.google.gerrit.extensions.webui.TopMenu;
import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.inject.Inject;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.CacheInventory;
import java.util.Optional;

/**
 * The bindings of the REST API, the history and the link to the page. Cache endpoints are bound
 * only if the module of the caches is installed.
 */
final class AdminRestModule extends RestApiModule {
  @Inject private Optional<CacheInventory> caches;

  @Override
  protected void configure() {
    DynamicMap.mapOf(binder(), RefsApi.KIND);
    child(CONFIG_KIND, "refs").to(RefsApi.All.class);
    get(RefsApi.KIND).toInstance(new RestCollection.GetOne<>());
    DynamicSet.bind(binder(), TopMenu.class).to(PageLink.class);
    get(CONFIG_KIND, "history").to(PageApi.GetHistory.class);
    get(CONFIG_KIND, "overview").to(PageApi.Overview.class);
    install(lifecycle(History.class));
    if (caches.isEmpty()) {
      return;
    }
    DynamicMap.mapOf(binder(), CachesApi.KIND);
    child(CONFIG_KIND, "caches").to(CachesApi.All.class);
    get(CachesApi.KIND).toInstance(new RestCollection.GetOne<>());
    get(CachesApi.KIND, "history").to(CachesApi.GetHistory.class);
    post(CachesApi.KIND, "verify").to(CachesApi.Verify.class);
    install(lifecycle(VerifyQueue.class));
  }

  private static LifecycleModule lifecycle(Class<? extends LifecycleListener> type) {
    return new LifecycleModule() {
      @Override
      protected void configure() {
        listener().to(type);
      }
    };
  }
}
