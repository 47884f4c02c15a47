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

import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.util.concurrent.UncheckedExecutionException;
import com.google.gerrit.lifecycle.LifecycleManager;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.TestCacheDef;
import com.googlesource.gerrit.modules.cache.chroniclemap.caches.TestSite;
import java.nio.file.Path;
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
    this(peer, site, entries.cacheName(), DISK_LIMIT);
  }

  /**
   * Opens the cache of a site, which is made if it is not there.
   *
   * @param diskLimit bytes
   */
  public OpenCache(CachePeer peer, Path site, long diskLimit) {
    this(peer, site, "benchmark", diskLimit);
  }

  /**
   * Its values are their own stored form: what is measured is the cache, not a serializer. Nothing
   * is kept on the heap, so that each get is answered from disk.
   *
   * @param name the benchmarks' own, or one of Gerrit's, which says how it is stored
   */
  private OpenCache(CachePeer peer, Path site, String name, long diskLimit) {
    configureLog();
    this.peer = peer;
    Config config = new Config();
    config.setString("cache", null, "directory", "cache");
    injector = Guice.createInjector(TestSite.gerrit(site, config), peer.module());
    begun = System.nanoTime();
    TestCacheDef<byte[]> def =
        new TestCacheDef<>(name, byte[].class, AsIs.INSTANCE).diskLimit(diskLimit).maximumWeight(0);
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

  /** Gerrit logs at this level; at a finer one each get of H2 would write a line. */
  private static void configureLog() {
    BasicConfigurator.resetConfiguration();
    BasicConfigurator.configure();
    Logger.getRootLogger().setLevel(Level.WARN);
  }

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
}
