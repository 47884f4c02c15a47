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

package com.googlesource.gerrit.modules.cache.chroniclemap.shared;

import static com.google.common.truth.Truth.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;

/** Each setting of shared values that is read is documented, and each one documented is read. */
class SharedSettingsDocTest {
  private static final Path PAGE = Path.of("resources/Documentation/config.md");
  private static final Pattern ROW =
      Pattern.compile("^\\| \\[?`(cache-chroniclemap\\.shared\\w+)`", Pattern.MULTILINE);

  /** Notes what it is asked for. */
  private static final class NotingConfig extends Config {
    final Set<String> asked = new TreeSet<>();

    @Override
    public String getString(String section, String subsection, String name) {
      asked.add(section + "." + name);
      return super.getString(section, subsection, name);
    }
  }

  @Test
  void settingsAndPageAgree() throws Exception {
    NotingConfig config = new NotingConfig();
    config.setString("cache-chroniclemap", null, "sharedUrl", "redis://example.com");
    config.setString("cache-chroniclemap", null, "sharedSecret", "0123456789abcdef");
    SharedSettings settings = SharedSettings.of(config);
    assertThat(settings.server()).isEqualTo("example.com:6379");

    String page = Files.readString(PAGE);
    assertThat(page).contains("sharedSite` | `" + settings.site() + "` |");
    assertThat(page).contains("sharedBytes` | 1g |");
    assertThat(settings.bytes()).isEqualTo(1 << 30);
    assertThat(settings.publishes()).isTrue();

    Set<String> documented = new TreeSet<>();
    ROW.matcher(page).results().map((MatchResult row) -> row.group(1)).forEach(documented::add);
    assertThat(documented).isEqualTo(config.asked);
  }
}
