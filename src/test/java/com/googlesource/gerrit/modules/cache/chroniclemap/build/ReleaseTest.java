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

package com.googlesource.gerrit.modules.cache.chroniclemap.build;

import static com.google.common.truth.Truth.assertThat;
import static com.google.common.truth.Truth.assertWithMessage;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.collect.Iterables;
import com.google.common.hash.Hashing;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.inject.Module;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.eclipse.jgit.lib.Config;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code bin/release} in a repository of its own, with a Maven that builds nothing. */
class ReleaseTest {
  /** As cyclonedx-maven-plugin writes it; one of the bundled jars has the version of a release. */
  private static final String BOM =
      """
      {
        "serialNumber" : "urn:uuid:1f8cd28d-f5b8-3940-baca-3a39844dae4e",
        "metadata" : {
          "component" : {
            "bom-ref" : "pkg:maven/x/cache-chroniclemap@VERSION?type=jar",
            "group" : "x",
            "name" : "cache-chroniclemap",
            "version" : "VERSION",
            "purl" : "pkg:maven/x/cache-chroniclemap@VERSION?type=jar"
          }
        },
        "components" : [ { "name" : "jnr-a64asm", "version" : "1.0.0" } ],
        "dependencies" : [ { "ref" : "pkg:maven/x/cache-chroniclemap@VERSION?type=jar" } ]
      }
      """;

  private static final String MAVEN =
      """
      #!/bin/sh
      for a; do
        case $a in
          -Doutput.directory=*) out=${a#*=} ;;
          -Dgerrit.version=*) gerrit=${a#*=} ;;
        esac
      done
      mkdir -p "$out"
      echo "jar for $gerrit" >"$out/cache-chroniclemap.jar"
      echo sources >"$out/cache-chroniclemap-sources.jar"
      cp bom "$out/cache-chroniclemap.cdx.json"
      """;

  @TempDir Path tree;
  @TempDir Path programs;

  @BeforeEach
  void makeTree() throws Exception {
    for (String name : List.of("release", "lib/jdk.sh", "lib/gerrits.sh", "lib/progress.sh")) {
      Path copy = tree.resolve("bin").resolve(name);
      Files.createDirectories(copy.getParent());
      Files.copy(Path.of("bin").resolve(name), copy);
    }
    Files.writeString(tree.resolve(".gitignore"), "target*\n");
    Path maven = Files.writeString(programs.resolve("mvn"), MAVEN);
    assertThat(maven.toFile().setExecutable(true)).isTrue();
    git("init", "--quiet");
    git("config", "user.name", "u");
    git("config", "user.email", "u@example.com");
    say("1.0.0", "1.0.0 (2026-11-30)");
    git("add", "--all");
    git("commit", "--quiet", "--message", "c");
  }

  private void say(String version, String section) throws IOException {
    Files.writeString(tree.resolve("pom.xml"), "  <version>" + version + "</version>\n");
    Files.writeString(tree.resolve("CHANGELOG.md"), "# Changelog\n\n## " + section + "\n");
    Files.writeString(tree.resolve("bom"), BOM.replace("VERSION", version));
  }

