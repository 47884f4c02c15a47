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

package com.googlesource.gerrit.modules.cache.chroniclemap.repositories;

import static com.google.common.truth.Truth.assertThat;

import com.google.gerrit.server.config.SitePaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each setting of parsed ref lists that is read is documented, and each one documented is read. */
class PackedRefsSettingsDocTest {
  private static final Path PAGE = Path.of("resources/Documentation/config.md");
  private static final Pattern ROW =
      Pattern.compile(
          "^\\| \\[?`((?:cache\\.packed_refs|cache-chroniclemap)\\.\\w+)`", Pattern.MULTILINE);

  @TempDir Path temp;

  /** Notes what it is asked for. */
  private static final class NotingConfig extends Config {
    final Set<String> asked = new TreeSet<>();

    @Override
    public String getString(String section, String subsection, String name) {
      asked.add(section + (subsection == null ? "" : "." + subsection) + "." + name);
      return super.getString(section, subsection, name);
    }
  }

  @Test
  void settingsAndPageAgree() throws Exception {
    NotingConfig config = new NotingConfig();
    PackedRefsConfig settings = new PackedRefsConfig(config, new SitePaths(temp));
    assertThat(settings.isEnabled()).isTrue();
    assertThat(settings.isPerRequest()).isTrue();
    assertThat(settings.settings().folder()).isEmpty();
    assertThat(settings.settings().diskLimit()).isEqualTo(1 << 30);
    assertThat(settings.updates()).isEqualTo(UpdateSettings.DEFAULT);
    assertThat(PackedRefsConfig.isEnabled(config)).isTrue();
    // Gerrit's own settings.
    assertThat(config.asked.remove("core.usePerRequestRefCache")).isTrue();
    assertThat(config.asked.remove("cache.directory")).isTrue();

    String page = Files.readString(PAGE);
    assertThat(page)
        .contains("(#cache-chroniclemapmaxlooserefs) | " + settings.updates().maxLoose() + " |");
    assertThat(page).contains("`cache.packed_refs.diskLimit` | 1g |");

    Set<String> documented = new TreeSet<>();
    Matcher matcher = ROW.matcher(page);
    while (matcher.find()) {
      documented.add(matcher.group(1));
    }
    // Those of pushes and fetches, which the package transport reads.
    assertThat(documented.remove("cache-chroniclemap.advertiseRefs")).isTrue();
    assertThat(documented.remove("cache-chroniclemap.groupBranches")).isTrue();
    // That of the caches, and that of the whole module, which BuiltFor reads.
    assertThat(documented.remove("cache-chroniclemap.importFromH2")).isTrue();
    assertThat(documented.remove("cache-chroniclemap.checkGerritVersion")).isTrue();
    // See SettingsDocTest.
    documented.removeIf(name -> name.startsWith("cache-chroniclemap.shared"));
    // The names of version 1.0, of which config.md has no row.
    config.asked.removeIf(name -> name.startsWith("packedRefs."));
    assertThat(documented).isEqualTo(config.asked);
  }
}
