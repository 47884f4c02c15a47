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
import com.google.common.cache.CacheLoader;
import com.google.gerrit.server.cache.PersistentCache;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
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
  private final CacheLoader<K, V> loader;
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
  LmdbCache(Path folder, PersistentCacheDef<K, V> def, CacheLoader<K, V> loader) {
    this.keySerializer = def.keySerializer();
    this.valueSerializer = def.valueSerializer();
    this.loader = loader;
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

  @Override
  public V get(K key) throws ExecutionException {
    V found = getIfPresent(key);
    if (found != null) {
      return found;
    }
    try {
      V loaded = loader.load(key);
      put(key, loaded);
      return loaded;
    } catch (Exception e) {
      throw new ExecutionException(e);
    }
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
  public void invalidateAll() {
    try (Txn<ByteBuffer> write = env.txnWrite()) {
      entries.drop(write);
      write.commit();
    }
  }

  @Override
  public DiskStats diskStats() {
    try (Txn<ByteBuffer> read = env.txnRead()) {
      return new DiskStats(entries.stat(read).entries, 0, 0, 0, 0);
    }
  }

  void close() {
    reads.forEach(Txn::close);
    env.close();
  }
}
