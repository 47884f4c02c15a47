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

package com.googlesource.gerrit.modules.cache.chroniclemap.store.values;

/** Which values may be evicted to make room for another one. */
public enum Evict {
  /** None; the file may take more disk. */
  NONE,
  /** Those that were used least. */
  LEAST_USED,
  /**
   * The same, and more of them than needed if they have to be read from disk to be chosen, as many
   * values are queued. A segment is then read less often, but holds less.
   */
  LEAST_USED_IN_HASTE,
  /**
   * Those that nobody has asked for lately. Nothing can be evicted until usage has been counted for
   * a while, which begins when the file begins to fill.
   */
  NEVER_USED
}
