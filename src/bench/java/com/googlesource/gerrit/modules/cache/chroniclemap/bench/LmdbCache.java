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

import static org.lmdbjava.DbiFlags.MDB_CREATE;
import static org.lmdbjava.EnvFlags.MDB_NOSYNC;
import static org.lmdbjava.EnvFlags.MDB_NOTLS;
import static org.lmdbjava.EnvFlags.MDB_WRITEMAP;

import com.google.common.cache.AbstractLoadingCache;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.gerrit.extensions.events.LifecycleListener;
import com.google.gerrit.lifecycle.LifecycleModule;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.PersistentCacheFactory;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.google.gerrit.server.config.SitePath;
import com.google.inject.Inject;
import com.google.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import org.lmdbjava.ByteBufferProxy;
import org.lmdbjava.Dbi;
import org.lmdbjava.Env;
import org.lmdbjava.Txn;

/**
 * As fast a cache as one can make of LMDB: no heap tier, no expiry, no checksums, no bound but the
 * size of its map. A thread renews one read transaction for each get and copies the value out of
 * the map; a put is a transaction of the thread that calls, and in the map when it returns. As with
 * the other peers nothing waits for the disk.
 */
final class LmdbCache<K, V> extends AbstractLoadingCache<K, V> implements PersistentCache {
  /** What the map may take: an overwritten value leaves its pages to later transactions. */
  private static final int MAP_SIZE_IN_LIMITS = 2;

  private static final int MAX_READERS = 192;

  private final CacheSerializer<K> keySerializer;
  private final CacheSerializer<V> valueSerializer;
  private final Env<ByteBuffer> env;
  private final Dbi<ByteBuffer> entries;
  private final Queue<Txn<ByteBuffer>> reads = new ConcurrentLinkedQueue<>();
  private final ThreadLocal<Buffers> buffers = ThreadLocal.withInitial(Buffers::new);

  /** What a thread uses again and again: LMDB takes memory outside the heap only. */
  private final class Buffers {
    final Txn<ByteBuffer> read = env.txnRead();
    final ByteBuffer key = ByteBuffer.allocateDirect(env.getMaxKeySize());

    Buffers() {
      read.reset();
      reads.add(read);
    }

    ByteBuffer keyOf(byte[] bytes) {
      return key.clear().put(bytes).flip();
    }
  }

  /** Opens the cache in a folder, which must be there. */
  private LmdbCache(Path folder, PersistentCacheDef<K, V> def) {
    this.keySerializer = def.keySerializer();
    this.valueSerializer = def.valueSerializer();
    env =
        Env.create(ByteBufferProxy.PROXY_OPTIMAL)
            .setMapSize(MAP_SIZE_IN_LIMITS * def.diskLimit())
            .setMaxDbs(1)
            .setMaxReaders(MAX_READERS)
            // No sync, as with the other peers; writes go to the map, not by way of a copy; and
            // without thread local transactions the one that closes may be another thread.
            .open(folder.toFile(), MDB_NOSYNC, MDB_WRITEMAP, MDB_NOTLS);
    entries = env.openDbi(def.name(), MDB_CREATE);
  }

  /** What it does not have it cannot compute: the benchmarks ask for what they have put. */
  @Override
  public V get(K key) throws ExecutionException {
    V found = getIfPresent(key);
    if (found == null) {
      throw new ExecutionException(new IllegalStateException("not found: " + key));
    }
    return found;
  }

  /** Null if it is not there. */
  @Override
  @SuppressWarnings("unchecked")
  public V getIfPresent(Object key) {
    Buffers mine = buffers.get();
    ByteBuffer keyBytes = mine.keyOf(keySerializer.serialize((K) key));
    byte[] bytes;
    mine.read.renew();
    try {
      ByteBuffer found = entries.get(mine.read, keyBytes);
      if (found == null) {
        return null;
      }
      bytes = new byte[found.remaining()];
      found.get(bytes);
    } finally {
      mine.read.reset();
    }
    return valueSerializer.deserialize(bytes);
  }

  @Override
  public void put(K key, V value) {
    ByteBuffer keyBytes = buffers.get().keyOf(keySerializer.serialize(key));
    byte[] bytes = valueSerializer.serialize(value);
    try (Txn<ByteBuffer> write = env.txnWrite()) {
      // Into the map, without a buffer between.
      entries.reserve(write, keyBytes, bytes.length).put(bytes);
      write.commit();
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public void invalidate(Object key) {
    boolean unused = entries.delete(buffers.get().keyOf(keySerializer.serialize((K) key)));
  }

  @Override
  public DiskStats diskStats() {
    try (Txn<ByteBuffer> read = env.txnRead()) {
      return new DiskStats(entries.stat(read).entries, 0, 0, 0, 0);
    }
  }

  private void close() {
    reads.forEach(Txn::close);
    env.close();
  }

  /** Binds a factory of these caches. */
  static final class FactoryModule extends LifecycleModule {
    @Override
    protected void configure() {
      bind(PersistentCacheFactory.class).to(Factory.class);
      listener().to(Factory.class);
    }
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
        LmdbCache<K, V> cache = new LmdbCache<>(folder, def);
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
