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

import com.google.common.cache.Cache;
import com.google.common.cache.LoadingCache;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.lifecycle.LifecycleManager;
import com.google.gerrit.metrics.DisabledMetricMaker;
import com.google.gerrit.metrics.MetricMaker;
import com.google.gerrit.server.cache.CacheRemovalListener;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.cache.h2.H2CacheModule;
import com.google.gerrit.server.cache.mem.DefaultMemoryCacheModule;
import com.google.gerrit.server.config.GerritRuntime;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePath;
import com.google.gerrit.server.git.WorkQueue;
import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.inject.Key;
import com.google.inject.Module;
import com.google.inject.TypeLiteral;
import com.google.inject.name.Names;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jgit.lib.Config;

/**
 * The caches of a site without the rest of Gerrit: the real modules in an injector of their own.
 */
public final class TestSite implements AutoCloseable {
  /** Who keeps the persistent caches. */
  enum Backend {
    CHRONICLE,
    H2
  }

  private final Path folder;
  private final Backend backend;
  private final Config config;
  private final GerritRuntime runtime;
  private Injector injector;
  private LifecycleManager lifecycle;
  private final List<ChronicleMapCache<?, ?>> caches = new ArrayList<>();

  TestSite(Path folder, Backend backend) {
    this(folder, backend, new Config());
  }

  TestSite(Path folder, Backend backend, Config config) {
    this(folder, backend, config, GerritRuntime.DAEMON);
  }

  /** The caches of an offline program. */
  static TestSite ofProgram(Path folder) {
    return new TestSite(folder, Backend.CHRONICLE, new Config(), GerritRuntime.BATCH);
  }

  private TestSite(Path folder, Backend backend, Config config, GerritRuntime runtime) {
    this.config = config;
    this.runtime = runtime;
    this.folder = folder;
    this.backend = backend;
    config.setString("cache", null, "directory", "cache");
    // Refreshes and removal listeners run in the thread that causes them, so tests need not wait.
    config.setInt("cache", null, "threads", 0);
    start();
  }

  /** What would stand in gerrit.config. Caches see it when they are built. */
  Config config() {
    return config;
  }

  Path folder() {
    return folder;
  }

  /** The part of Gerrit's server that persistent caches need. */
  public static Module gerrit(Path folder, Config config) {
    return new AbstractModule() {
      @Override
      protected void configure() {
        bind(Path.class).annotatedWith(SitePath.class).toInstance(folder);
        bind(Config.class).annotatedWith(GerritServerConfig.class).toInstance(config);
        bind(MetricMaker.class).to(DisabledMetricMaker.class);
        DynamicMap.mapOf(binder(), new TypeLiteral<Cache<?, ?>>() {});
        DynamicSet.setOf(binder(), CacheRemovalListener.class);
        install(new WorkQueue.WorkQueueModule());
        install(new DefaultMemoryCacheModule());
      }
    };
  }

  void start() {
    injector =
        Guice.createInjector(
            gerrit(folder, config),
            binder -> binder.bind(GerritRuntime.class).toInstance(runtime),
            backend == Backend.H2 ? new H2CacheModule() : new CachesModule());
    lifecycle = new LifecycleManager();
    lifecycle.add(injector);
    lifecycle.start();
  }

  <T> T get(Key<T> key) {
    return injector.getInstance(key);
  }

  /** Gerrit's {@code --read-only-disk-caches}. */
  AtomicBoolean readOnly() {
    return get(Key.get(AtomicBoolean.class, Names.named(ChronicleMapCacheFactory.READ_ONLY)));
  }

  PersistentCacheFactory factory() {
    return injector.getInstance(PersistentCacheFactory.class);
  }

  CacheInventory inventory() {
    return injector.getInstance(CacheInventory.class);
  }

  Cache<String, String> build(TestCacheDef<String> def) {
    Cache<String, String> cache =
        def.loader() == null ? factory().build(def) : factory().build(def, def.loader());
    settle();
    if (cache instanceof ChronicleMapCache<String, String> ours) {
      awaitOpened(ours);
      caches.add(ours);
    }
    return cache;
  }

  LoadingCache<String, String> loading(TestCacheDef<String> def) {
    return (LoadingCache<String, String>) build(def);
  }

  /** Has the folder of the stores, which could not be opened, tried again. */
  void tryFolderAgain() {
    TestStores.tryAgain(((ChronicleMapCacheFactory) factory()).directory.orElseThrow());
  }

  /** Returns when the file of a cache is open, or cannot be opened. */
  public static void awaitOpened(Cache<?, ?> cache) {
    try {
      ((ChronicleMapCache<?, ?>) cache).disk.store.awaitOpened();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns when all that was put to a cache is in its file. */
  public static void flush(Cache<?, ?> cache) {
    ((ChronicleMapCache<?, ?>) cache).disk.store.flush();
  }

  /** Returns when what is opened and written in the background has been. */
  void settle() {
    if (backend != Backend.H2) {
      caches.forEach(cache -> cache.disk.write(/* isLast= */ false));
      return;
    }
    ((LifecycleListener) factory()).start();
    for (Key<?> key : injector.getAllBindings().keySet()) {
      if (key.getTypeLiteral().getRawType() == ExecutorService.class) {
        try {
          // Null if there is no disk to write to.
          if (injector.getInstance(key) instanceof ExecutorService executor) {
            executor.submit(() -> {}).get();
          }
        } catch (InterruptedException | ExecutionException e) {
          throw new IllegalStateException(e);
        }
      }
    }
  }

  void stop() {
    lifecycle.stop();
    caches.clear();
  }

  /** Stops and starts as a server would; caches have to be built again. */
  void restart() {
    stop();
    start();
  }

  @Override
  public void close() {
    stop();
  }
}
