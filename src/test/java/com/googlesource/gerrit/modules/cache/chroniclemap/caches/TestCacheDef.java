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
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** What a Gerrit module says of a cache with strings for keys; each part can be set. */
public final class TestCacheDef<V> implements PersistentCacheDef<String, V> {
  private final String name;
  private final Class<V> valueType;
  private long diskLimit = 4 << 20;
  private int version = 1;
  private long maximumWeight = 1024;
  @Nullable private Duration expireAfterWrite;
  @Nullable private Duration refreshAfterWrite;
  @Nullable private Weigher<String, V> weigher;
  @Nullable private CacheLoader<String, V> loader;
  private CacheSerializer<String> keySerializer = StringCacheSerializer.INSTANCE;
  private CacheSerializer<V> valueSerializer;

  public TestCacheDef(String name, Class<V> valueType, CacheSerializer<V> valueSerializer) {
    this.name = name;
    this.valueType = valueType;
    this.valueSerializer = valueSerializer;
  }

  /** A cache whose values are strings, too. */
  static TestCacheDef<String> of(String name) {
    return new TestCacheDef<>(name, String.class, StringCacheSerializer.INSTANCE);
  }

  /** Strings as Gerrit stores them, with something done to each that is written or was read. */
  static CacheSerializer<String> serializer(Consumer<String> write, UnaryOperator<String> read) {
    return new CacheSerializer<>() {
      @Override
      public byte[] serialize(String text) {
        write.accept(text);
        return StringCacheSerializer.INSTANCE.serialize(text);
      }

      @Override
      public String deserialize(byte[] bytes) {
        return read.apply(StringCacheSerializer.INSTANCE.deserialize(bytes));
      }
    };
  }

  public TestCacheDef<V> diskLimit(long bytes) {
    diskLimit = bytes;
    return this;
  }

  TestCacheDef<V> version(int number) {
    version = number;
    return this;
  }

  public TestCacheDef<V> maximumWeight(long weight) {
    maximumWeight = weight;
    return this;
  }

  TestCacheDef<V> expireAfterWrite(Duration duration) {
    expireAfterWrite = duration;
    return this;
  }

  TestCacheDef<V> refreshAfterWrite(Duration duration) {
    refreshAfterWrite = duration;
    return this;
  }

  TestCacheDef<V> weigher(Weigher<String, V> newWeigher) {
    weigher = newWeigher;
    return this;
  }

  TestCacheDef<V> loader(CacheLoader<String, V> newLoader) {
    loader = newLoader;
    return this;
  }

  TestCacheDef<V> keySerializer(CacheSerializer<String> serializer) {
    keySerializer = serializer;
    return this;
  }

  TestCacheDef<V> valueSerializer(CacheSerializer<V> serializer) {
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
  public TypeLiteral<V> valueType() {
    return TypeLiteral.get(valueType);
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
  public Weigher<String, V> weigher() {
    return weigher;
  }

  @Override
  @Nullable
  public CacheLoader<String, V> loader() {
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
  public CacheSerializer<V> valueSerializer() {
    return valueSerializer;
  }
}
