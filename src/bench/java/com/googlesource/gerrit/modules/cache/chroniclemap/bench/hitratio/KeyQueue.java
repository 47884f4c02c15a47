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

/** A queue of keys that can give up any of them; for a list of which a key may be in only one. */
final class KeyQueue {
  private final int[] newer;
  private final int[] older;
  private final boolean[] member;
  private final int[] sizes;
  private final int end;
  private long bytes;
  private int count;

  /**
   * Makes an empty queue.
   *
   * @param sizes bytes of each key's entry
   */
  KeyQueue(int[] sizes) {
    this.sizes = sizes;
    this.end = sizes.length;
    this.newer = new int[end + 1];
    this.older = new int[end + 1];
    this.member = new boolean[end];
    newer[end] = end;
    older[end] = end;
  }

  boolean contains(int key) {
    return member[key];
  }

  boolean isEmpty() {
    return count == 0;
  }

  long bytes() {
    return bytes;
  }

  int count() {
    return count;
  }

  void add(int key) {
    int newest = older[end];
    older[end] = key;
    newer[key] = end;
    older[key] = newest;
    newer[newest] = key;
    member[key] = true;
    bytes += sizes[key];
    count++;
  }

  void remove(int key) {
    newer[older[key]] = newer[key];
    older[newer[key]] = older[key];
    member[key] = false;
    bytes -= sizes[key];
    count--;
  }

  /** Takes out the key that is longest in it. It must not be empty. */
  int removeOldest() {
    int key = newer[end];
    remove(key);
    return key;
  }
}
