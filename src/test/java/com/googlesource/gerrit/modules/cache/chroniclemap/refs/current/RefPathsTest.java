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

package com.googlesource.gerrit.modules.cache.chroniclemap.refs.current;

import static com.google.common.truth.Truth.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("locale")
class RefPathsTest {
  @TempDir Path folder;

  @Test
  void emptyFoldersGo() throws Exception {
    Files.createDirectories(folder.resolve("refs/heads/a/b"));
    RefPaths.deleteEmptyParents(folder.resolve("refs/heads/a/b/c").toFile(), "refs/heads/a/b/c");
    assertThat(Files.exists(folder.resolve("refs/heads/a"))).isFalse();
    assertThat(Files.exists(folder.resolve("refs/heads"))).isTrue();
  }

  @Test
  void aFolderThatIsUsedStays() throws Exception {
    Files.createDirectories(folder.resolve("refs/heads/a/b"));
    Files.createFile(folder.resolve("refs/heads/a/other"));
    RefPaths.deleteEmptyParents(folder.resolve("refs/heads/a/b/c").toFile(), "refs/heads/a/b/c");
    assertThat(Files.exists(folder.resolve("refs/heads/a/b"))).isFalse();
    assertThat(Files.exists(folder.resolve("refs/heads/a/other"))).isTrue();
  }

  /** Somebody makes the ref just when one below it was deleted. */
  @Test
  void aRefInThePlaceOfTheFolderStays() throws Exception {
    Files.createDirectories(folder.resolve("refs/heads"));
    Path ref = Files.createFile(folder.resolve("refs/heads/a"));
    RefPaths.deleteEmptyParents(folder.resolve("refs/heads/a/b").toFile(), "refs/heads/a/b");
    assertThat(Files.exists(ref)).isTrue();
  }
}
