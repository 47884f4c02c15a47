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

import com.google.common.cache.CacheStats;
import com.google.common.collect.ImmutableMap;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreStats;

/**
 * Figures of both tiers of a cache, all taken at about the same moment.
 *
 * @param name of the cache, prefixed with the name of its plugin if it has one
 * @param memoryLimit of the heap tier: entries, or what the cache weighs
 * @param defaultMemoryLimit the same without a setting
 * @param heapEntries values on the heap
 * @param heap hits, misses and loads of the heap tier since the server's start
 * @param disk figures of the store
 * @param serializerErrors keys and values that their serializer rejected
 * @param latencies recent latencies of the disk tier
 */
public record CacheReport(
    String name,
    long memoryLimit,
    long defaultMemoryLimit,
    long heapEntries,
    CacheStats heap,
    StoreStats disk,
    long serializerErrors,
    ImmutableMap<DiskOperation, Latency> latencies) {
  /**
   * Tells whether a user means this cache: a cache of a plugin is PLUGIN.CACHE in gerrit.config,
   * and PLUGIN-CACHE in Gerrit's commands.
   */
  public boolean isNamed(String given) {
    return given.equals(name) || given.equals(name.replace('.', '-'));
  }
}