  private String run(int status, String... command) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(tree.toFile()).redirectErrorStream(true);
    Map<String, String> environment = builder.environment();
    environment.merge("PATH", "", (path, none) -> programs + ":" + path);
    environment.put("JAVA_HOME", System.getProperty("java.home"));
    Process process = builder.start();
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertWithMessage(said).that(process.waitFor()).isEqualTo(status);
    return said;
  }

  private String git(String... arguments) throws Exception {
    String[] command = new String[arguments.length + 1];
    command[0] = "git";
    System.arraycopy(arguments, 0, command, 1, arguments.length);
    return run(0, command);
  }

  private void refuses(String why) throws Exception {
    assertThat(run(2, "bin/release", "--final")).contains(why);
    assertThat(tree.resolve("target/release").toFile().exists()).isFalse();
  }

  private void tested() throws Exception {
    Files.createDirectories(tree.resolve("target"));
    String commit = git("rev-parse", "HEAD").strip();
    Files.writeString(tree.resolve("target/tested.md"), "Commit " + commit + ", by bin/test\n");
  }

  @Test
  void tellsVersionAndCommitOfWhatItHasBuilt() throws Exception {
    refuses("bin/test has not passed on this commit");
    tested();
    String commit = git("rev-parse", "HEAD").strip();
    assertThat(run(0, "bin/release", "--final"))
        .contains("cache-chroniclemap 1.0.0, commit " + commit + ", in target/release\n");
    assertThat(tree.resolve("target/release/TESTED.md").toFile().exists()).isTrue();
    assertThat(git("tag")).isEmpty();
  }

  @Test
  void refusesWhatIsNoRelease() throws Exception {
    for (String section : List.of("Unreleased", "1.0.0", "1.0.1 (2026-11-30)")) {
      say("1.0.0", section);
      refuses("the first section of CHANGELOG.md is not \"## 1.0.0 (YEAR-MONTH-DAY)\"");
    }
    say("1.0.0-SNAPSHOT", "1.0.0-SNAPSHOT");
    refuses("a release has a version without -SNAPSHOT");
    say("1.0.0", "1.0.0 (2026-11-30)");
    tested();
    Path added = Files.writeString(tree.resolve("new"), "not committed");
    refuses("there are changes that are not committed");
    git("add", "--all");
    git("commit", "--quiet", "--message", "another one");
    refuses("bin/test has not passed on this commit");
    // Nor does it say of what is not committed that it was tested.
    tested();
    Files.writeString(added, "changed");
    assertThat(run(0, "bin/release", "3.13.5")).contains(" with changes, in target/release\n");
    assertThat(tree.resolve("target/release/TESTED.md").toFile().exists()).isFalse();
  }

  @Test
  void isBuiltFromSourcesWithoutARepository() throws Exception {
    run(0, "rm", "-r", ".git");
    assertThat(run(0, "bin/release", "3.13.5"))
        .contains("cache-chroniclemap 1.0.0, commit unknown, in ");
  }

  /** The command lines of README, those that add lines twice, in a repository without tags. */
  @Test
  void theCommandsOfTheReadmeInstallTheModules(@TempDir Path site) throws Exception {
    Files.createDirectories(site.resolve("lib"));
    Files.createDirectories(site.resolve("etc"));
    List<String> blocks =
        Pattern.compile("(?:```\n|`(?=sed))((?:[^`]*\n)?(?:bin/release|sed|git config -f)[^`]*)`")
            .matcher(Files.readString(Path.of("README.md")))
            .results()
            .map(block -> block.group(1))
            .toList();
    assertThat(blocks).hasSize(4);
    assertThat(git("tag")).isEmpty();
    String shell = "set -eu; GERRIT_SITE=" + site + "\n";
    run(0, "bash", "-c", shell + blocks.get(0) + blocks.get(0));
    assertThat(Files.readString(site.resolve("lib/cache-chroniclemap.jar")))
        .isEqualTo("jar for 3.13.5\n");
    Path config = site.resolve("etc/gerrit.config");
    String caches = Files.readString(config);
    run(0, "bash", "-c", shell + blocks.get(2) + blocks.get(2));
    Config read = new Config();
    read.fromText(Files.readString(config));
    assertThat(read.getStringList("container", null, "javaOptions")).hasLength(2);
    for (String key : List.of("installModule", "installBatchModule", "installDbModule")) {
      String module = Iterables.getOnlyElement(List.of(read.getStringList("gerrit", null, key)));
      assertThat(Class.forName(module)).isAssignableTo(Module.class);
    }
    run(0, "bash", "-c", shell + blocks.get(3));
    assertThat(Files.readString(config)).isEqualTo(caches);
    run(0, "bash", "-c", shell + blocks.get(1)); // back to H2
    assertThat(Files.readString(config)).doesNotContain("Module");
  }

  @Test
  void listsOfWhatIsBundledNameTheirJars() throws Exception {
    run(0, "bin/release");
    Set<String> serials = new TreeSet<>();
    for (String gerrit : List.of("3.12.2", "3.13.5", "3.14.2")) {
      Path jar = tree.resolve("target/release/cache-chroniclemap-1.0.0-gerrit-" + gerrit + ".jar");
      String text = Files.readString(Path.of(jar.toString().replaceFirst("\\.jar$", ".cdx.json")));
      JsonObject bom = JsonParser.parseString(text).getAsJsonObject();
      JsonObject named = bom.getAsJsonObject("metadata").getAsJsonObject("component");
      String version = "1.0.0-gerrit-" + gerrit;
      String ref = "pkg:maven/x/cache-chroniclemap@" + version + "?type=jar";
      assertThat(named.get("version").getAsString()).isEqualTo(version);
      assertThat(named.get("bom-ref").getAsString()).isEqualTo(ref);
      assertThat(bom.get("dependencies").toString()).contains(ref);
      assertThat(bom.get("components").toString()).contains("\"1.0.0\"");
      JsonObject hash = named.getAsJsonArray("hashes").get(0).getAsJsonObject();
      assertThat(hash.get("content").getAsString())
          .isEqualTo(Hashing.sha256().hashBytes(Files.readAllBytes(jar)).toString());
      String serial = bom.get("serialNumber").getAsString();
      assertThat(serial).matches("urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
      serials.add(serial);
    }
    assertThat(serials).hasSize(3);
  }

  /** A version is said in pom.xml; the changelog names it once it is one of a release. */
  @Test
  void changelogBeginsWithThisVersion() throws Exception {
    String version = BundledJar.versionOfModule();
    String title =
        version.endsWith("-SNAPSHOT") ? "Unreleased" : version + " \\(20\\d\\d-\\d\\d-\\d\\d\\)";
    assertThat(Files.readString(Path.of("CHANGELOG.md")))
        .containsMatch("^# Changelog\n\n## " + title + "\n");
  }

  /** Tags do not travel with each copy of the repository: a plain clone must be all it takes. */
  @Test
  void theReadmeNeedsNoTag() throws Exception {
    assertThat(Files.readString(Path.of("README.md"))).doesNotContainMatch("git checkout|\\bv\\d");
  }
}
