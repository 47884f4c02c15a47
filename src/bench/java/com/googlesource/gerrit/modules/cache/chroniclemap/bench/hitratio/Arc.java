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

/** ARC, as its paper describes it (Megiddo and Modha, FAST 2003), with bytes in place of pages. */
final class Arc implements Policy {
  private final KeyQueue once;
  private final KeyQueue often;
  private final KeyQueue onceGhosts;
  private final KeyQueue oftenGhosts;
  private final int[] sizes;
  private final long capacity;

  /** Bytes that {@link #once} shall have. */
  private double target;

  Arc(long capacity, int[] sizes) {
    this.once = new KeyQueue(sizes);
    this.often = new KeyQueue(sizes);
    this.onceGhosts = new KeyQueue(sizes);
    this.oftenGhosts = new KeyQueue(sizes);
    this.sizes = sizes;
    this.capacity = capacity;
  }

  @Override
  public boolean request(int key) {
    if (once.contains(key)) {
      once.remove(key);
      often.add(key);
      return true;
    }
    if (often.contains(key)) {
      often.remove(key);
      often.add(key);
      return true;
    }
    if (onceGhosts.contains(key)) {
      double step = Math.max(1.0, (double) oftenGhosts.bytes() / onceGhosts.bytes());
      target = Math.min((double) capacity, target + step * sizes[key]);
      onceGhosts.remove(key);
      makeRoom(sizes[key], false);
      often.add(key);
    } else if (oftenGhosts.contains(key)) {
      double step = Math.max(1.0, (double) onceGhosts.bytes() / oftenGhosts.bytes());
      target = Math.max(0.0, target - step * sizes[key]);
      oftenGhosts.remove(key);
      makeRoom(sizes[key], true);
      often.add(key);
    } else {
      while (!onceGhosts.isEmpty() && once.bytes() + onceGhosts.bytes() + sizes[key] > capacity) {
        onceGhosts.removeOldest();
      }
      while (!oftenGhosts.isEmpty()
          && once.bytes() + often.bytes() + onceGhosts.bytes() + oftenGhosts.bytes() + sizes[key]
              > 2 * capacity) {
        oftenGhosts.removeOldest();
      }
      makeRoom(sizes[key], false);
      once.add(key);
    }
    return false;
  }

  private void makeRoom(int bytes, boolean oftenGhostHit) {
    while (once.bytes() + often.bytes() + bytes > capacity) {
      boolean fromOnce =
          !once.isEmpty()
              && (once.bytes() > target
                  || (oftenGhostHit && once.bytes() >= target)
                  || often.isEmpty());
      if (fromOnce) {
        onceGhosts.add(once.removeOldest());
      } else {
        oftenGhosts.add(often.removeOldest());
      }
    }
  }
}
