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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.cache.CacheLoader;
import com.google.inject.ProvisionException;
import com.googlesource.gerrit.modules.cache.chroniclemap.store.StoreDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each setting that is read is documented, and each one documented is read. */
class SettingsDocTest {
  private static final Path PAGE = Path.of("resources/Documentation/config.md");

  /** In the first column: one that is named in a meaning is documented by a row of its own. */
  private static final Pattern SETTING =
      Pattern.compile(
          "(?:^\\| \\[?|\\G, )`(cache\\.[\\w.]+|cache-chroniclemap\\.(?:shared\\w+|importFromH2))`",
          Pattern.MULTILINE);

  /** Notes what it is asked for. */
  private static final class NotingConfig extends Config {
    final Set<String> asked = new TreeSet<>();

    @Override
    public String getString(String section, String subsection, String name) {
      asked.add(section + (subsection == null ? "." : ".NAME.") + name);
      return super.getString(section, subsection, name);
    }
  }

  @TempDir Path temp;

  @Test
  void settingsAndPageAgree() throws Exception {
    NotingConfig config = new NotingConfig();
    // Where nobody listens.
    config.setString("cache-chroniclemap", null, "sharedUrl", "redis://127.0.0.1:1");
    config.setString("cache-chroniclemap", null, "sharedSecret", "0123456789abcdef");
    CacheLoader<String, String> loader = CacheLoader.from(key -> key);
    try (TestSite site = new TestSite(temp, TestSite.Backend.CHRONICLE, config)) {
      site.build(TestCacheDef.of("a").expireAfterWrite(Duration.ofHours(1)).loader(loader));
      site.build(TestCacheDef.of("b"));
    }
    Set<String> read = new TreeSet<>();
    config.asked.stream().filter(name -> name.startsWith("cache")).forEach(read::add);
    // Its name in version 1.0.
    read.remove("cache.importFromH2");

    Set<String> documented = new TreeSet<>();
    SETTING.matcher(Files.readString(PAGE)).results().forEach(row -> documented.add(row.group(1)));
    // Those are another module's; see PackedRefsConfigTest.
    documented.removeIf(name -> name.startsWith("cache.packed_refs."));
    assertThat(documented).isEqualTo(read);
  }

  /** Those of others are checked at the start; Gerrit logs what keeps a plugin from it. */
  @Test
  void aWrongValueOfAPluginsCacheIsRefused() {
    Config config = new Config();
    config.setString("cache", "plugin.a", "maxAge", "5 dayz");
    try (TestSite site = new TestSite(temp, TestSite.Backend.CHRONICLE, config)) {
      TestCacheDef<String> def = TestCacheDef.of("plugin.a");
      assertThat(assertThrows(ProvisionException.class, () -> site.build(def)))
          .hasMessageThat()
          .contains("cache.plugin.a.maxAge is \"5 dayz\" in etc/gerrit.config: set it to a time");
    }
  }

  @Test
  void aRefusedStartClosesTheStores() throws Exception {
    Config config = new Config();
    config.setString("cache-chroniclemap", null, "sharedUrl", "nonsense");
    assertThrows(
        IllegalStateException.class,
        () -> {
          try (TestSite site = new TestSite(temp, TestSite.Backend.CHRONICLE, config)) {
            assertThat(site.folder()).isNull();
          }
        });
    StoreDirectory.open(temp.resolve("cache/cache-chroniclemap")).close();
  }
}
