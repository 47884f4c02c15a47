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

package com.googlesource.gerrit.modules.cache.chroniclemap.bench.hitratio;

/**
 * Requests in their order.
 *
 * @param name what the requests are like
 * @param requests keys, from 0 on
 * @param keyCount more than the largest key
 * @param cacheEntries entries that fit into the cache on which it is played, if all have one size
 */
record Trace(String name, int[] requests, int keyCount, int cacheEntries) {
  /** The requests that fill the cache, before hits are counted. */
  int warmup() {
    return requests.length / 4;
  }
}
