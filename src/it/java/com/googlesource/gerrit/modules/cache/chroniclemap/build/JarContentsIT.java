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
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.toCollection;

import com.google.common.collect.ImmutableMap;
import com.google.common.hash.Hashing;
import com.googlesource.gerrit.modules.cache.chroniclemap.ChronicleMapCacheModule;
import com.googlesource.gerrit.modules.cache.chroniclemap.gerrit.fixture.BuildFolder;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;

/** The jar that users install holds what it needs, and nothing that a released Gerrit has. */
class JarContentsIT {
  private static final String CLASS = ".class";
  private static final String OURS = "com/googlesource/gerrit/modules/cache/chroniclemap/";
  private static final String BUNDLED = OURS + "bundled/";

  /** Where pom.xml moves packages to, below {@link #BUNDLED}. */
  private static final ImmutableMap<String, String> MOVED =
      ImmutableMap.of(
          "net/openhft/", "net/openhft/",
          "jnr/", "jnr/",
          "com/kenai/jnr/", "kenai/",
          "com/squareup/javapoet/", "javapoet/",
          "org/HdrHistogram/", "HdrHistogram/",
          "org/apache/commons/pool2/", "pool2/",
          "redis/clients/", "redis/");

  /**
   * Packages that bundled code names and nobody provides: each belongs to a part of Chronicle that
   * a map of byte strings does not reach, or to one of Jedis that a stream does not.
   */
  private static final List<String> NOT_REACHED =
      List.of(
          "com/sun/jna/", // the second way to call fallocate; jnr-ffi is the first
          "net/sf/cglib/", // proxies for pooled objects
          "org/json/", // commands for JSON
          "io/github/resilience4j/", // several databases for one client
          "com/thoughtworks/xstream/", // export of a map as JSON
          BUNDLED + "net/openhft/affinity/", // event loops bound to a CPU
          "org/jetbrains/annotations/", // annotations without an effect at run time
          "shaded/org/apache/maven/", // version of a Chronicle-Map run from its source tree
          "sun/misc/Cleaner"); // Java 8

  /** Failsafe runs with the packaged jar in place of the folder of classes. */
  private static final Path JAR = BuildFolder.jarOf(ChronicleMapCacheModule.class);

  @AutoClose private JarFile jar;

  @BeforeEach
  void openJar() throws IOException {
    jar = new JarFile(JAR.toFile());
  }

  @Test
  void jarIsTheOnlyOneInItsFolder() throws IOException {
    try (Stream<Path> files = Files.list(JAR.getParent())) {
      assertThat(files.filter(f -> f.toString().endsWith(".jar")).toList()).containsExactly(JAR);
    }
    assertThat(JAR.getFileName().toString()).isEqualTo("cache-chroniclemap.jar");
  }

  /** All but the names of their packages is as it was published. */
  @Test
  void filesOfTheBundledJarsAreThere() throws Exception {
    for (BundledJar bundled : BundledJar.fromPom()) {
      try (JarFile original = new JarFile(bundled.file().toFile())) {
        for (JarEntry entry : files(original)) {
          String name = entry.getName();
          if (!name.startsWith("META-INF/")) {
            byte[] there = bytes(jar, moved(name));
            if (moved(name).equals(name) && !name.startsWith("com/kenai/jnr/")) {
              assertWithMessage("%s of %s", name, bundled.coordinates())
                  .that(there)
                  .isEqualTo(bytes(original, name));
            }
          }
        }
      }
    }
  }

  @Test
  void otherClassesAreOursOrReplaceTheCompiler() throws Exception {
    Set<String> others = classes(jar);
    for (BundledJar bundled : BundledJar.fromPom()) {
      for (String name : classes(bundled.file())) {
        others.remove(moved(name));
      }
    }
    others.removeIf(name -> name.startsWith(OURS) && !name.startsWith(BUNDLED));

    assertThat(others)
        .containsExactly(
            BUNDLED + "net/openhft/chronicle/hash/VanillaGlobalMutableState$$Native",
            BUNDLED + "net/openhft/compiler/CachedCompiler",
            BUNDLED + "net/openhft/compiler/CompilerUtils",
            BUNDLED + "net/openhft/compiler/MyJavaFileManager",
            BUNDLED + "net/openhft/compiler/package-info");
  }

  /** A class of another name could take the place of a plugin's, or be replaced by one in lib/. */
  @Test
  void onlyWhatIsBoundToNativeCodeHasANameOfItsOwn() {
    Set<String> others = classes(jar);
    others.removeIf(name -> name.startsWith(OURS) || name.startsWith("com/kenai/jffi/"));

    assertThat(others).isEmpty();
  }

  @Test
  void noAnalytics() {
    Set<String> analytics = classes(jar);
    analytics.removeIf(name -> !name.contains("net/openhft/chronicle/analytics/"));

    assertThat(analytics).isEmpty();
  }

  /** The name in the jar of a file of a bundled jar. */
  private static String moved(String name) {
    for (Map.Entry<String, String> each : MOVED.entrySet()) {
      if (name.startsWith(each.getKey())) {
        return BUNDLED + each.getValue() + name.substring(each.getKey().length());
      }
    }
    return name;
  }

  @Test
  void nothingThatGerritHas() throws IOException {
    Set<String> overlaps = classes(jar);
    overlaps.retainAll(gerritClasses());

    assertWithMessage("classes that both Gerrit and the jar hold").that(overlaps).isEmpty();
  }

