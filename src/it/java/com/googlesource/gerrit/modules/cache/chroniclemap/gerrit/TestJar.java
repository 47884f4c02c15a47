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

package com.googlesource.gerrit.modules.cache.chroniclemap.gerrit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** A jar of some of the classes here, for a site. */
final class TestJar {
  private TestJar() {}

  /** Writes a jar of classes and those within them, with these lines in its manifest. */
  static void write(Path file, Map<String, String> lines, List<Class<?>> classes)
      throws IOException {
    write(file, lines, classes, List.of());
  }

  /** The same, with the classes of other jars. */
  static void write(
      Path file, Map<String, String> lines, List<Class<?>> classes, List<Path> libraries)
      throws IOException {
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    lines.forEach(manifest.getMainAttributes()::putValue);
    try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file), manifest)) {
      for (Class<?> type : classes) {
        put(jar, type);
        for (Class<?> within : type.getDeclaredClasses()) {
          put(jar, within);
        }
      }
      for (Path library : libraries) {
        putAll(jar, library);
      }
    }
  }

  private static void putAll(JarOutputStream jar, Path library) throws IOException {
    try (JarFile file = new JarFile(library.toFile())) {
      for (JarEntry entry : Collections.list(file.entries())) {
        if (entry.getName().endsWith(".class")) {
          jar.putNextEntry(new JarEntry(entry.getName()));
          try (InputStream in = file.getInputStream(entry)) {
            in.transferTo(jar);
          }
          jar.closeEntry();
        }
      }
    }
  }

  private static void put(JarOutputStream jar, Class<?> type) throws IOException {
    String entry = type.getName().replace('.', '/') + ".class";
    jar.putNextEntry(new JarEntry(entry));
    try (InputStream in = type.getClassLoader().getResourceAsStream(entry)) {
      in.transferTo(jar);
    }
    jar.closeEntry();
  }
}
