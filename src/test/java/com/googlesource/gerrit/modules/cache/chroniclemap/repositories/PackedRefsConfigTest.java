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
import static com.google.common.truth.Truth.assertWithMessage;

import com.google.gerrit.server.config.SitePaths;
import com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing.UpdateSettings;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The settings of parsed ref lists: their defaults, and the page that lists them. */
class PackedRefsConfigTest {
  private static final long MB = 1 << 20;
  private static final long LEAST_MEMORY = 256 * MB;
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

  /** Each setting that is read is documented, and each one documented is read. */
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
    ROW.matcher(page).results().forEach(row -> documented.add(row.group(1)));
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

  // ---- the memory of a server that sets no limit

  @ParameterizedTest
  @CsvSource({
    // All in megabytes: machine, heap, direct memory, limit
    "65536, 24576, 24576, 5120",
    "65536, 49152, 49152, 2048",
    "65536,  4096,  4096, 1024",
    "16384,  8192,  8192, 1024",
    "65536, 24576,  2048,  512",
    // Small machines and containers, or nearly all of it for the heap
    "65536, 24576,   512,  256",
    "65536, 65000, 65000,  256",
    " 4096,  3072,  3072,  256",
    " 1024,   256,   256,  256",
    " 1024,  4096,  4096,  256",
  })
  void theDefaultMemoryLimitFollowsTheMachine(long machine, long heap, long direct, long limit) {
    assertThat(PackedRefsConfig.defaultMemoryLimit(machine * MB, heap * MB, direct * MB))
        .isEqualTo(limit * MB);
  }

  @Test
  void fiveRepositoriesOfTenMillionRefsFit() {
    long lists = 5 * 31 * 10_000_000L;
    for (long heap = 24; heap <= 48; heap++) {
      assertThat(PackedRefsConfig.defaultMemoryLimit(64L << 30, heap << 30, heap << 30))
          .isAtLeast(lists);
    }
  }

  @Test
  void allOfItIsLessThanWhatIsThere() {
    for (long machine = 1 << 10; machine <= 1 << 20; machine *= 2) {
      for (long heap = 256; heap < machine; heap += heap / 3) {
        long limit = PackedRefsConfig.defaultMemoryLimit(machine * MB, heap * MB, heap * MB);
        if (limit > LEAST_MEMORY) {
          // Lists, indexes, a list of this size beside them, and one that is still to be written.
          long most = limit + limit / 2 + limit + limit;
          String which = machine + " MB, heap " + heap + " MB";
          assertWithMessage(which).that(most).isLessThan((machine - heap) * MB / 2);
          assertWithMessage(which).that(most).isLessThan(heap * MB);
        }
      }
    }
  }

  @Test
  void thisProcessHasADefaultMemoryLimit() throws Exception {
    long limit = new PackedRefsConfig(new Config(), new SitePaths(temp)).settings().memoryLimit();
    assertThat(limit).isAtLeast(LEAST_MEMORY);
    boolean setsDirectMemory =
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
            .anyMatch(flag -> flag.startsWith("-XX:MaxDirectMemorySize"));
    if (!setsDirectMemory) {
      assertThat(limit).isAtMost(Math.max(LEAST_MEMORY, Runtime.getRuntime().maxMemory() / 4));
    }
  }
}
