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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * Temporary folders in memory, if there is room: for tests of thousands of small repositories,
 * which a disk that is busy would make, sync and delete slowly, for nothing.
 */
public final class InMemory implements TempDirFactory {
  private static final Path MEMORY = Path.of("/dev/shm");
  private static final long ROOM = 512L << 20;

  @Override
  public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext test)
      throws IOException {
    return Files.isWritable(MEMORY) && Files.getFileStore(MEMORY).getUsableSpace() >= ROOM
        ? Files.createTempDirectory(MEMORY, "junit-")
        : Files.createTempDirectory("junit-");
  }
}
