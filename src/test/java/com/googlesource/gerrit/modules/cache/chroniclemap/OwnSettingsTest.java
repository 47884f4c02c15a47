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
package com.googlesource.gerrit.modules.cache.chroniclemap;

import static com.google.common.truth.Truth.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.gerrit.server.config.SitePaths;
import com.google.inject.ProvisionException;
import com.googlesource.gerrit.modules.cache.chroniclemap.repositories.RepositoriesModule;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an administrator reads about a setting that is wrong, before Gerrit has opened its log. */
@Tag("locale")
class OwnSettingsTest {
  private static final Path PAGE = Path.of("resources/Documentation/config.md");
  private static final Pattern ROW =
      Pattern.compile(
          "^\\| \\[?`((?:cache-chroniclemap|cache\\.packed_refs)\\.\\w+)`", Pattern.MULTILINE);

  @TempDir Path temp;
  private final Config file = new Config();

  /** As Gerrit has it: what it reads from the file is the base of what modules get. */
  private final Config config = new Config(file);

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final PrintStream before = System.err;
  private SitePaths site;

  @BeforeEach
  void makeSite() throws Exception {
    site = new SitePaths(temp);
    Files.createDirectories(site.logs_dir);
    System.setErr(new PrintStream(printed, true, UTF_8));
  }

  @AfterEach
  void giveBack() {
    System.setErr(before);
  }

  private String errorLog() throws Exception {
    return Files.readString(site.logs_dir.resolve("error_log"));
  }

  private static String refusal(String name, String value, String allowed) {
    return name + " is \"" + value + "\" in etc/gerrit.config: set it to " + allowed;
  }

