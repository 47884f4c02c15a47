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
 * Nothing is kept on the heap, so that each get is answered from disk.
 *
 * @param name the benchmarks' own, or one of Gerrit's, which says how it is stored
 * @param diskLimit bytes
 */
record DiskCacheDef(String name, long diskLimit) implements PersistentCacheDef<String, byte[]> {
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
