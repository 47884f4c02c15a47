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

/** True LRU over the whole cache. */
final class Lru implements Policy {
  private final KeyQueue queue;
  private final int[] sizes;
  private final long capacity;

  Lru(long capacity, int[] sizes) {
    this.queue = new KeyQueue(sizes);
    this.sizes = sizes;
    this.capacity = capacity;
  }

  @Override
  public boolean request(int key) {
    boolean hit = queue.contains(key);
    if (hit) {
      queue.remove(key);
    }
    while (queue.bytes() + sizes[key] > capacity) {
      queue.removeOldest();
    }
    queue.add(key);
    return hit;
  }
}
