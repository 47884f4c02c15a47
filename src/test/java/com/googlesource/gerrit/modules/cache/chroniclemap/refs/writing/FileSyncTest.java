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
package com.googlesource.gerrit.modules.cache.chroniclemap.refs.writing;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileSyncTest {
  @TempDir Path folder;

  /** The file system of /proc answers EINVAL to the sync of a folder. */
  @Test
  void refsAreChangedWhereFoldersAreNotSynced() throws Exception {
    Path file = Files.writeString(folder.resolve("ref"), "text");
    FileSync.sync(List.of(file), List.of(folder, Path.of("/proc/self")));
  }
}
