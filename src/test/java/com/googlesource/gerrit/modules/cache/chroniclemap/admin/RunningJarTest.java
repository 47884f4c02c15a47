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

package com.googlesource.gerrit.modules.cache.chroniclemap.admin;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A jar that is overwritten under the classes that come from it. */
class RunningJarTest {
  private static final List<Class<?>> CLASSES = List.of(Units.class, TextTable.class);

  @TempDir Path temp;

  private Path jar() throws Exception {
    Path jar = temp.resolve("a.jar");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      for (Class<?> one : CLASSES) {
        String name = one.getName().replace('.', '/') + ".class";
        out.putNextEntry(new JarEntry(name));
        out.write(one.getResourceAsStream(one.getSimpleName() + ".class").readAllBytes());
      }
      // One whose superclass is in another jar, which is missing.
      out.putNextEntry(new JarEntry("com/example/Broken.class"));
      out.write(new byte[] {1, 2, 3});
    }
    return jar;
  }

  /** Like {@code cp}: the file stays the same one. */
  private static void overwrite(Path jar) throws Exception {
    Files.write(jar, "another jar".repeat(1000).getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  private static Class<?> load(ClassLoader loader) throws Exception {
    return Class.forName(TextTable.class.getName(), false, loader);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void onlyLoadedClassesStay(boolean areLoaded) throws Exception {
    Path jar = jar();
    try (URLClassLoader loader =
        new URLClassLoader(
            new URL[] {jar.toUri().toURL()}, getClass().getClassLoader().getParent())) {
      Class<?> first = Class.forName(Units.class.getName(), false, loader);
      assertThat(first.getClassLoader()).isEqualTo(loader);
      if (areLoaded) {
        RunningJar.loadAll(jar, loader);
      }
      overwrite(jar);
      if (areLoaded) {
        assertThat(load(loader).getClassLoader()).isEqualTo(loader);
      } else {
        assertThrows(Exception.class, () -> load(loader));
      }
    }
  }
}
