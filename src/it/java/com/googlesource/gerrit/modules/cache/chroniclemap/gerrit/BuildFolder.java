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

import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where the build put things: {@code target/}, or what {@code output.directory} says. */
final class BuildFolder {
  private BuildFolder() {}

  static Path path() {
    String folder = System.getProperty("build.folder"); // that of the classes may be another
    return folder == null ? jarOf(BuildFolder.class).getParent() : Path.of(folder);
  }

  /** The jar that users install. */
  static Path moduleJar() {
    Path jar = path().resolve("cache-chroniclemap.jar");
    if (!Files.isRegularFile(jar)) {
      throw new IllegalStateException("no module jar, run mvn -DskipTests package: jar=" + jar);
    }
    return jar;
  }

  /** The jar or folder that a class comes from. */
  static Path jarOf(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException("no file: class=" + type.getName(), e);
    }
  }
}
