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
 * S3-FIFO, as its paper describes it (Yang and others, SOSP 2023): a small queue for what is new, a
 * main queue, and a queue of the keys that left the small one.
 */
final class S3Fifo implements Policy {
  private static final int MOST_COUNTED = 3;

  private final KeyQueue small;
  private final KeyQueue main;
  private final KeyQueue ghosts;
  private final byte[] reads;
  private final int[] sizes;
  private final long capacity;

  S3Fifo(long capacity, int[] sizes) {
    this.small = new KeyQueue(sizes);
    this.main = new KeyQueue(sizes);
    this.ghosts = new KeyQueue(sizes);
    this.reads = new byte[sizes.length];
    this.sizes = sizes;
    this.capacity = capacity;
  }

  @Override
  public boolean request(int key) {
    if (small.contains(key) || main.contains(key)) {
      reads[key] = (byte) Math.min(MOST_COUNTED, reads[key] + 1);
      return true;
    }
    while (small.bytes() + main.bytes() + sizes[key] > capacity) {
      if (small.bytes() >= capacity / 10) {
        evictSmall();
      } else {
        evictMain();
      }
    }
    reads[key] = 0;
    if (ghosts.contains(key)) {
      ghosts.remove(key);
      main.add(key);
    } else {
      small.add(key);
    }
    return false;
  }

  private void evictSmall() {
    while (!small.isEmpty()) {
      int key = small.removeOldest();
      if (reads[key] > 1) {
        main.add(key);
        reads[key] = 0;
      } else {
        ghosts.add(key);
        while (ghosts.bytes() > capacity * 9 / 10) {
          ghosts.removeOldest();
        }
        return;
      }
    }
    evictMain();
  }

  private void evictMain() {
    while (!main.isEmpty()) {
      int key = main.removeOldest();
      if (reads[key] == 0) {
        return;
      }
      reads[key]--;
      main.add(key);
    }
  }
}
