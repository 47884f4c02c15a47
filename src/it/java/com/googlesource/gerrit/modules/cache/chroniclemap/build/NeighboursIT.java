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

import com.googlesource.gerrit.modules.cache.chroniclemap.ChronicleMapCacheModule;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The jar and a plugin that brings Chronicle's libraries in another version do not meet, with class
 * loaders as Gerrit makes them: one for all jars of {@code lib/}, and below it one for each plugin,
 * which asks the one above first.
 */
class NeighboursIT {
  /** Where Maven copies an older Chronicle to, with its compiler. */
  private static final Path OLDER = Path.of("target", "older-chronicle");

  @TempDir Path dir;

  private URL ours;
  private URL gerrit;
  private List<URL> chronicle;

  @BeforeEach
  void findJars() throws Exception {
    ours = ChronicleMapCacheModule.class.getProtectionDomain().getCodeSource().getLocation();
    gerrit = url(BundledJar.onClassPath("gerrit-plugin-api-"));
    chronicle = new ArrayList<>();
    try (Stream<Path> jars = Files.list(OLDER)) {
      for (Path jar : jars.sorted().toList()) {
        chronicle.add(url(jar));
      }
    }
  }

  @Test
  void aPluginHasItsOwnChronicle() throws Exception {
    List<URL> plugin = new ArrayList<>(chronicle);
    plugin.add(folderWith(ChronicleUser.class));
    try (URLClassLoader lib = lib(List.of(gerrit, ours));
        URLClassLoader below = new URLClassLoader(plugin.toArray(URL[]::new), lib)) {
      assertStoreWorks(lib);
      assertChronicleIsOlder(below);
      assertStoreWorks(lib);
    }
  }

  @Test
  void aJarBesideOursHasItsOwnChronicle() throws Exception {
    List<URL> jars = new ArrayList<>(List.of(gerrit, folderWith(ChronicleUser.class)));
    jars.addAll(chronicle);
    jars.add(ours);
    try (URLClassLoader lib = lib(jars)) {
      assertChronicleIsOlder(lib);
      assertStoreWorks(lib);
    }
  }

  private URLClassLoader lib(List<URL> jars) throws IOException {
    List<URL> all = new ArrayList<>(jars);
    all.add(folderWith(StoreUser.class, "StoreUser$Work"));
    return new URLClassLoader(all.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
  }

  private void assertStoreWorks(ClassLoader loader) throws Exception {
    Object user =
        loader
            .loadClass(StoreUser.class.getName())
            .getDeclaredConstructor(Path.class)
            .newInstance(dir.resolve("stores"));
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    // The one that libraries for logging ask, as in a thread of Gerrit.
    Thread.currentThread().setContextClassLoader(loader);
    try {
      assertThat(((Callable<?>) user).call()).isEqualTo("");
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private static void assertChronicleIsOlder(ClassLoader loader) throws Exception {
    Object user =
        loader.loadClass(ChronicleUser.class.getName()).getDeclaredConstructor().newInstance();
    assertThat((String) ((Callable<?>) user).call())
        .containsMatch(OLDER + "/chronicle-bytes-.* .*" + OLDER + "/compiler-");
  }

  /** A folder with a class of this package and others that belong to it. */
  private URL folderWith(Class<?> type, String... others) throws IOException {
    Path classes = Files.createTempDirectory(dir, "classes");
    List<String> names = new ArrayList<>(List.of(others));
    names.add(type.getSimpleName());
    for (String name : names) {
      String file = type.getPackageName().replace('.', '/') + "/" + name + ".class";
      Files.createDirectories(classes.resolve(file).getParent());
      try (InputStream in = type.getClassLoader().getResourceAsStream(file)) {
        Files.copy(in, classes.resolve(file));
      }
    }
    return url(classes);
  }

  private static URL url(Path file) throws IOException {
    assertWithMessage("%s", file).that(Files.exists(file)).isTrue();
    return file.toUri().toURL();
  }
}