  @Test
  void whatBundledCodeNamesExists() throws IOException {
    Set<String> missing = references();
    missing.removeAll(classes(jar));
    missing.removeAll(gerritClasses());
    missing.removeIf(JarContentsIT::isInJdk);
    missing.removeIf(name -> NOT_REACHED.stream().anyMatch(name::startsWith));

    assertWithMessage("classes that bundled code names and neither jar, Gerrit nor JDK holds")
        .that(missing)
        .isEmpty();
  }

  @Test
  void bytecodeLibraryOfJnrIsGerrits() throws IOException {
    Set<String> asm = references();
    asm.removeIf(name -> !name.startsWith("org/objectweb/asm/"));

    assertThat(asm).contains("org/objectweb/asm/ClassWriter");
    assertThat(gerritClasses()).containsAtLeastElementsIn(asm);
  }

  @Test
  void noLitter() {
    assertThat(
            files(jar).stream()
                .map(JarEntry::getName)
                .filter(name -> name.startsWith("META-INF/") || name.contains("module-info")))
        .containsExactly(
            "META-INF/MANIFEST.MF",
            "META-INF/LICENSE",
            "META-INF/NOTICE",
            "META-INF/services/"
                + BUNDLED.replace('/', '.')
                + "net.openhft.chronicle.core.cleaner.spi.ByteBufferCleanerService");
  }

  @Test
  void whatMonitoringNeedsIsThere() throws Exception {
    for (String file :
        List.of(
            "static/grafana/cache-chroniclemap.json",
            "static/prometheus/cache-chroniclemap-alerts.yml")) {
      assertWithMessage(file)
          .that(bytes(jar, file))
          .isEqualTo(Files.readAllBytes(Path.of("resources", file)));
    }
  }

  @Test
  void chartLibraryIsThePublishedOne() throws Exception {
    Map<String, String> sums =
        Map.of(
            "uPlot.iife.min.js",
            "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
            "uPlot.min.css",
            "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04");
    for (Map.Entry<String, String> file : sums.entrySet()) {
      assertWithMessage(file.getKey())
          .that(Hashing.sha256().hashBytes(bytes(jar, "static/uplot/" + file.getKey())).toString())
          .isEqualTo(file.getValue());
    }
    assertThat(new String(bytes(jar, "static/uplot/LICENSE"), UTF_8)).contains("The MIT License");
  }

  @Test
  void manifestNamesTheModule() throws Exception {
    Attributes manifest = jar.getManifest().getMainAttributes();

    assertThat(manifest.getValue("Implementation-Title")).isEqualTo("cache-chroniclemap");
    assertThat(manifest.getValue("Implementation-Version")).isEqualTo(BundledJar.versionOfModule());
    // As which Gerrit starts AdminPlugin: one that may use all of Gerrit's classes.
    assertThat(manifest.getValue("Gerrit-ApiType")).isEqualTo("plugin");
    assertThat(manifest.getValue("Class-Path")).isNull();
    assertThat(manifest.getValue("Multi-Release")).isNull();
  }

  @Test
  void noticeNamesEveryBundledJar() throws Exception {
    String notice = new String(bytes(jar, "META-INF/NOTICE"), UTF_8);
    for (BundledJar bundled : BundledJar.fromPom()) {
      assertThat(notice).containsMatch("  " + Pattern.quote(bundled.coordinates()) + "\\s");
    }
    String libffi = notice.replaceFirst("(?s).*  libffi ([0-9.]+),.*", "$1");
    assertThat(new String(bytes(jar, "jni/x86_64-Linux/libjffi-1.2.so"), ISO_8859_1))
        .contains("\0" + libffi + "\0");
  }

  /** What a released gerrit.war holds: the assembled one is made of the same two jars. */
  private static Set<String> gerritClasses() throws IOException {
    Set<String> classes = new TreeSet<>();
    for (String name : List.of("gerrit-plugin-api-", "gerrit-acceptance-framework-")) {
      classes.addAll(classes(BundledJar.onClassPath(name)));
    }
    return classes;
  }

  private Set<String> references() throws IOException {
    Set<String> names = new TreeSet<>();
    Remapper collector =
        new Remapper(Opcodes.ASM9) {
          @Override
          public String map(String internalName) {
            names.add(internalName);
            return internalName;
          }
        };
    for (JarEntry entry : files(jar)) {
      if (entry.getName().endsWith(CLASS)) {
        new ClassReader(bytes(jar, entry.getName()))
            .accept(new ClassRemapper(new ClassWriter(0), collector), 0);
      }
    }
    return names;
  }

  private static boolean isInJdk(String name) {
    return ClassLoader.getPlatformClassLoader().getResource(name + CLASS) != null;
  }

  private static Set<String> classes(Path file) throws IOException {
    try (JarFile jarFile = new JarFile(file.toFile())) {
      return classes(jarFile);
    }
  }

  /** The internal names of a jar's classes. */
  private static Set<String> classes(JarFile jarFile) {
    return files(jarFile).stream()
        .map(JarEntry::getName)
        .filter(name -> name.endsWith(CLASS))
        .map(name -> name.substring(0, name.length() - CLASS.length()))
        .collect(toCollection(TreeSet::new));
  }

  private static List<JarEntry> files(JarFile jarFile) {
    return Collections.list(jarFile.entries()).stream()
        .filter(entry -> !entry.isDirectory())
        .toList();
  }

  private static byte[] bytes(JarFile jarFile, String name) throws IOException {
    JarEntry entry = jarFile.getJarEntry(name);
    assertWithMessage("entry %s of %s", name, jarFile.getName()).that(entry).isNotNull();
    try (InputStream in = jarFile.getInputStream(entry)) {
      return in.readAllBytes();
    }
  }
}
