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
import com.google.gerrit.server.cache.PersistentCacheDef;
import com.google.gerrit.server.cache.serialize.CacheSerializer;
import com.google.gerrit.server.cache.serialize.StringCacheSerializer;
import com.google.inject.TypeLiteral;
import java.time.Duration;

/** What a Gerrit module says of a cache with strings for keys and values; each part can be set. */
final class TestCacheDef implements PersistentCacheDef<String, String> {
  private final String name;
  private long diskLimit = 4 << 20;
  private int version = 1;
  private long maximumWeight = 1024;
  @Nullable private Duration expireAfterWrite;
  @Nullable private Duration refreshAfterWrite;
  @Nullable private Weigher<String, String> weigher;
  @Nullable private CacheLoader<String, String> loader;
  private CacheSerializer<String> keySerializer = StringCacheSerializer.INSTANCE;
  private CacheSerializer<String> valueSerializer = StringCacheSerializer.INSTANCE;

  TestCacheDef(String name) {
    this.name = name;
  }

  TestCacheDef diskLimit(long bytes) {
    diskLimit = bytes;
    return this;
  }

  TestCacheDef version(int number) {
    version = number;
    return this;
  }

  TestCacheDef maximumWeight(long weight) {
    maximumWeight = weight;
    return this;
  }

  TestCacheDef expireAfterWrite(Duration duration) {
    expireAfterWrite = duration;
    return this;
  }

  TestCacheDef refreshAfterWrite(Duration duration) {
    refreshAfterWrite = duration;
    return this;
  }

  TestCacheDef weigher(Weigher<String, String> newWeigher) {
    weigher = newWeigher;
    return this;
  }

  TestCacheDef loader(CacheLoader<String, String> newLoader) {
    loader = newLoader;
    return this;
  }

  TestCacheDef keySerializer(CacheSerializer<String> serializer) {
    keySerializer = serializer;
    return this;
  }

  TestCacheDef valueSerializer(CacheSerializer<String> serializer) {
    valueSerializer = serializer;
    return this;
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
  public TypeLiteral<String> keyType() {
    return TypeLiteral.get(String.class);
  }

  @Override
  public TypeLiteral<String> valueType() {
    return TypeLiteral.get(String.class);
  }

  @Override
  public long maximumWeight() {
    return maximumWeight;
  }

  @Override
  @Nullable
  public Duration expireAfterWrite() {
    return expireAfterWrite;
  }

  @Override
  @Nullable
  public Duration expireFromMemoryAfterAccess() {
    return null;
  }

  @Override
  @Nullable
  public Duration refreshAfterWrite() {
    return refreshAfterWrite;
  }

  @Override
  @Nullable
  public Weigher<String, String> weigher() {
    return weigher;
  }

  @Override
  @Nullable
  public CacheLoader<String, String> loader() {
    return loader;
  }

  @Override
  public long diskLimit() {
    return diskLimit;
  }

  @Override
  public int version() {
    return version;
  }

  @Override
  public CacheSerializer<String> keySerializer() {
    return keySerializer;
  }

  @Override
  public CacheSerializer<String> valueSerializer() {
    return valueSerializer;
  }
}
