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

package com.googlesource.gerrit.modules.cache.chroniclemap.caches;

import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.plugins.ReloadPluginListener;
import com.google.inject.internal.UniqueAnnotations;
import com.google.inject.name.Names;
import java.util.concurrent.atomic.AtomicBoolean;

/** Binds the factory of persistent caches. */
public final class CachesModule extends LifecycleModule {
  @Override
  protected void configure() {
    bind(PersistentCacheFactory.class).to(ChronicleMapCacheFactory.class);
    // Gerrit sets this flag in offline programs. Gerrit's own module for H2 uses the same name.
    bind(AtomicBoolean.class)
        .annotatedWith(Names.named(ChronicleMapCacheFactory.READ_ONLY))
        .toInstance(new AtomicBoolean());
    bind(CacheInventory.class).to(ChronicleMapCacheFactory.class);
    listener().to(ChronicleMapCacheFactory.class);
    bind(ReloadPluginListener.class)
        .annotatedWith(UniqueAnnotations.create())
        .to(ChronicleMapCacheFactory.class);
  }
}
