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

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import net.openhft.chronicle.hash.VanillaGlobalMutableState;
import net.openhft.chronicle.values.ValueModel;

/**
 * Writes the source of the one class that Chronicle-Map would otherwise generate and compile in the
 * running server. A build step, not part of the jar.
 *
 * <p>Chronicle-values has no public way to ask for a source text, so its generator is called by
 * reflection. When a new version moves it, the build fails here, not a server later.
 */
public final class GenerateNativeState {
  private static final String GENERATOR = "net.openhft.chronicle.values.Generators";

  private GenerateNativeState() {}

  /**
   * @param args the one output: a source folder, or a file {@code *.srcjar} as Bazel wants it
   */
  public static void main(String[] args) throws IOException, ReflectiveOperationException {
    if (args.length != 1) {
      throw new IllegalArgumentException("usage: GenerateNativeState FOLDER|FILE.srcjar");
    }
    Class<?> type = VanillaGlobalMutableState.class;
    String name = type.getSimpleName() + ValueModel.$$NATIVE;
    String source = generate(type, name);
    String entry = type.getPackageName().replace('.', '/') + "/" + name + ".java";

    Path out = Path.of(args[0]);
    if (out.toString().endsWith(".srcjar")) {
      writeSourceJar(out, entry, source);
    } else {
      writeFile(out.resolve(entry), source);
    }
  }

  private static String generate(Class<?> type, String name) throws ReflectiveOperationException {
    Method generator =
        Class.forName(GENERATOR)
            .getDeclaredMethod("generateNativeClass", ValueModel.class, String.class);
    generator.setAccessible(true);
    return (String) generator.invoke(null, ValueModel.acquire(type), name);
  }

  /** Leaves a file that is right already alone, so that a build tool sees no change. */
  private static void writeFile(Path file, String source) throws IOException {
    if (!Files.exists(file) || !Files.readString(file).equals(source)) {
      Files.createDirectories(file.getParent());
      Files.writeString(file, source);
    }
  }

  private static void writeSourceJar(Path file, String entry, String source) throws IOException {
    try (OutputStream out = Files.newOutputStream(file);
        ZipOutputStream zip = new ZipOutputStream(out)) {
      ZipEntry zipEntry = new ZipEntry(entry);
      zipEntry.setTime(0); // equal input, equal output
      zip.putNextEntry(zipEntry);
      zip.write(source.getBytes(UTF_8));
      zip.closeEntry();
    }
  }
}
