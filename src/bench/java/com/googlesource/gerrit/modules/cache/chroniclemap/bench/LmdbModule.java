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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.config.SitePath;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Binds a factory of {@link LmdbCache}s. */
final class LmdbModule extends LifecycleModule {
  @Override
  protected void configure() {
    bind(PersistentCacheFactory.class).to(Factory.class);
    listener().to(Factory.class);
  }

  @Singleton
  private static final class Factory implements PersistentCacheFactory, LifecycleListener {
    private final Path site;
    private final List<LmdbCache<?, ?>> caches = new CopyOnWriteArrayList<>();

    @Inject
    Factory(@SitePath Path site) {
      this.site = site;
    }

    @Override
    public <K, V> LoadingCache<K, V> build(PersistentCacheDef<K, V> def, CacheLoader<K, V> loader) {
      try {
        Path folder = Files.createDirectories(site.resolve("cache").resolve(def.name()));
        LmdbCache<K, V> cache = new LmdbCache<>(folder, def, loader);
        caches.add(cache);
        return cache;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public <K, V> Cache<K, V> build(PersistentCacheDef<K, V> def) {
      throw new UnsupportedOperationException("the benchmarks give a loader");
    }

    @Override
    public void onStop(String plugin) {}

    @Override
    public void start() {}

    @Override
    public void stop() {
      caches.forEach(LmdbCache::close);
    }
  }
}
