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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.Store;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** A site for each test, whose caches are this module's unless a subclass opens another. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
abstract class SiteTest {
  @TempDir Path temp;
  @AutoClose TestSite site;
  final CountingLoader loader = new CountingLoader();

  TestSite open(Path folder) {
    return new TestSite(folder, TestSite.Backend.CHRONICLE);
  }

  @BeforeEach
  void openSite() {
    site = open(temp);
  }

  TestCacheDef<String> def() {
    return TestCacheDef.of("cache").loader(loader);
  }

  static CacheReport report(Cache<?, ?> cache) {
    return ((ChronicleMapCache<?, ?>) cache).report();
  }

  static Store storeOf(Cache<?, ?> cache) {
    return ((ChronicleMapCache<?, ?>) cache).disk.store;
  }
}
