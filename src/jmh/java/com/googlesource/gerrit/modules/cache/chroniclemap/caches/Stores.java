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

import com.google.common.cache.Cache;

/** Lets a benchmark wait for what the caches do in the background. */
public final class Stores {
  private Stores() {}

  /** Returns when all that was put to a cache is in its file. */
  public static void flush(Cache<?, ?> cache) {
    ((ChronicleMapCache<?, ?>) cache).disk().store().flush();
  }
}
