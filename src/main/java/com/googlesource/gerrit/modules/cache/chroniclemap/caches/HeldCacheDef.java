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

import com.google.common.cache.CacheLoader;
import com.google.common.cache.Weigher;
import com.google.gerrit.common.Nullable;
import com.google.gerrit.server.cache.CacheDef;
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.inject.TypeLiteral;
import java.time.Duration;

/**
 * The definition of a cache's heap tier, whose values are {@link Held} and weigh as much as the
 * value within.
 */
record HeldCacheDef<K, V>(PersistentCacheDef<K, V> source) implements CacheDef<K, Held<V>> {
  @Override
  public String name() {
    return source.name();
  }

  @Override
  public String configKey() {
    return source.configKey();
  }

  @Override
  public TypeLiteral<K> keyType() {
    return source.keyType();
  }

  @Override
  @SuppressWarnings("unchecked")
  public TypeLiteral<Held<V>> valueType() {
    return (TypeLiteral<Held<V>>) (TypeLiteral<?>) TypeLiteral.get(Held.class);
  }

  @Override
  public long maximumWeight() {
    return source.maximumWeight();
  }

  @Override
  @Nullable
  public Duration expireAfterWrite() {
    return source.expireAfterWrite();
  }

  @Override
  @Nullable
  public Duration expireFromMemoryAfterAccess() {
    return source.expireFromMemoryAfterAccess();
  }

  @Override
  @Nullable
  public Duration refreshAfterWrite() {
    return source.refreshAfterWrite();
  }

  @Override
  @Nullable
  public Weigher<K, Held<V>> weigher() {
    Weigher<K, V> weigher = source.weigher();
    return weigher == null ? null : (key, held) -> weigher.weigh(key, held.value);
  }

  /** Returns null, as the loader is passed to the factory of the heap tier. */
  @Override
  @Nullable
  public CacheLoader<K, Held<V>> loader() {
    return null;
  }
}
