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

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Maven and Bazel build the same jar: their files name the same jars. */
class BuildFilesTest {
  private static final Path BAZEL_JARS = Path.of("external_plugin_deps.bzl");
  private static final Path BAZEL_BUILD = Path.of("BUILD");

  private static final Pattern MAVEN_JAR =
      Pattern.compile(
          "maven_jar\\(\\s*name = \"(?<name>[^\"]+)\",\\s*artifact = \"(?<artifact>[^\"]+)\","
              + "(\\s*attach_source = False,)?\\s*sha1 = \"(?<sha1>[0-9a-f]{40})\",\\s*\\)");

  /** The jars that are in Bazel's list for tests only. Maven has other ways to run them. */
  private static final ImmutableSet<String> FOR_TESTS =
      ImmutableSet.of("archunit", "junit-platform-console-standalone");

  /** One entry of Bazel's list. */
  private record BazelJar(String artifact, String sha1) {}

  @Test
  void sameJarsAndVersions() throws Exception {
    Set<String> bazel =
        bazelJars().entrySet().stream()
            .filter(jar -> !FOR_TESTS.contains(jar.getKey()))
            .map(jar -> jar.getValue().artifact())
            .collect(Collectors.toSet());

    assertThat(bazel)
        .containsExactlyElementsIn(
            BundledJar.fromPom().stream().map(BundledJar::coordinates).toList());
  }

  @Test
  void bazelPinsTheJarsThatMavenBundles() throws Exception {
    ImmutableMap<String, String> sha1s =
        bazelJars().values().stream()
            .collect(ImmutableMap.toImmutableMap(BazelJar::artifact, BazelJar::sha1));
    for (BundledJar jar : BundledJar.fromPom()) {
      assertWithMessage("sha1 of %s", jar.coordinates())
          .that(sha1s.get(jar.coordinates()))
          .isEqualTo(sha1(jar.file()));
    }
  }

  @Test
  void testJarsHaveTheVersionsOfMavens() throws Exception {
    Map<String, BazelJar> jars = bazelJars();

    BazelJar archunit = jars.get("archunit");
    Path file = BundledJar.onClassPath("archunit-");
    assertThat(file.getFileName().toString()).isEqualTo("archunit-" + version(archunit) + ".jar");
    assertThat(archunit.sha1()).isEqualTo(sha1(file));

    assertThat(BundledJar.onClassPath("junit-platform-commons-").getFileName().toString())
        .isEqualTo(
            "junit-platform-commons-"
                + version(jars.get("junit-platform-console-standalone"))
                + ".jar");
  }

  @Test
  void bazelTargetsUseEveryJar() throws Exception {
    Set<String> used =
        Pattern.compile("\"@([^/\"]+)//jar\"")
            .matcher(Files.readString(BAZEL_BUILD))
            .results()
            .map(match -> match.group(1))
            .collect(Collectors.toSet());

    assertThat(used).containsExactlyElementsIn(bazelJars().keySet());
  }

  @Test
  void bazelTestsRunWithTheFlagsOfMavens() throws Exception {
    String build = Files.readString(BAZEL_BUILD);
    Set<String> flags =
        Pattern.compile("\"(--add-(?:opens|exports)=[^\"]+)\"")
            .matcher(build)
            .results()
            .map(match -> match.group(1))
            .collect(Collectors.toCollection(TreeSet::new));

    assertThat(flags)
        .containsExactlyElementsIn(Splitter.on(' ').split(BundledJar.property("module.jvm.flags")));
  }

  /** Bazel's list, by name. */
  private static Map<String, BazelJar> bazelJars() throws Exception {
    String text = Files.readString(BAZEL_JARS);
    Map<String, BazelJar> jars = new LinkedHashMap<>();
    for (MatchResult match : MAVEN_JAR.matcher(text).results().toList()) {
      jars.put(match.group("name"), new BazelJar(match.group("artifact"), match.group("sha1")));
    }
    assertWithMessage("entries of %s that this test can read", BAZEL_JARS)
        .that(jars)
        .hasSize(Splitter.on(" maven_jar(").splitToList(text).size() - 1);
    return jars;
  }

  private static String version(BazelJar jar) {
    return Splitter.on(':').splitToList(jar.artifact()).get(2);
  }

  private static String sha1(Path file) throws Exception {
    return HexFormat.of()
        .formatHex(MessageDigest.getInstance("SHA-1").digest(Files.readAllBytes(file)));
  }
}
