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

import static com.google.common.truth.Truth.assertThat;

import com.google.common.cache.LoadingCache;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The caches in the store with {@code memoryLimit = 0}: every read goes to disk. */
class HeapOffTest extends CacheContract {
  @Override
  TestSite open(Path folder) {
    TestSite opened = new TestSite(folder, TestSite.Backend.CHRONICLE);
    opened.config().setInt("cache", "cache", "memoryLimit", 0);
    return opened;
  }

  @Override
  boolean heapKeepsValues() {
    return false;
  }

  @Override
  @Test
  void heapAndDiskFiguresAreTrue() throws Exception {
    LoadingCache<String, String> cache = loading();
    var unused = cache.get("a");
    unused = cache.get("a");
    unused = cache.get("a");
    assertThat(((ChronicleMapCache<?, ?>) cache).diskStats().hitCount()).isEqualTo(2);
    assertThat(((ChronicleMapCache<?, ?>) cache).diskStats().requestCount()).isEqualTo(3);
    assertThat(cache.size()).isEqualTo(0);
    assertThat(cache.stats().loadSuccessCount()).isEqualTo(1);
  }
}
