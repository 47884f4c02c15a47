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

import com.google.common.cache.Cache;
import com.google.inject.ConfigurationException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Gerrit's {@code --read-only-disk-caches}: what is on disk is read, and stays as it is. */
class ReadOnlyTest {
  @TempDir Path temp;

  /** Gerrit's H2 caches can be read-only from 3.13 on. */
  private static List<TestSite.Backend> backends(@TempDir Path folder) {
    try (TestSite h2 = new TestSite(folder.resolve("h2"), TestSite.Backend.H2)) {
      var unused = h2.readOnly();
      return List.of(TestSite.Backend.values());
    } catch (ConfigurationException e) {
      return List.of(TestSite.Backend.CHRONICLE);
    }
  }

  @ParameterizedTest
  @MethodSource("backends")
  void theDiskStaysAsItIs(TestSite.Backend backend) throws Exception {
    try (TestSite site = new TestSite(temp, backend)) {
      Cache<String, String> cache = site.build(TestCacheDef.of("c"));
      cache.put("a", "1");
      cache.put("b", "1");
      cache.put("c", "1");
      site.restart();
      site.readOnly().set(true);
      cache = site.build(TestCacheDef.of("c"));
      assertThat(cache.getIfPresent("a")).isEqualTo("1");
      cache.put("a", "2");
      assertThat(cache.getIfPresent("a")).isEqualTo("2");
      assertThat(cache.get("d", () -> "2")).isEqualTo("2");
      cache.invalidate("b");
      site.restart();
      cache = site.build(TestCacheDef.of("c"));
      assertThat(cache.getIfPresent("a")).isEqualTo("1");
      assertThat(cache.getIfPresent("b")).isEqualTo("1");
      assertThat(cache.getIfPresent("d")).isNull();
      site.readOnly().set(true);
      cache.invalidateAll();
      site.restart();
      cache = site.build(TestCacheDef.of("c"));
      assertThat(cache.getIfPresent("c")).isEqualTo("1");
    }
  }
}
