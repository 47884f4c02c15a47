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
import com.google.gerrit.lifecycle.LifecycleManager;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.inject.Guice;
import com.google.inject.Injector;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;

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
    return cache.get(key);
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
}
