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

import java.nio.file.Path;

/**
 * The child of {@link NoCompilerIT}. Ends with {@link #DONE} on standard output if all went well.
 */
final class NoCompilerMain {
  static final String DONE = "all is well";

  private NoCompilerMain() {}

  /** Uses a store in the folder {@code args[0]}. */
  public static void main(String[] args) throws Exception {
    if (ModuleLayer.boot().findModule("jdk.compiler").isPresent()) {
      throw new IllegalStateException("this runtime has a compiler");
    }
    String wrong = new StoreUser(Path.of(args[0])).call();
    System.out.println(wrong.isEmpty() ? DONE : wrong);
  }
}
