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
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.inject.ProvisionException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A jar in lib/ that takes the place of a part of ours is refused. */
class JarCheckTest {
  private static final String MODULE = JarCheck.class.getName().replace('.', '/') + ".class";
  private static final String NATIVE = "com/kenai/jffi/Foreign.class";

  @TempDir Path lib;

  @Test
  void aloneInLibIsTaken() throws Exception {
    check(jar("ours.jar", MODULE, NATIVE), jar("other.jar", "org/example/Other.class"));
  }

  @Test
  void anotherNativeLibraryInUseIsRefused() throws Exception {
    URL ours = jar("ours.jar", MODULE, NATIVE);
    URL other = jar("other.jar", NATIVE);

    check(ours, other);
    assertThat(refusal(other, ours)).containsMatch("other\\.jar.* holds the library jffi");
  }

  @Test
  void aSecondJarOfThisModuleIsRefused() throws Exception {
    URL ours = jar("ours.jar", MODULE, NATIVE);
    URL older = jar("older.jar", MODULE, NATIVE);

    assertThat(refusal(ours, older)).containsMatch("keep one of .*ours\\.jar.* and .*older\\.jar");
  }

  @Test
  void librariesOnTheClassPathOfTestsAreTaken() {
    JarCheck.check(JarCheck.class.getClassLoader());
  }

  private static void check(URL... jars) throws IOException {
    try (URLClassLoader loader = new URLClassLoader(jars, null)) {
      JarCheck.check(loader);
    }
  }

  private static String refusal(URL... jars) {
    return assertThrows(ProvisionException.class, () -> check(jars)).getMessage();
  }

  private URL jar(String name, String... files) throws IOException {
    Path jar = lib.resolve(name);
    try (OutputStream out = Files.newOutputStream(jar);
        ZipOutputStream zip = new ZipOutputStream(out)) {
      for (String file : files) {
        zip.putNextEntry(new ZipEntry(file));
      }
    }
    return jar.toUri().toURL();
  }
}
