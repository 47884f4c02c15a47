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

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;

/** The real Caffeine, on the heap. */
final class WTinyLfu implements Policy {
  private final Cache<Integer, Boolean> cache;

  WTinyLfu(long capacity, int[] sizes) {
    boolean equal = sizes[0] == sizes[1] && sizes[1] == sizes[2];
    Caffeine<Object, Object> builder = Caffeine.newBuilder().executor(Runnable::run);
    cache =
        equal
            ? builder.maximumSize(capacity / sizes[0]).build()
            : builder
                .maximumWeight(capacity)
                .weigher((Integer key, Boolean value) -> sizes[key])
                .build();
  }

  @Override
  public boolean request(int key) {
    if (cache.getIfPresent(key) != null) {
      return true;
    }
    cache.put(key, true);
    return false;
  }
}
