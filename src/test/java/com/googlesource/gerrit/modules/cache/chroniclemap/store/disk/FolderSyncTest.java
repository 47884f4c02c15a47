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
package com.googlesource.gerrit.modules.cache.chroniclemap.store.disk;

import static com.google.common.truth.Truth.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FolderSyncTest {
  /** A folder of a file system that answers EINVAL to its sync. */
  private static final Path UNSYNCED = Path.of("/proc/self");

  @TempDir Path folder;

  /** Makes the rest of this class mean something. */
  @Test
  void thereIsAFileSystemThatDoesNotSyncFolders() throws Exception {
    try (FileChannel open = FileChannel.open(UNSYNCED)) {
      assertThrows(IOException.class, () -> open.force(true));
    }
  }

  @Test
  void aStoreGoesOnWhereFoldersAreNotSynced() throws Exception {
    Disk.REAL.sync(UNSYNCED);
    Disk.REAL.sync(folder);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Invalid argument", "/a: Operation not supported"})
  void whatIsNotOfferedIsNoFailure(String why) throws Exception {
    FolderSync.unlessNotOffered(folder, new IOException(why));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Input/output error",
        "No space left on device",
        "Stale file handle",
        "Permission denied",
        "Operation not permitted",
        ""
      })
  void theDisksFailuresStayFailures(String why) {
    IOException failure = new IOException(why);
    assertThat(assertThrows(IOException.class, () -> FolderSync.unlessNotOffered(folder, failure)))
        .isSameInstanceAs(failure);
  }
}
