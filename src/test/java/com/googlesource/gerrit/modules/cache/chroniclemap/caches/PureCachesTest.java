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
import com.googlesource.gerrit.modules.cache.chroniclemap.store.TestStores;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What is left of caches when the machine stops, by whether their keys name their content. */
class PureCachesTest extends SiteTest {
  private Cache<String, String> build(String name) {
    return site.build(TestCacheDef.of(name));
  }

  private void restartAfterCrash() throws Exception {
    Path folder = site.inventory().directory().orElseThrow();
    site.stop();
    TestStores.leaveToCrash(folder);
    site.start();
  }

  @Test
  void aPutIsNoChangeWhereTheKeyNamesTheContent() throws Exception {
    for (String name : new String[] {"modified_files", "conflicts"}) {
      Cache<String, String> cache = build(name);
      // As Gerrit's loader does, beside the cache's own.
      cache.put("key", "value");
      cache.put("key", "the value, serialized otherwise");
    }
    restartAfterCrash();
    assertThat(build("modified_files").getIfPresent("key")).isNotNull();
    assertThat(build("conflicts").getIfPresent("key")).isNull();
  }

  @Test
  void anInvalidationIsAChangeEverywhere() throws Exception {
    Cache<String, String> cache = build("modified_files");
    cache.put("key", "value");
    cache.put("other", "value");
    cache.invalidate("key");
    restartAfterCrash();
    assertThat(build("modified_files").getIfPresent("other")).isNull();
  }

  @Test
  void theDocumentedOnesAreShared() throws Exception {
    String line =
        Files.readAllLines(Path.of("resources/Documentation/several.md")).stream()
            .filter(each -> each.startsWith("**What is shared.**"))
            .findFirst()
            .orElseThrow();
    assertThat(
            Pattern.compile("`(\\w+)`").matcher(line).results().map(name -> name.group(1)).toList())
        .containsExactlyElementsIn(PureCaches.SHARED);
  }
}
