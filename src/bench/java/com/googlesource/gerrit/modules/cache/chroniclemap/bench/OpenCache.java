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
import com.google.common.cache.Weigher;
import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.extensions.registration.DynamicMap;
import com.google.gerrit.extensions.registration.DynamicSet;
import com.google.gerrit.lifecycle.LifecycleManager;
import com.google.gerrit.metrics.DisabledMetricMaker;
import com.google.gerrit.metrics.MetricMaker;
import com.google.gerrit.server.cache.CacheRemovalListener;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.cache.mem.DefaultMemoryCacheModule;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.google.gerrit.server.cache.serialize.StringCacheSerializer;
import com.google.gerrit.server.config.GerritServerConfig;
import com.google.gerrit.server.config.SitePath;
import com.google.gerrit.server.git.WorkQueue;
import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.inject.TypeLiteral;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import org.apache.log4j.BasicConfigurator;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.eclipse.jgit.lib.Config;

/** A persistent cache as Gerrit's daemon makes, starts and stops it. */
public final class OpenCache implements AutoCloseable {
  /** Two and a half times what the benchmarks keep. */
  private static final long DISK_LIMIT = 256 << 20;

  private static final CacheLoader<String, byte[]> NO_SOURCE =
      new CacheLoader<>() {
        @Override
        public byte[] load(String key) {
          throw new IllegalStateException("not found on disk: " + key);
        }
      };

  private final CachePeer peer;
  private final Injector injector;
  private final LoadingCache<String, byte[]> cache;
  private final LifecycleManager lifecycle = new LifecycleManager();
  private final long begun;

  /** Opens the cache of a site, which is made if it is not there, for these entries. */
  OpenCache(CachePeer peer, Path site, Entries entries) {
    this(peer, site, new DiskCacheDef(entries.cacheName(), DISK_LIMIT));
  }

  /**
   * Opens the cache of a site, which is made if it is not there.
   *
   * @param diskLimit bytes
   */
  public OpenCache(CachePeer peer, Path site, long diskLimit) {
    this(peer, site, new DiskCacheDef("benchmark", diskLimit));
  }

  private OpenCache(CachePeer peer, Path site, DiskCacheDef def) {
    GerritEnvironment.configureLog();
    this.peer = peer;
    injector = Guice.createInjector(new GerritEnvironment(site), peer.module());
    begun = System.nanoTime();
    cache = injector.getInstance(PersistentCacheFactory.class).build(def, NO_SOURCE);
    lifecycle.add(injector);
    lifecycle.start();
    peer.awaitOpen(injector, cache);
  }

  /** When opening began, behind what Guice does; as {@link System#nanoTime} tells. */
  public long begun() {
    return begun;
  }

  /**
   * Reads a value from disk.
   *
   * @throws ExecutionException if there is none
   */
  public byte[] get(String key) throws ExecutionException {
    try {
      return cache.get(key);
    } catch (UncheckedExecutionException e) {
      if (peer != CachePeer.H2) {
        throw e;
      }
      // H2 gives a read up when it cannot lock the row for two seconds, as on a busy
      // disk. Gerrit would compute the value then. Here the call reads again, and takes that long.
      return cache.get(key);
    }
  }

  /** Puts a value, which may be on its way to the disk when this returns. */
  public void put(String key, byte[] value) {
    cache.put(key, value);
  }

  /** Removes a value. */
  public void remove(String key) {
    cache.invalidate(key);
  }

  /** Returns when all that was put is on disk. */
  public void drain() {
    peer.drain(injector, cache);
  }

  /** What the cache itself says that it has on disk. */
  public long entriesOnDisk() {
    return ((PersistentCache) cache).diskStats().size();
  }

  @Override
  public void close() {
    lifecycle.stop();
  }

  /**
   * A cache whose values are their own stored form: what is measured is the cache, not a
   * serializer. Nothing is kept on the heap, so that each get is answered from disk.
   *
   * @param name the benchmarks' own, or one of Gerrit's, which says how it is stored
   * @param diskLimit bytes
   */
  private record DiskCacheDef(String name, long diskLimit)
      implements PersistentCacheDef<String, byte[]> {
    private enum AsIs implements CacheSerializer<byte[]> {
      INSTANCE;

      @Override
      public byte[] serialize(byte[] bytes) {
        return bytes;
      }

      @Override
      public byte[] deserialize(byte[] stored) {
        return stored;
      }
    }

    @Override
    public String configKey() {
      return name;
    }

    @Override
    public int version() {
      return 1;
    }

    @Override
    public long maximumWeight() {
      return 0;
    }

    @Override
    public TypeLiteral<String> keyType() {
      return TypeLiteral.get(String.class);
    }

    @Override
    public TypeLiteral<byte[]> valueType() {
      return TypeLiteral.get(byte[].class);
    }

    @Override
    public CacheSerializer<String> keySerializer() {
      return StringCacheSerializer.INSTANCE;
    }

    @Override
    public CacheSerializer<byte[]> valueSerializer() {
      return AsIs.INSTANCE;
    }

    @Override
    @Nullable
    public Weigher<String, byte[]> weigher() {
      return null;
    }

    @Override
    @Nullable
    public Duration expireAfterWrite() {
      return null;
    }

    @Override
    @Nullable
    public Duration expireFromMemoryAfterAccess() {
      return null;
    }

    @Override
    @Nullable
    public Duration refreshAfterWrite() {
      return null;
    }

    /** Null: it is given to the factory. */
    @Override
    @Nullable
    public CacheLoader<String, byte[]> loader() {
      return null;
    }
  }

  /**
   * The part of Gerrit's server that persistent caches need, with all settings at their defaults.
   */
  private static final class GerritEnvironment extends AbstractModule {
    private final Path site;

    GerritEnvironment(Path site) {
      this.site = site;
    }

    /** Gerrit logs at this level; at a finer one each get of H2 would write a line. */
    static void configureLog() {
      BasicConfigurator.resetConfiguration();
      BasicConfigurator.configure();
      Logger.getRootLogger().setLevel(Level.WARN);
    }

    @Override
    protected void configure() {
      Config config = new Config();
      config.setString("cache", null, "directory", "cache");
      bind(Config.class).annotatedWith(GerritServerConfig.class).toInstance(config);
      bind(Path.class).annotatedWith(SitePath.class).toInstance(site);
      bind(MetricMaker.class).to(DisabledMetricMaker.class);
      install(new WorkQueue.WorkQueueModule());
      DynamicMap.mapOf(binder(), new TypeLiteral<Cache<?, ?>>() {});
      DynamicSet.setOf(binder(), CacheRemovalListener.class);
      install(new DefaultMemoryCacheModule());
    }
  }
}