  private void set(String name, String value) {
    int dot = name.lastIndexOf('.');
    String[] section = name.substring(0, dot).split("\\.", 2);
    file.setString(
        section[0], section.length > 1 ? section[1] : null, name.substring(dot + 1), value);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          packedRefs.enabled           | nein  | true or false
          packedRefs.updates           | jgitt | own or jgit
          cache-chroniclemap.packedRefs    | nein  | true or false
          cache-chroniclemap.groupBranches | 2     | true or false
          cache-chroniclemap.refUpdates    | jgitt | own or jgit
          cache-chroniclemap.maxLooseRefs  | many  | a number, such as 1000
          cache-chroniclemap.maxLooseRefs  | 9g    | a number, such as 1000
          cache-chroniclemap.importFromH2  | later | true or false
          cache.packed_refs.memoryLimit| 256mb | a number, such as 1000 or 256m
          cache.packed_refs.diskLimit  | all   | a number, such as 1000 or 256m
          cache-chroniclemap.checkGerritVersion | nope | true or false
          """)
  void aWrongValueIsRefusedWithWhatIsAllowed(String name, String value, String allowed)
      throws Exception {
    set(name, value);
    assertThrows(ProvisionException.class, () -> new PackedRefsModule(site, config));
    String message = refusal(name, value, allowed) + ", or remove it";
    assertThat(errorLog()).contains("ERROR");
    assertThat(errorLog()).contains(message);
    assertThat(printed.toString(UTF_8)).contains(message);
  }

  /** Before any store is opened, which would be left open. */
  @ParameterizedTest
  @CsvSource({
    "cache.diff_summary.maxAge, 5 dayz, a time",
    "cache.diff_summary.refreshAfterWrite, soon, a time",
    "cache.diff_summary.expireFromMemoryAfterAccess, 1 x, a time",
    "cache.diff_summary.diskLimit, 1gb, a number",
    "cache.diff_summary.memoryLimit, 1e3, a number",
    "cache-chroniclemap.checkGerritVersion, nope, true or false"
  })
  void aWrongValueIsRefusedByTheModuleOfTheCaches(String name, String value, String allowed)
      throws Exception {
    set(name, value);
    assertThrows(ProvisionException.class, () -> new ChronicleMapCacheModule(site, config));
    assertThat(errorLog()).contains(refusal(name, value, allowed));
  }

  @Test
  void aMisspeltSettingOfACacheIsNamed() throws Exception {
    set("cache.git_file_diff.diskLimt", "1g");
    set("cache.git_file_diff.timeout", "5 s");
    set("cache.git_file_diff.DISKLIMIT", "1g");
    set("cache.projects.loadOnStartup", "true");
    set("cache.packed_refs.memoryLimit", "1g");
    set("cache.directory", "cache");
    var unused = new ChronicleMapCacheModule(site, config);
    assertThat(errorLog().lines().toList()).hasSize(1);
    assertThat(errorLog())
        .containsMatch("WARN .*cache.git_file_diff.diskLimt in .* no effect.* diskLimit, memory");
  }

  /** It may have settings of its own, and a wrong one is that plugin's alone. */
  @Test
  void theCachesOfAPluginAreItsOwn() throws Exception {
    set("cache.its.rules.diskLimit", "1gb");
    set("cache.its.rules.depth", "3");
    var unused = new ChronicleMapCacheModule(site, config);
    assertThat(Files.exists(site.logs_dir.resolve("error_log"))).isFalse();
  }

  @Test
  void aLineWithoutAPrefixIsRefused() throws Exception {
    config.fromText("[cache-chroniclemap]\n\tadvertiseRefs = refs/heads/\n\tadvertiseRefs =\n");
    assertThrows(ProvisionException.class, () -> new PackedRefsModule(site, config));
    assertThat(errorLog()).contains("set it to a prefix of refs, such as refs/heads/");
  }

  @Test
  void whatIsNoSettingIsNamedWithThoseThereAre() throws Exception {
    set("packedRefs.maxlose", "5");
    set("cache-chroniclemap.MAXLOOSEREFS", "7");
    set("cache.packed_refs.memory", "1g");
    set("cache-chroniclemap.checkVersion", "false");
    set("cache-chroniclemap.advertiseRefs", "refs/heads/");
    var unused = new PackedRefsModule(site, config);
    String log = errorLog();
    assertThat(log.lines().toList()).hasSize(3);
    assertThat(log).containsMatch("WARN .*packedRefs.maxlose in .* maxLoose, advertise\n");
    assertThat(log).containsMatch("cache.packed_refs.memory in .* memoryLimit, diskLimit\n");
    assertThat(log).containsMatch("cache-chroniclemap.checkVersion in .* checkGerritVersion, ");
  }

  @Test
  void anEarlierNameIsReadAndNamesTheNewOne() throws Exception {
    set("packedRefs.enabled", "false");
    set("packedRefs.MaxLoose", "7");
    var unused = new PackedRefsModule(site, config);
    assertThat(RepositoriesModule.isEnabled(config)).isFalse();
    assertThat(errorLog().lines().toList()).hasSize(2);
    assertThat(errorLog())
        .containsMatch("WARN .*packedRefs.enabled in .* is cache-chroniclemap.packedRefs now");
    assertThat(errorLog()).contains("is cache-chroniclemap.maxLooseRefs now: rename it");
    set("cache-chroniclemap.packedRefs", "true");
    assertThat(RepositoriesModule.isEnabled(config)).isTrue();
  }

  /** If their module is not installed. Values under names that only that one reads stop nothing. */
  @Test
  void theModuleOfTheCachesNamesWrongSettingsOfLists() throws Exception {
    set("packedRefs.maxLoose", "many");
    set("cache.packed_refs.memory", "1g");
    var unused = new ChronicleMapCacheModule(site, config);
    assertThat(errorLog()).contains("is cache-chroniclemap.maxLooseRefs now: rename it");
    assertThat(errorLog()).contains("cache.packed_refs.memory in etc/gerrit.config has no effect");
  }

  @Test
  void theTwoModulesWarnOnce() throws Exception {
    set("gerrit.installDbModule", PackedRefsModule.class.getName());
    set("packedRefs.maxLoose", "7");
    set("cache.packed_refs.memory", "1g");
    set("cache-chroniclemap.checkVersion", "false");
    Object unused = new PackedRefsModule(site, config);
    unused = new ChronicleMapCacheModule(site, config);
    assertThat(errorLog().lines().toList()).hasSize(3);
  }

  @Test
  void allThatAreDocumentedAreChecked() throws Exception {
    Set<String> documented = new TreeSet<>();
    ROW.matcher(Files.readString(PAGE)).results().forEach(row -> documented.add(row.group(1)));
    Set<String> checked = new TreeSet<>();
    OwnSettings.OF_REFS.forEach(
        (section, settings) ->
            settings.stream()
                .filter(setting -> setting.now().isEmpty())
                .forEach(setting -> checked.add(section + "." + setting.name())));
    assertThat(checked).isEqualTo(documented);
  }

  /** As in a container, where the user's id has no name. */
  @Test
  void aUserWithoutANameWritesTheLog() throws Exception {
    String name = System.setProperty("user.name", "?");
    try {
      set("packedRefs.enabled", "nein");
      assertThrows(ProvisionException.class, () -> new PackedRefsModule(site, config));
    } finally {
      System.setProperty("user.name", name);
    }
    assertThat(errorLog()).contains("packedRefs.enabled");
  }

  @Test
  void withoutAFolderForLogsTheMessageIsPrinted() throws Exception {
    Files.delete(site.logs_dir);
    set("packedRefs.enabled", "nein");
    assertThrows(ProvisionException.class, () -> new PackedRefsModule(site, config));
    assertThat(printed.toString(UTF_8)).contains("packedRefs.enabled is \"nein\"");
  }
}
