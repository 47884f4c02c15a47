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

package com.googlesource.gerrit.modules.cache.chroniclemap.store;

/**
 * A queued write.
 *
 * @param value null if the key is to be removed
 * @param created milliseconds since the epoch at which the value was made
 * @param conditional whether the write is superseded by a removal of all values
 * @param removals how many of those there were before the value was computed
 */
record PendingWrite(byte[] value, long created, boolean conditional, long removals) {
  static PendingWrite put(byte[] value, long created) {
    return new PendingWrite(value, created, false, 0);
  }

  static PendingWrite remove() {
    return new PendingWrite(null, 0, false, 0);
  }

  /** Whether all values were removed after this one was computed, given the number of removals. */
  boolean isSuperseded(long removalsNow) {
    return conditional && removals != removalsNow;
  }
}
