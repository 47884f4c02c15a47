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

package net.openhft.compiler;

import java.io.File;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import javax.tools.StandardJavaFileManager;

/**
 * Answers Chronicle's requests to compile a class, without a compiler.
 *
 * <p>Chronicle-Map wants its generated classes compiled while the server runs, by a library of this
 * name that needs javac and opens it with JVM flags. The one class that a map of byte strings needs
 * is in the jar already (see {@code GenerateNativeState}), so this class only looks up what is
 * there. It has the members that Chronicle calls, and no others.
 */
public final class CachedCompiler {
  /** Chronicle sets it to teach the compiler about its types; nothing here reads it. */
  public volatile Function<StandardJavaFileManager, MyJavaFileManager> fileManagerOverride;

  /** The folders are where a compiler would leave its output; nothing is written. */
  public CachedCompiler(File sourceDir, File classDir) {}

  public CachedCompiler(File sourceDir, File classDir, List<String> options) {}

  /** There is no file manager to update. */
  public void updateFileManagerForClassLoader(
      ClassLoader loader, Consumer<MyJavaFileManager> update) {}

  /**
   * Returns the class of that name from {@code loader}.
   *
   * @param source what a compiler would compile; not looked at
   * @throws ClassNotFoundException when the class is not in the jar
   */
  public Class<?> loadFromJava(ClassLoader loader, String className, String source)
      throws ClassNotFoundException {
    try {
      return Class.forName(className, true, loader);
    } catch (ClassNotFoundException e) {
      throw new ClassNotFoundException(
          "cache-chroniclemap compiles no classes while Gerrit runs, and its jar does not hold class="
              + className
              + ". It must be generated when the jar is built.",
          e);
    }
  }
}
