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
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who is late in a folder that was given back does nothing to the files of whoever has it next. */
class ForeignFolderTest {
  @TempDir Path folder;

  private final Disk disk = new Disk();

  @Test
  void namesChangeWhileTheFolderIsOnesOwn() throws Exception {
    Path made = folder.resolve("made");
    Path moved = folder.resolve("moved");
    disk.create(made);
    disk.write(made, new byte[1]);
    disk.move(made, moved);
    assertThat(Files.size(moved)).isEqualTo(1);
    disk.delete(moved);
    assertThat(Files.exists(moved)).isFalse();
  }

  @Test
  void noNameChangesAfterItWasGivenBack() throws Exception {
    Path theirs = Files.write(folder.resolve("theirs"), new byte[] {7});
    Path late = folder.resolve("late");
    disk.setLocked(false);
    assertThrows(IOException.class, () -> disk.delete(theirs));
    assertThrows(IOException.class, () -> disk.move(theirs, late));
    assertThrows(IOException.class, () -> disk.create(late));
    assertThrows(IOException.class, () -> disk.write(theirs, new byte[2]));
    assertThat(Files.readAllBytes(theirs)).isEqualTo(new byte[] {7});
    assertThat(Files.exists(late)).isFalse();
  }

  /** Whoever opens the store next must not use what a late removal could not be made in. */
  @Test
  void aMarkerCanBeMadeEvenThen() throws Exception {
    disk.setLocked(false);
    Path marker = folder.resolve("cache-v1" + Disk.MARKER);
    disk.create(marker);
    assertThat(Files.exists(marker)).isTrue();
  }
}
