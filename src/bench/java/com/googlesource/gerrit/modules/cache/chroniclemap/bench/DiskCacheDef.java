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
import com.google.common.cache.Weigher;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.google.gerrit.server.cache.serialize.StringCacheSerializer;
import com.google.inject.TypeLiteral;
import java.time.Duration;

/**
 * A cache whose values are their own stored form: what is measured is the cache, not a serializer.
 *
 * @param <K> type of the keys
 */
final class DiskCacheDef<K> implements PersistentCacheDef<K, byte[]> {
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

  private final String name;
  private final int version;
  private final long diskLimit;
  private final long heapEntries;
  private final TypeLiteral<K> keyType;
  private final CacheSerializer<K> keySerializer;

  private DiskCacheDef(
      String name,
      int version,
      long diskLimit,
      long heapEntries,
      TypeLiteral<K> keyType,
      CacheSerializer<K> keySerializer) {
    this.name = name;
    this.version = version;
    this.diskLimit = diskLimit;
    this.heapEntries = heapEntries;
    this.keyType = keyType;
    this.keySerializer = keySerializer;
  }

  /**
   * A cache of the benchmarks' own, or with the name of one of Gerrit's, which says how it is
   * stored.
   *
   * @param diskLimit bytes
   * @param heapEntries how many values are kept on the heap; 0 so that each get is answered from
   *     disk
   */
  static DiskCacheDef<String> withTextKeys(String name, long diskLimit, long heapEntries) {
    return new DiskCacheDef<>(
        name,
        1,
        diskLimit,
        heapEntries,
        TypeLiteral.get(String.class),
        StringCacheSerializer.INSTANCE);
  }

  /**
   * A cache of Gerrit by name, whose keys are given in their stored form, too. What is put to it is
   * found again by the Gerrit that owns the name. Nothing is kept on the heap.
   *
   * @param version must be the one of that Gerrit, or it drops what it finds
   * @param diskLimit bytes
   */
  static DiskCacheDef<byte[]> withStoredKeys(String name, int version, long diskLimit) {
    return new DiskCacheDef<>(
        name, version, diskLimit, 0, TypeLiteral.get(byte[].class), AsIs.INSTANCE);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String configKey() {
    return name;
  }

  @Override
  public int version() {
    return version;
  }

  @Override
  public long maximumWeight() {
    return heapEntries;
  }

  @Override
  public long diskLimit() {
    return diskLimit;
  }

  @Override
  public TypeLiteral<K> keyType() {
    return keyType;
  }

  @Override
  public TypeLiteral<byte[]> valueType() {
    return TypeLiteral.get(byte[].class);
  }

  @Override
  public CacheSerializer<K> keySerializer() {
    return keySerializer;
  }

  @Override
  public CacheSerializer<byte[]> valueSerializer() {
    return AsIs.INSTANCE;
  }

  @Override
  @Nullable
  public Weigher<K, byte[]> weigher() {
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

  /** Null: a loader, if there is any, is given to the factory. */
  @Override
  @Nullable
  public CacheLoader<K, byte[]> loader() {
    return null;
  }
}
